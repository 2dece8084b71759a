"""Engine: load a pair and talk to it from a script; everything of MLX stays on its own thread.

::

    import mlx_specdec

    with mlx_specdec.load("tiny", draft="tiny-draft") as engine:
        stream = engine.stream("What does lantern mean?", max_tokens=60)
        for piece in stream:
            print(piece, end="", flush=True)
        print(stream.metrics.acceptance_rate)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from .backend import release_thread
from .conversation import Conversation, Message
from .costs.known_costs import calibration_key, known_costs
from .errors import InvalidRequestError, ModelNotFoundError, SpecdecError
from .events import Event, Failed, Finished, Prefilled, Round
from .loaded import Pair
from .loading import load_pair
from .locate import locate
from .lookahead.store import load_usual, save_usual
from .metrics import Metrics, fold
from .model_spec import ModelSpec, PairSpec
from .registry import Registry
from .service import EngineThread, JobHandle
from .session import Session
from .settings import Settings, settings_from

__all__ = ["Engine", "Reply", "Stream", "load"]

Prompt = str | Sequence[int | Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer: its text, its token ids, how it ended and its figures."""

    text: str
    tokens: tuple[int, ...]
    finish_reason: str
    metrics: Metrics


class Stream:
    """An answer under way. Iterate for text, ``events()`` for everything; one reader."""

    def __init__(self, handle: JobHandle[Event]) -> None:
        self._handle = handle
        self._seen: list[Event] = []

    def events(self) -> Iterator[Event]:
        """Prefilled, Round after Round, Finished.

        Raises:
            SpecdecError: what went wrong on the engine thread; an error that we did not foresee is
                its cause.
        """
        for event in self._handle:
            self._seen.append(event)
            if isinstance(event, Failed):
                error = self._handle.error
                if isinstance(error, SpecdecError):
                    raise error
                raise SpecdecError(event.message, event.hint) from error
            yield event

    def __iter__(self) -> Iterator[str]:
        for event in self.events():
            if isinstance(event, Round):
                text = "".join(token.text for token in event.emitted)
            elif isinstance(event, Prefilled | Failed):
                continue
            else:
                text = event.trailing_text
            if text:
                yield text

    def cancel(self) -> None:
        """Stop after the round under way; what was said stays."""
        self._handle.cancel()

    @property
    def seen(self) -> tuple[Event, ...]:
        """What was read so far."""
        return tuple(self._seen)

    @property
    def metrics(self) -> Metrics:
        """The figures of what was read so far."""
        return fold(self._seen)

    def reply(self) -> Reply:
        """Read to the end and return all of it."""
        for _ in self.events():
            pass
        text: list[str] = []
        tokens: list[int] = []
        reason = ""
        for event in self._seen:
            if isinstance(event, Round):
                text += [token.text for token in event.emitted]
                tokens += [token.token for token in event.emitted]
            elif isinstance(event, Finished):
                text.append(event.trailing_text)
                reason = event.reason
        return Reply("".join(text), tuple(tokens), reason, self.metrics)


class Engine:
    """A loaded pair with its thread and one session. Use it in a ``with`` statement.

    Args:
        thread: where everything of MLX happens.
        session: made on that thread.
    """

    def __init__(self, thread: EngineThread, session: Session) -> None:
        self.thread = thread
        self.session = session
        self.settings = Settings()

    @property
    def pair(self) -> Pair:
        return self.session.pair

    def stream(self, prompt: Prompt, **settings: Any) -> Stream:
        """Begin an answer.

        Args:
            prompt: a question (a chat of one turn), token ids, or a list of messages
                ``{"role": ..., "content": ...}``.
            settings: keywords of Settings and SamplingParams, and ``raw=True`` to continue the
                text as it is, without the chat template.

        Raises:
            InvalidRequestError: a setting outside its range.
        """
        raw = bool(settings.pop("raw", False))
        return self.answer(prompt, settings_from(self.settings, **settings), raw=raw)

    def answer(self, prompt: Prompt, wanted: Settings, *, raw: bool = False) -> Stream:
        """As ``stream``, with the settings made already."""
        wanted.request((0,))  # a wrong setting is an error here, not on the other thread

        def job(is_cancelled: Any) -> Iterator[Event]:
            tokens = self._tokens(prompt, wanted.think, raw)
            yield from self.session.generate(tokens, wanted, is_cancelled=is_cancelled)

        return Stream(self.thread.submit(job))

    def generate(self, prompt: Prompt, **settings: Any) -> Reply:
        """The whole answer; arguments as ``stream``."""
        return self.stream(prompt, **settings).reply()

    def ask(self, text: str, settings: Settings) -> Stream:
        """The next turn of the session's own conversation."""
        return Stream(
            self.thread.submit(
                lambda is_cancelled: self.session.ask(text, settings, is_cancelled=is_cancelled)
            )
        )

    def _tokens(self, prompt: Prompt, think: bool | None, raw: bool) -> list[int]:
        if isinstance(prompt, str):
            if raw:
                return self.session.encode(prompt)
            return self.session.chat_tokens(prompt, think=think)
        ids = [item for item in prompt if isinstance(item, int)]
        if len(ids) == len(prompt):
            return ids
        said = [
            Message(item["role"], item["content"]) for item in prompt if isinstance(item, Mapping)
        ]
        return Conversation(messages=said).prompt_tokens(self.pair.tokenizer, think)

    def close(self) -> bool:
        """Cancel what runs and end the thread; see EngineThread.close for what False means."""
        return self.thread.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _folder(spec: ModelSpec) -> Path:
    found = locate(spec)
    if found is None or not found.complete:
        raise ModelNotFoundError(
            f"{spec.alias} is not on this machine.", f"Fetch it: mlx-specdec pull {spec.alias}"
        )
    return found.path


def _with_ends(pair: Pair, texts: Sequence[str]) -> Pair:
    vocabulary = pair.tokenizer.get_vocab() if texts else {}
    ends = set(pair.eos_token_ids)
    for text in texts:
        token = vocabulary.get(text)
        if token is None and text.isdecimal() and int(text) < pair.tokenizer_width:
            token = int(text)
        if token is None:
            raise InvalidRequestError(
                f"{text!r} is not a token of {pair.target.name}.",
                "Give one token as the tokenizer writes it; for other texts there is --stop.",
            )
        ends.add(int(token))
    return replace(pair, eos_token_ids=frozenset(ends))


@dataclass(slots=True)
class _Loading:
    """What ``load`` was asked for: the session is made, and left, on the engine's thread."""

    spec: PairSpec
    target_path: Path
    draft_path: Path | None
    extra_eos_tokens: Sequence[str]
    kv_bits: int | None
    kv_group_size: int
    trust_remote_code: bool
    session: Session | None = None

    def make(self) -> Session:
        """Load both models; what is known of the pair on this machine goes with them."""
        pair = load_pair(
            self.target_path,
            self.draft_path,
            trust_remote_code=self.trust_remote_code,
            kv_bits=self.kv_bits,
            kv_group_size=self.kv_group_size,
            target_name=self.spec.target.alias,
            draft_name=self.spec.draft.alias if self.spec.draft is not None else "",
        )
        pair = replace(_with_ends(pair, self.extra_eos_tokens), copies=self.spec.copies)
        session = Session(
            pair,
            kv_bits=self.kv_bits,
            kv_group_size=self.kv_group_size,
            costs=known_costs(pair, self.spec, self.kv_bits),
        )
        key = calibration_key(pair, self.kv_bits)
        session.lookahead.belief.begin_from(load_usual(key.target, key.draft))
        self.session = session
        return session

    def end(self) -> None:
        """Keep what guesses were usually worth for the next program that loads the pair."""
        try:
            if self.session is not None and self.session.pair.draft is not None:
                key = calibration_key(self.session.pair, self.kv_bits)
                save_usual(key.target, key.draft, self.session.lookahead.belief.carried)
        finally:
            release_thread()


def load(
    target: str,
    draft: str | None = None,
    *,
    kv_bits: int | None = None,
    kv_group_size: int = 64,
    trust_remote_code: bool = False,
    extra_eos_tokens: Sequence[str] = (),
) -> Engine:
    """Load a pair that is on this machine.

    Args:
        target: alias, repository id or folder.
        draft: the same; None takes the target's default draft, ``"none"`` decodes plainly,
            ``"copy"`` copies guesses from the text and loads no second model.
        extra_eos_tokens: texts (or ids) of tokens that end an answer as well.

    Raises:
        InvalidRequestError: an extra end token that the tokenizer does not have.
        UnknownModelError, ModelNotFoundError, DraftLoadError, PairMismatchError,
        CacheNotRewindableError: see their classes.
    """
    pair_spec = Registry.load().resolve_pair(target, draft)
    loading = _Loading(
        pair_spec,
        _folder(pair_spec.target),
        _folder(pair_spec.draft) if pair_spec.draft is not None else None,
        extra_eos_tokens,
        kv_bits,
        kv_group_size,
        trust_remote_code,
    )
    thread = EngineThread(at_end=loading.end)
    try:
        return Engine(thread, thread.call(loading.make))
    except BaseException:
        thread.close()
        raise
