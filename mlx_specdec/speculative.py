"""SpeculativeDecoder: propose, verify, accept, rewind, emit; parks on the standard loop."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

from .acceptance import AcceptanceRule, TargetRows, rule_named
from .backend import mx, read_floats
from .distributions import History, scaled_scores
from .events import Emitted, Event, Round, Timings
from .forward import Cancelled, ModelRunner
from .generation import Generation
from .lookahead.policy import (
    Choice,
    FixedLookahead,
    LookaheadPolicy,
    RoundOutcome,
    Situation,
)
from .lookahead.round_meter import RoundMeter
from .proposal import Proposal, Proposer
from .readout import Reading, packed, unpacked
from .request import AUTO, DEFAULT_LOOKAHEAD
from .standard import StandardDecoder, checked

__all__ = ["SpeculativeDecoder"]

_LOOK_AGAIN = 4  # plain rounds; asking is hidden behind a pass, so this costs nothing


@dataclass
class _Pass:
    """A round that was queued and not read yet."""

    readout: mx.array
    proposal: Proposal
    lookahead: int
    verified: int  # tokens of the context that the target had read when the guesses began
    build_seconds: float
    owed: int  # tokens that the draft had not read
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0


class SpeculativeDecoder:
    """A proposer guesses, the target checks in one pass, the rule keeps what is the target's.

    Args:
        target: the model whose law the text follows, with its cache.
        proposer: where guesses come from.
        rule_for: from a rule's name and the temperature to the rule.
        profile: wait for the guesses and for the check, so that each is measured.
    """

    def __init__(
        self,
        target: ModelRunner,
        proposer: Proposer,
        *,
        rule_for: Callable[[str, float], AcceptanceRule] = rule_named,
        profile: bool = False,
    ) -> None:
        self.target = target
        self.proposer = proposer
        self._rule_for = rule_for
        self._profile = profile
        self.standard = StandardDecoder(target)

    def generate(
        self, generation: Generation, policy: LookaheadPolicy | None = None
    ) -> Iterator[Event]:
        """Prefilled, Round 0 (the prefill's own token), Round after Round, Finished.

        Nothing of a draft model is built before the first token is handed out, and nothing at all
        before ``policy`` wants guesses; a proposer that copies reads the prompt on the host before
        it, to say whether there is anything to copy. Without a policy the request's own lookahead
        holds throughout.
        """
        if policy is None:
            lookahead = generation.request.lookahead
            policy = FixedLookahead(DEFAULT_LOOKAHEAD if lookahead == AUTO else lookahead)
        try:
            yield from generation.prefill(self.target)
            yield from self._rounds(generation, policy)
        except GeneratorExit:  # the reader walked away; what is queued was never committed
            self.target.rollback()
            self.proposer.rollback()
            raise
        except BaseException:  # a pass broke off: nothing that was read can be trusted
            self.target.drop()
            self.proposer.close()
            raise
        yield generation.finished()

    def _rounds(self, generation: Generation, policy: LookaheadPolicy) -> Iterator[Round]:
        """The plain loop and the drafting loop in turns, as ``policy`` says."""
        request, meter = generation.request, RoundMeter()
        rule = self._rule_for(request.rule, request.sampling.temperature)
        choice: Choice | None = self._choose(generation, policy)
        if choice is not None and choice.lookahead:
            yield from self._plain(generation, policy, Choice(0), meter, asks=False)
        has_begun = False
        while choice is not None and not generation.is_over:
            if choice.lookahead == 0:
                choice = yield from self._plain(generation, policy, choice, meter)
                continue
            if generation.cancel_if_asked():
                return
            if not has_begun:
                self.proposer.begin(request, generation.width, generation.is_cancelled)
                has_begun = True
            choice = yield from self._drafting(generation, rule, policy, choice, meter)

    def _choose(
        self, generation: Generation, policy: LookaheadPolicy, in_flight: int = 0
    ) -> Choice:
        """What to do next; tokens whose pass is running count as written.

        A proposer that has nothing to say parks the lane for one round. Parked for longer
        although guesses cost nothing to know, the lane looks again soon: the text tells by itself
        when they begin to come true.
        """
        context = generation.tokens
        glance = self.proposer.glance(context)
        if glance.note:
            return Choice(0, 1, glance.note)
        length = len(context) + in_flight
        choice = policy.choose(
            Situation(
                emitted_tokens=length - generation.answer.prompt_length,
                context_length=length,
                owed_tokens=self.proposer.owed(context) + in_flight,
                room=generation.answer.room - in_flight,
                elapsed_seconds=generation.at(),
            )
        )
        if glance.token is not None and choice.num_rounds > _LOOK_AGAIN:
            return replace(choice, num_rounds=_LOOK_AGAIN)
        return choice

    def _plain(
        self,
        generation: Generation,
        policy: LookaheadPolicy,
        choice: Choice,
        meter: RoundMeter,
        *,
        asks: bool = True,
    ) -> Generator[Round, None, Choice | None]:
        """Plain rounds in one stretch, until the policy wants guesses (its choice is returned).

        It is asked while the last round's pass runs, so that where it stays parked the next one
        is queued by then: parked, the lane is as fast as the plain loop. Without ``asks`` the
        stretch ends with ``choice``. What a proposer would have guessed at no cost is judged by
        the token that came, so that the policy goes on learning.
        """
        meter.switch(is_pipelined=True)
        guess: int | None = None
        following: Choice | None = None

        def go_on() -> tuple[int, str] | None:
            nonlocal following
            following = self._choose(generation, policy, in_flight=1)
            return None if following.lookahead else (following.num_rounds, following.note)

        for event in self.standard.rounds(
            generation, choice.num_rounds, choice.note, go_on if asks else None
        ):
            seconds = meter.read(event.at)
            if generation.is_over or (following is not None and following.lookahead):
                seconds = None  # the last of its kind: nothing was queued behind it
            count = len(event.emitted)
            tested = int(guess is not None and count > 0)
            kept = int(tested and event.emitted[0].token == guess)
            policy.observe(RoundOutcome(0, kept, tested, count, event.position, seconds))
            guess = self.proposer.glance(generation.tokens).token if asks else None
            meter.leave()
            yield event
            meter.come_back()
        return following

    def _drafting(
        self,
        generation: Generation,
        rule: AcceptanceRule,
        policy: LookaheadPolicy,
        choice: Choice,
        meter: RoundMeter,
    ) -> Generator[Round, None, Choice | None]:
        """Rounds with guesses, until the policy parks (its choice is returned) or the end."""
        meter.switch()
        current = self._queue(generation, rule, choice.lookahead)
        while isinstance(current, _Pass):
            waited = generation.clock()
            reading = unpacked(
                read_floats(current.readout), current.proposal, generation.request.detail
            )
            got, at = generation.clock(), generation.at()
            checked(reading.health, self.target.loaded.name)
            checked(sum(reading.draft_probs or ()), self.proposer.name)
            position = len(generation.tokens)
            emitted = self._admit(generation, current, reading)
            self._commit(generation, current, reading)
            policy.observe(_outcome(current, reading, len(emitted), meter.read(at)))
            after = generation.clock() - got
            over = generation.cancel_if_asked()
            event_index = generation.round_index
            generation.round_index += 1
            following: _Pass | Choice | None = None
            if not over:
                following = self._choose(generation, policy)
                if following.lookahead:
                    following = self._queue(generation, rule, following.lookahead)
            timings = Timings(
                current.build_seconds,
                got - waited,
                after,
                current.proposal.prefill_seconds,
                current.draft_seconds,
                current.verify_seconds,
            )
            meter.leave()
            yield self._event(
                generation, rule, current, reading, emitted, (event_index, position, at), timings
            )
            meter.come_back()
            current = following
        return current

    def _queue(
        self, generation: Generation, rule: AcceptanceRule, wanted: int
    ) -> _Pass | Choice | None:
        """Build the guesses, the check and the verdict, and start them; or park for a round,
        with the reason. None when the reader wants no more.

        One guess fewer than there is room for: the check brings a token of its own.
        """
        built = generation.clock()
        context = generation.tokens
        owed = self.proposer.owed(context)
        lookahead = min(wanted, generation.answer.room - 1)
        try:
            proposal = self.proposer.propose(
                context, lookahead, generation.noise, generation.round_index
            )
        except Cancelled:  # while the draft read what it owed
            generation.answer.finish_reason = "cancelled"
            return None
        if proposal.count == 0 and proposal.note:
            return Choice(0, 1, proposal.note)
        drafted = self._edge(generation, proposal.tokens)
        known = context[self.target.length :]
        logits = self.target.extend(known, proposal.tokens if proposal.count else None)
        logits = logits[len(known) - 1 :]
        history = History(context, proposal.tokens if proposal.count else None)
        params = generation.request.sampling
        scores = scaled_scores(logits, params, history, generation.width)
        rows = TargetRows(scores, len(context))
        decision = rule.decide(rows, proposal, generation.noise, generation.round_index)
        readout = packed(decision, rows, proposal, generation.request.detail)
        mx.async_eval(readout)
        verified = self._edge(generation, readout)
        build = generation.clock() - built - proposal.prefill_seconds
        current = _Pass(readout, proposal, lookahead, len(context), build, owed)
        if self._profile:
            current.draft_seconds = drafted - built - proposal.prefill_seconds
            current.verify_seconds = verified - drafted
            current.build_seconds = 0.0
        return current

    def _edge(self, generation: Generation, done: mx.array) -> float:
        """The lane's time at the end of a phase, which a profile waits for."""
        if self._profile:
            mx.eval(done)
        return generation.clock()

    def _admit(
        self, generation: Generation, current: _Pass, reading: Reading
    ) -> tuple[Emitted, ...]:
        kept = reading.num_accepted
        kind = "accepted" if current.proposal.probs is not None else "copied"
        last = "bonus" if kept == current.proposal.count else "recovered"
        if current.proposal.count == 0:
            last = "sampled"
        return generation.answer.admit(
            [*reading.tokens[:kept], reading.next_token],
            [kind] * kept + [last],
            [*reading.margins[:kept], reading.next_margin],
        )

    def _commit(self, generation: Generation, current: _Pass, reading: Reading) -> None:
        """Take back, in both caches, what was guessed and not kept."""
        valid = current.verified + reading.num_accepted
        self.target.commit(generation.tokens, valid)
        self.proposer.commit(generation.tokens, valid)

    def _event(
        self,
        generation: Generation,
        rule: AcceptanceRule,
        current: _Pass,
        reading: Reading,
        emitted: tuple[Emitted, ...],
        place: tuple[int, int, float],
        timings: Timings,
    ) -> Round:
        piece = generation.answer.piece
        index, position, at = place
        texts = {token: piece(token) for token in reading.detail_tokens()}
        return Round(
            index=index,
            position=position,
            lookahead=current.lookahead,
            proposed=reading.proposed(tuple(piece(token) for token in reading.tokens)),
            checks=reading.checks(rule),
            num_accepted=reading.num_accepted,
            emitted=emitted,
            timings=timings,
            at=at,
            draft_top_probs=reading.top_probs,
            draft_entropies=reading.entropies,
            draft_tokens_read=current.proposal.tokens_read,
            note=current.proposal.note,
            detail=reading.row_details(texts),
        )


def _outcome(
    current: _Pass, reading: Reading, num_emitted: int, seconds: float | None
) -> RoundOutcome:
    """What a policy is told of a round; of a cut one (see ``metrics``) only what joined the text
    counts, and no seconds. A last round without room for a guess has none either: the plain
    loop's rounds are queued, this one was not."""
    kept, count = reading.num_accepted, current.proposal.count
    is_cut = num_emitted <= kept
    tested = num_emitted if is_cut else min(kept + 1, count)
    return RoundOutcome(
        lookahead=count,
        num_accepted=min(kept, num_emitted),
        num_tested=tested,
        num_emitted=num_emitted,
        context_length=current.verified,
        seconds=None if is_cut or count == 0 else seconds,
        owed_tokens=current.owed,
        catch_up_seconds=current.proposal.prefill_seconds,
    )
