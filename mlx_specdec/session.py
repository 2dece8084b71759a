"""Session: one conversation with one pair; owns both caches, on the engine thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, cast

from .answer import Answer
from .backend import release_unused_memory
from .conversation import THINK_START, Conversation, split_thinking
from .costs.cost_table import CostTable
from .costs.pair_costs import PairCosts, guessed_costs
from .errors import InvalidRequestError
from .events import Event, Finished, Round
from .forward import never
from .generation import Generation
from .loaded import Pair
from .lookahead.adaptive import LookaheadMemory
from .lookahead.policy import FixedLookahead, LookaheadPolicy, RoundOutcome
from .lookahead.round_meter import RoundMeter
from .memory_room import MemoryRoom, wired
from .noise import Noise
from .parts import Parts
from .proposal import Proposer
from .proposers.draft_model import DraftModelProposer
from .proposers.ngram import NgramProposer
from .request import AUTO, COPY, DEFAULT_LOOKAHEAD, GenerateRequest
from .settings import Settings
from .speculative import SpeculativeDecoder
from .standard import StandardDecoder

__all__ = ["Session"]

_SOME_TOKENS = 4096  # what is wired for an answer without a limit


class Session:
    """Answers prompts and conversations; what a new prompt shares with the last is not read again.

    Args:
        pair: the models.
        kv_bits: quantised caches from the first token on, in both models; None for plain ones.
        clock: seconds.
        parts: what the decoders are made of.
        costs: what rounds cost here, as far as it is known; real rounds correct it, for every
            session that shares it. None starts from a guess by the models' sizes.
        copying_costs: the same where guesses are copied; None is ``costs`` without the draft.

    Raises:
        CacheNotRewindableError: a model whose cache cannot take guesses back.
    """

    def __init__(
        self,
        pair: Pair,
        *,
        kv_bits: int | None = None,
        kv_group_size: int = 64,
        clock: Callable[[], float] = time.perf_counter,
        parts: Parts = Parts(),  # noqa: B008  frozen
        costs: CostTable | None = None,
        copying_costs: CostTable | None = None,
    ) -> None:
        self.pair = pair
        self.kv_bits, self.kv_group_size, self.parts = kv_bits, kv_group_size, parts
        way = "copying" if pair.copies else "drafting"
        self.lookahead = LookaheadMemory(costs if costs is not None else _guessed(pair), way=way)
        self.conversation = Conversation()
        self.begins_thinking = False  # whether the reply under way starts inside a thinking block
        self.width = min(pair.tokenizer_width, pair.target.vocab_width)
        self.clock = clock
        self.room = MemoryRoom.of(pair)
        limits = [pair.target.context_length, self.room.tokens()]
        self.context_length = min((limit for limit in limits if limit is not None), default=None)

        cache: dict[str, Any] = {"kv_bits": kv_bits, "kv_group_size": kv_group_size}
        self.target = parts.target_runner(pair.target, **cache, clock=clock)
        self.standard = StandardDecoder(self.target)
        self.copying = self._decoder(NgramProposer())
        self.copying_lookahead = self.lookahead
        if not pair.copies:
            known = self.lookahead.costs
            free = CostTable(known.prior.without_draft(), known.scale_is_known)
            self.copying_lookahead = LookaheadMemory(copying_costs or free, way="copying")
        self.speculative = self.copying if pair.copies else None
        self.proposer: DraftModelProposer | None = None
        if pair.draft is not None:
            draft = parts.draft_runner(pair.draft, **cache, clock=clock)
            self.proposer = parts.proposer(draft, clock)
            self.speculative = self._decoder(self.proposer)

    def _decoder(self, proposer: Proposer) -> SpeculativeDecoder:
        return SpeculativeDecoder(
            self.target, proposer, rule_for=self.parts.rule_for, profile=self.parts.profile
        )

    def take_costs(self, costs: PairCosts) -> None:
        """Decide by costs that were measured here, whichever way is drafted."""
        self.lookahead.costs.replace_prior(costs)
        if self.copying_lookahead is not self.lookahead:
            self.copying_lookahead.costs.replace_prior(costs.without_draft())

    def beside(self, clock: Callable[[], float]) -> Session:
        """A session over the same models with caches and a clock of its own: a lane of a race."""
        beside = Session(
            self.pair,
            kv_bits=self.kv_bits,
            kv_group_size=self.kv_group_size,
            clock=clock,
            parts=self.parts,
            costs=self.lookahead.costs,
            copying_costs=self.copying_lookahead.costs,
        )
        for ours, its in (
            (self.lookahead, beside.lookahead),
            (self.copying_lookahead, beside.copying_lookahead),
        ):
            its.belief = ours.belief.beside()
        return beside

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text, special tokens recognised.

        As mlx-lm does, the tokenizer's own beginning is added unless the text has it already.
        """
        tokenizer = self.pair.tokenizer
        beginning = getattr(tokenizer, "bos_token", None)
        added = beginning is None or not text.startswith(beginning)
        return [int(token) for token in tokenizer.encode(text, add_special_tokens=added)]

    def opens_thinking(self, prompt_tokens: Sequence[int]) -> bool:
        """Whether the prompt ends inside a thinking block, as some chat templates make it."""
        end = str(self.pair.tokenizer.decode(list(prompt_tokens[-8:]))).rstrip()
        return end.endswith(THINK_START)

    def chat_tokens(self, prompt: str, system: str = "", think: bool | None = None) -> list[int]:
        """Token ids of a conversation that consists of one question."""
        conversation = Conversation(system)
        conversation.say("user", prompt)
        return conversation.prompt_tokens(self.pair.tokenizer, think)

    def generate(
        self,
        prompt_tokens: Sequence[int],
        settings: Settings,
        *,
        noise: Noise | None = None,
        is_cancelled: Callable[[], bool] = never,
        learns: bool = True,
    ) -> Iterator[Event]:
        """Prefilled, Round after Round, Finished.

        Args:
            learns: whether its rounds correct what is known of costs and of texts. Without, an
                adaptive lookahead is the default one: it might guess nothing so early.

        Raises:
            InvalidRequestError: a setting outside its range, or a token the model does not have.
            ContextFullError: the prompt leaves no room to answer.
        """
        request = settings.request(prompt_tokens)
        if max(prompt_tokens) >= self.pair.target.vocab_width:
            raise InvalidRequestError(
                f"The prompt holds token {max(prompt_tokens)}, and the model has "
                f"{self.pair.target.vocab_width}.",
                "Encode the prompt with the target's own tokenizer.",
            )
        answer = Answer(
            request,
            self.pair.tokenizer,
            self.pair.eos_token_ids,
            self.context_length,
        )
        generation = Generation(
            request,
            answer,
            self.width,
            noise=noise,
            clock=self.clock,
            is_cancelled=is_cancelled,
        )
        expected = len(prompt_tokens) + min(request.max_tokens or _SOME_TOKENS, _SOME_TOKENS)
        with wired(self.room, expected):
            decoder, memory = self._drafting(settings)
            if decoder is None:
                yield from self._plain(generation, learns)
                return
            yield from decoder.generate(generation, self._policy(request, memory, learns))
            if learns and answer.finish_reason != "cancelled":
                memory.end_answer(len(answer.emitted), generation.at())

    def warm_up(
        self,
        prompt_tokens: Sequence[int],
        settings: Settings,
        *,
        is_cancelled: Callable[[], bool] = never,
    ) -> None:
        """An answer that nobody sees and nothing is learned from: the first passes compile
        kernels. Both caches are empty after it.

        Raises:
            InvalidRequestError, ContextFullError: as ``generate``.
        """
        for _ in self.generate(prompt_tokens, settings, is_cancelled=is_cancelled, learns=False):
            pass
        self.drop_caches()

    def _drafting(self, settings: Settings) -> tuple[SpeculativeDecoder | None, LookaheadMemory]:
        """What decodes with guesses, None for plain decoding, and what was learned of them."""
        if not settings.draft or settings.lookahead == 0:
            return None, self.lookahead
        if settings.draft == COPY:
            return self.copying, self.copying_lookahead
        return self.speculative, self.lookahead

    def _plain(self, generation: Generation, learns: bool) -> Iterator[Event]:
        """Plain decoding; what its rounds take corrects the costs, but for the last one's:
        nothing is queued behind it."""
        meter = RoundMeter()
        meter.switch(is_pipelined=True)
        plain = cast("Generator[Event]", self.standard.generate(generation))
        with closing(plain) as events:
            for event in events:
                if isinstance(event, Round):
                    seconds, count = meter.read(event.at), len(event.emitted)
                    if learns and not generation.is_over:
                        outcome = RoundOutcome(0, 0, 0, count, event.position, seconds)
                        self.lookahead.costs.observe(outcome)
                meter.leave()
                yield event
                meter.come_back()

    def _policy(
        self, request: GenerateRequest, memory: LookaheadMemory, learns: bool
    ) -> LookaheadPolicy:
        """Who decides about guesses in one answer."""
        if request.lookahead == AUTO:
            return memory.begin_answer() if learns else FixedLookahead(DEFAULT_LOOKAHEAD)
        # A profile waits between the phases, so its rounds are dearer than others.
        are_usual = learns and not self.parts.profile
        return FixedLookahead(request.lookahead, memory.costs if are_usual else None)

    def ask(
        self, text: str, settings: Settings, *, is_cancelled: Callable[[], bool] = never
    ) -> Iterator[Event]:
        """A user's turn and the assistant's answer; a stopped answer is kept as far as it came."""
        self.conversation.say("user", text)
        yield from self.reply(settings, is_cancelled=is_cancelled)

    def reply(
        self, settings: Settings, *, is_cancelled: Callable[[], bool] = never
    ) -> Iterator[Event]:
        """The assistant's answer to the conversation as it stands."""
        said: list[str] = []
        self.begins_thinking = False
        try:
            prompt = self.conversation.prompt_tokens(self.pair.tokenizer, settings.think)
            self.begins_thinking = self.opens_thinking(prompt)
            for event in self.generate(prompt, settings, is_cancelled=is_cancelled):
                if isinstance(event, Round):
                    said += [token.text for token in event.emitted]
                elif isinstance(event, Finished):
                    said.append(event.trailing_text)
                yield event
        finally:
            opening = THINK_START if self.begins_thinking else ""
            answer = split_thinking(opening + "".join(said)).answer
            if said:
                self.conversation.say("assistant", answer)
            elif self.conversation.messages and self.conversation.messages[-1].role == "user":
                self.conversation.messages.pop()  # nothing was answered: ask it again as it was

    def clear(self) -> None:
        """Forget the conversation and both caches."""
        self.conversation.clear()
        self.lookahead.forget_texts()
        self.copying_lookahead.forget_texts()
        self.drop_caches()

    def drop_caches(self) -> None:
        """Forget what was read; the conversation and what was learned stay."""
        self.target.drop()
        self.copying.proposer.close()
        if self.proposer is not None:
            self.proposer.close()
        release_unused_memory()


def _guessed(pair: Pair) -> CostTable:
    if pair.draft is None:
        costs = guessed_costs(pair.target.weight_bytes, 0).without_draft()
    else:
        costs = guessed_costs(pair.target.weight_bytes, pair.draft.weight_bytes)
    return CostTable(costs, scale_is_known=False)
