"""The Python entry point: load, stream, generate, ask; errors on the right side of the thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import mlx_specdec
from mlx_specdec.engine import Engine
from mlx_specdec.errors import ContextFullError, InvalidRequestError, ModelNotFoundError
from mlx_specdec.events import Finished, Prefilled, Round
from tests.toymodels import perturbed, save_toy, toy_model, toy_tokenizer

import pytest


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("pair")
    target, tokenizer = toy_model(vocab=288, context=256), toy_tokenizer(280)
    save_toy(folder / "target", target, tokenizer)
    save_toy(folder / "draft", perturbed(target), tokenizer)
    with mlx_specdec.load(str(folder / "target"), draft=str(folder / "draft")) as loaded:
        yield loaded


def test_events_come_in_order(engine: Engine) -> None:
    events = list(engine.stream("hello", max_tokens=10).events())
    assert isinstance(events[0], Prefilled)
    assert all(isinstance(event, Round) for event in events[1:-1])
    assert isinstance(events[-1], Finished)


def test_text_pieces_join_to_the_reply(engine: Engine) -> None:
    pieces = list(engine.stream("hello", max_tokens=20, ignore_eos=True))
    reply = engine.generate("hello", max_tokens=20, ignore_eos=True)
    assert "".join(pieces) == reply.text
    assert len(reply.tokens) == reply.metrics.emitted_tokens == 20
    assert reply.finish_reason == "length"


def test_drafting_changes_nothing_but_the_passes(engine: Engine) -> None:
    with_draft = engine.generate("hello", max_tokens=30, ignore_eos=True, lookahead=3)
    plain = engine.generate("hello", max_tokens=30, ignore_eos=True, draft=False)
    assert with_draft.tokens == plain.tokens
    assert with_draft.metrics.target_passes < plain.metrics.target_passes
    assert plain.metrics.acceptance_rate is None


def test_a_prompt_is_a_question_or_messages_or_ids(engine: Engine) -> None:
    question = engine.generate("hello", max_tokens=8)
    messages = engine.generate([{"role": "user", "content": "hello"}], max_tokens=8)
    ids = engine.thread.call(lambda: engine.session.chat_tokens("hello"))
    assert question.tokens == messages.tokens == engine.generate(ids, max_tokens=8).tokens
    raw = engine.stream("hello", raw=True, max_tokens=1).events()
    first = next(iter(raw))
    assert isinstance(first, Prefilled)
    assert first.prompt_tokens < len(ids)


def test_a_wrong_setting_is_an_error_here_and_now(engine: Engine) -> None:
    with pytest.raises(InvalidRequestError, match="temperature"):
        engine.stream("hello", temperature=-1)
    with pytest.raises(InvalidRequestError, match="no setting 'heat'"):
        engine.stream("hello", heat=1)


def test_an_error_of_the_other_thread_is_raised_to_the_reader(engine: Engine) -> None:
    stream = engine.stream([5] * 300, max_tokens=4)
    with pytest.raises(ContextFullError, match="300 tokens"):
        stream.reply()
    assert engine.generate("hello", max_tokens=4).tokens  # and the engine lives on


def test_a_cancelled_stream_keeps_what_was_said(engine: Engine) -> None:
    stream = engine.stream("hello", max_tokens=200, ignore_eos=True, lookahead=0)
    events = []
    for event in stream.events():
        events.append(event)
        stream.cancel()
    assert isinstance(events[-1], Finished)
    assert events[-1].reason in ("cancelled", "length")
    assert stream.metrics.emitted_tokens == sum(
        len(event.emitted) for event in events if isinstance(event, Round)
    )


def test_a_model_that_is_not_here_names_the_fix() -> None:
    with pytest.raises(ModelNotFoundError, match="mlx-specdec pull qwen3-14b"):
        mlx_specdec.load("qwen3-14b", draft="none")


def test_public_names_resolve_and_are_sorted() -> None:
    assert mlx_specdec.__all__ == sorted(mlx_specdec.__all__)
    for name in mlx_specdec.__all__:
        assert getattr(mlx_specdec, name) is not None
    with pytest.raises(AttributeError):
        _ = mlx_specdec.no_such_name


def test_the_readmes_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    readme = Path(__file__).parents[2] / "README.md"
    code = readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    assert len(code.strip().splitlines()) <= 10
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert "tokens a pass" in capsys.readouterr().out
