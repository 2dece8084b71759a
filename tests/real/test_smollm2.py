"""A real tokenizer, chat template and weights: SmolLM2-135M-Instruct and a coarser copy of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlx_specdec.backend import backend_name, mx
from mlx_specdec.events import Finished, Round
from mlx_specdec.loaded import Pair
from mlx_specdec.session import Session
from mlx_specdec.settings import Settings

import numpy as np
import pytest

pytestmark = pytest.mark.real

QUESTIONS = (
    "What is the capital of France?",
    "Tell a very short story about a fox.",
    "Write a Python function that adds two numbers.",
)
TEXTS = (
    "The capital of France is Paris.",
    "  two  spaces\n\tand a tab ",
    "In 1984, 3.14159 cost $2,000.",
    "def f(x):\n    return x ** 2  # naïve",
    "漢字 and 👩‍👧 and ñ",
)
NEAR_TIE = 0.1  # logits; where kernels for one row and for many round differently


def test_the_pair_loads_with_its_figures(pair: Pair) -> None:
    assert pair.draft is not None
    for model in (pair.target, pair.draft):
        assert (model.vocab_width, model.num_layers, model.head_dim) == (49152, 30, 64)
        assert model.context_length == 8192
    assert pair.target.quantisation.startswith("4-bit, groups of 32 (some layers 8-bit)")
    assert pair.draft.quantisation.startswith("4-bit, groups of 64")
    assert pair.tokenizer_width == 49152
    assert pair.report is not None
    assert (pair.report.shared_ids, pair.report.notes) == (49152, ())


def test_c14_the_answer_ends_at_the_templates_end_token(pair: Pair) -> None:
    assert pair.eos_token_ids == {pair.tokenizer.convert_tokens_to_ids("<|im_end|>")}


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_back(pair: Pair, text: str) -> None:
    ids = pair.tokenizer.encode(text, add_special_tokens=False)
    assert pair.tokenizer.decode(ids) == text


def test_digits_are_single_tokens(pair: Pair) -> None:
    ids = pair.tokenizer.encode("1984", add_special_tokens=False)
    assert [pair.tokenizer.decode([token]) for token in ids] == ["1", "9", "8", "4"]


def test_the_chat_template_renders_with_special_tokens(pair: Pair) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    text = pair.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    ids = pair.tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert (ids[0], ids.count(1), ids.count(2)) == (1, 3, 2)


def test_the_weights_know_a_fact(pair: Pair) -> None:
    """A wrong order of rows or a wrong scale anywhere would give noise here."""
    ids = pair.tokenizer.encode("The capital of France is", add_special_tokens=False)
    logits = np.array(pair.target.model(mx.array([ids]))[0, -1].astype(mx.float32))
    best = [pair.tokenizer.decode([int(token)]) for token in np.argsort(-logits)[:3]]
    assert " Paris" in best


@dataclass(frozen=True)
class Answer:
    """What one decoder said to one question."""

    tokens: list[int]
    margins: list[float]
    rounds: list[Round]
    reason: str


def _answer(session: Session, question: str, draft: bool) -> Answer:
    settings = Settings(max_tokens=40, lookahead=3, draft=draft)
    events = list(session.generate(session.chat_tokens(question), settings))
    rounds = [event for event in events if isinstance(event, Round)]
    emitted = [token for event in rounds for token in event.emitted]
    assert isinstance(events[-1], Finished)
    margins = [token.margin for token in emitted]
    return Answer([token.token for token in emitted], margins, rounds, events[-1].reason)


@pytest.fixture(scope="module")
def answers(pair: Pair) -> dict[str, tuple[Answer, Answer]]:
    """Plain and speculative at temperature 0, one after the other in one session.

    Every row costs about 0.1 s on MLX's own BLAS, so that what prompts share is read once.
    """
    session = Session(pair)
    return {
        question: (_answer(session, question, False), _answer(session, question, True))
        for question in QUESTIONS
    }


@pytest.mark.parametrize("question", QUESTIONS)
def test_greedy_text_is_the_same_with_a_draft(
    answers: dict[str, tuple[Answer, Answer]], question: str
) -> None:
    """Token for token on a CPU; on a GPU a near-tie may fall the other way, and nothing else."""
    plain, speculative = answers[question]
    if backend_name() != "cpu" and speculative.tokens != plain.tokens:
        pairs = zip(plain.tokens, speculative.tokens, strict=False)
        first = next(index for index, (one, other) in enumerate(pairs) if one != other)
        assert plain.margins[first] < NEAR_TIE
        return
    assert (speculative.tokens, speculative.reason) == (plain.tokens, plain.reason)
    assert len(speculative.rounds) < len(plain.rounds)


def test_the_draft_is_neither_always_right_nor_always_wrong(
    answers: dict[str, tuple[Answer, Answer]],
) -> None:
    """Else the comparison above would say little."""
    rounds = [event for _, speculative in answers.values() for event in speculative.rounds]
    accepted = sum(event.num_accepted for event in rounds)
    tested = sum(
        event.num_accepted + (event.num_accepted < len(event.proposed)) for event in rounds
    )
    assert 0.3 < accepted / tested < 1


def test_converted_folders_are_complete(smollm2: Path, smollm2_q4: Path) -> None:
    names = {
        "LICENSE",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    for folder in (smollm2, smollm2_q4):
        assert {file.name for file in folder.iterdir()} == names
