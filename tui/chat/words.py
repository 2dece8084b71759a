"""The chat's figures in words, ready to draw: of the reply under way, and of the chat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlx_specdec.chat.figures import (
    MEANINGFUL_TOKENS,
    estimated_speedup,
    gain_words,
    saved_seconds,
    saved_words,
)
from mlx_specdec.costs.prices import Prices
from mlx_specdec.events import Event, Prefilled, Round
from mlx_specdec.figures import pair_names, percent, rate, seconds
from mlx_specdec.memory import bytes_text
from mlx_specdec.metrics import Metrics, RunningFold
from mlx_specdec.settings import Settings
from tui.ledger_scopes import reply_prices
from tui.state import AppState, pair_words

__all__ = ["ChatWords", "Figures", "ReplyWords", "chat_words", "reply_words", "top_words"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST_POSITIONS = 8
NO_PRICES = "no estimate yet: run a race (1)"


@dataclass(frozen=True, slots=True)
class ReplyWords:
    """One reply's figures; empty where they say nothing yet."""

    rate: str = ""
    gain: str = ""
    gain_source: str = ""
    accepted: str = ""
    positions: str = ""
    per_pass: str = ""
    lookahead: str = ""
    first_token: str = ""


@dataclass(frozen=True, slots=True)
class ChatWords:
    """The chat's figures; ``context_share`` and ``memory_share`` from 0 to 1."""

    replies: str = ""
    waited: str = ""
    saved: str = ""
    context: str = ""
    context_share: float = 0.0
    memory: str = ""
    memory_share: float = 0.0


class _Counted:
    """One reply's metrics; while it goes on only what is new of it is counted."""

    def __init__(self) -> None:
        self._events: Sequence[Event] = ()
        self._fold = RunningFold()
        self.metrics = Metrics()

    def of(self, events: Sequence[Event]) -> Metrics:
        """The metrics of these events, which go on from those of the last time, or are others."""
        if events is self._events:
            return self.metrics
        before = len(self._events)
        if before > len(events) or (before and events[before - 1] is not self._events[-1]):
            before, self._fold = 0, RunningFold()
        self._fold.add(events[before:])
        self._events, self.metrics = events, self._fold.metrics
        return self.metrics


class Figures:
    """Both, of the app's state as it is; each event of a reply is counted once."""

    def __init__(self, state: AppState) -> None:
        self._state = state
        self._counted: dict[int, _Counted] = {}
        self._priced: tuple[tuple[object, ...], Prices | None] = ((), None)

    def now(self) -> tuple[ReplyWords, ChatWords]:
        state, prices = self._state, self._prices()
        replies = [(events, self._metrics(i, events)) for i, events in enumerate(state.replies)]
        last = replies[-1] if replies else ((), Metrics())
        chat = chat_words(
            replies,
            prices,
            context_limit=state.context_length,
            weight_bytes=state.weight_bytes,
            kv_bytes_per_token=state.kv_bytes_per_token,
            memory_limit_bytes=state.memory_limit_bytes,
        )
        return reply_words(*last, state.settings, prices), chat

    def _metrics(self, place: int, events: Sequence[Event]) -> Metrics:
        return self._counted.setdefault(place, _Counted()).of(events)

    def _prices(self) -> Prices | None:
        """Where they are a race's own they are worked out of all of it: once a race."""
        state = self._state
        of = (state.recording, state.prices, state.pair, state.machine)
        if not self._priced[0] or any(a is not b for a, b in zip(of, self._priced[0], strict=True)):
            self._priced = (of, reply_prices(state))
        return self._priced[1]


def top_words(state: AppState, is_wide: bool) -> str:
    """What is loaded and set; where there is no panel, the context in use instead of the rest."""
    if is_wide or not state.replies or state.pair is None:
        return pair_words(state)
    used = tokens_text(_context_of(state.replies[-1]))
    limit = f"/{tokens_text(state.context_length)}" if state.context_length else ""
    names = pair_names(state.pair)
    temperature = f"temp {state.settings.sampling.temperature:g}"
    return f"{names} · {temperature} · context {used}{limit}"


def reply_words(
    events: Sequence[Event], metrics: Metrics, settings: Settings, prices: Prices | None
) -> ReplyWords:
    """Of one reply, finished or under way, and its metrics."""
    if not metrics.emitted_tokens:
        return ReplyWords(lookahead=_lookahead(events, settings))
    is_meaningful = metrics.emitted_tokens >= MEANINGFUL_TOKENS
    drafts = metrics.acceptance_rate is not None
    per_pass = metrics.tokens_per_target_pass
    plain = plain_seconds(prices, context_tokens(metrics))
    return ReplyWords(
        rate=rate(metrics.tokens_per_second) if is_meaningful else "",
        gain=(_gain(metrics, plain) or _note(events)) if is_meaningful else "",
        gain_source=prices.words if prices is not None and is_meaningful and drafts else "",
        accepted=_accepted(metrics) if is_meaningful else "",
        positions=_positions(metrics) if is_meaningful else "",
        per_pass=f"{per_pass:.1f} tokens" if per_pass is not None and is_meaningful else "",
        lookahead=_lookahead(events, settings),
        first_token=seconds(metrics.ttft_seconds),
    )


def chat_words(
    replies: Sequence[tuple[Sequence[Event], Metrics]],
    prices: Prices | None,
    *,
    context_limit: int | None,
    weight_bytes: int = 0,
    kv_bytes_per_token: int = 0,
    memory_limit_bytes: int = 0,
) -> ChatWords:
    """Of all replies of the chat, each with its metrics; the last one may be under way."""
    said = sum(metrics.emitted_tokens for _, metrics in replies)
    waited = sum(metrics.end_to_end_seconds for _, metrics in replies)
    peak = max((metrics.peak_memory_bytes for _, metrics in replies), default=0)
    used = context_tokens(replies[-1][1]) if replies else 0
    saved = saved_seconds(
        [(metrics, plain_seconds(prices, context_tokens(metrics))) for _, metrics in replies]
    )
    held = peak or weight_bytes + used * kv_bytes_per_token
    count = f"{len(replies)} repl{'y' if len(replies) == 1 else 'ies'}"
    return ChatWords(
        replies=f"{count}, {said:,} tokens" if replies else "",
        waited=f"waited {_span(waited)}" if replies else "",
        saved=saved_words(saved),
        context=_context(used, context_limit),
        context_share=used / context_limit if context_limit else 0.0,
        memory=_memory(held, memory_limit_bytes),
        memory_share=held / memory_limit_bytes if memory_limit_bytes else 0.0,
    )


def context_tokens(metrics: Metrics) -> int:
    """Tokens of the context that a reply has filled: its prompt and what it said."""
    return metrics.prompt_tokens + metrics.emitted_tokens


def _context_of(events: Sequence[Event]) -> int:
    prompt = sum(event.prompt_tokens for event in events if isinstance(event, Prefilled))
    return prompt + sum(len(event.emitted) for event in events if isinstance(event, Round))


def plain_seconds(prices: Prices | None, context: int) -> float | None:
    """What plain decoding takes for a token with so many in the cache."""
    if prices is None:
        return None
    model = prices.model if prices.costs is None else prices.costs.at(context)
    return model.target_seconds


def tokens_text(count: int) -> str:
    """``842``, ``1.3k``, ``40k``."""
    if count < 1000:
        return str(count)
    return f"{count / 1000:.1f}k" if count < 9950 else f"{count / 1000:.0f}k"


def _gain(metrics: Metrics, plain: float | None) -> str:
    if metrics.acceptance_rate is None:
        return ""
    return NO_PRICES if plain is None else gain_words(estimated_speedup(metrics, plain))


def _note(events: Sequence[Event]) -> str:
    """Why the last pass did not draft, where it says so."""
    backwards = (event.note for event in reversed(events) if isinstance(event, Round))
    return next((note for note in backwards if note), "")


def _accepted(metrics: Metrics) -> str:
    """A share, or that there is none: which is not 0 %."""
    return "not drafting" if metrics.acceptance_rate is None else percent(metrics.acceptance_rate)


def _positions(metrics: Metrics) -> str:
    chances = metrics.acceptance_by_position[:_MOST_POSITIONS]
    return "".join(" " if c is None else _BLOCKS[min(int(c * 8), 7)] for c in chances)


def _lookahead(events: Sequence[Event], settings: Settings) -> str:
    if not settings.draft or settings.lookahead == 0:
        return "off"
    if str(settings.lookahead) != "auto":
        return str(settings.lookahead)
    backwards = (event for event in reversed(events) if isinstance(event, Round))
    last = next((event for event in backwards if event.index > 0), None)
    return f"{last.lookahead} auto" if last is not None else "auto"


def _span(value: float) -> str:
    """``4.2 s``, ``46 s``, ``3 min 12 s``."""
    if value < 10:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _context(used: int, limit: int | None) -> str:
    return f"{tokens_text(used)} of {tokens_text(limit)}" if limit else tokens_text(used)


def _memory(held: int, limit: int) -> str:
    if not held:
        return ""
    return f"{bytes_text(held)} of {bytes_text(limit)}" if limit else bytes_text(held)
