"""SpeculativeDecoder: propose, verify, accept, rewind, emit; parks on the standard loop."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .acceptance import AcceptanceRule, TargetRows, rule_named
from .backend import mx, read_floats
from .distributions import History, scaled_scores
from .events import Emitted, Event, Round, Timings
from .forward import Cancelled, ModelRunner
from .generation import Generation
from .proposal import Proposal, Proposer
from .readout import Reading, packed, unpacked
from .standard import StandardDecoder, checked

__all__ = ["SpeculativeDecoder"]


@dataclass
class _Pass:
    """A round that was queued and not read yet."""

    readout: mx.array
    proposal: Proposal
    lookahead: int
    verified: int  # tokens of the context that the target had read when the guesses began
    build_seconds: float


class SpeculativeDecoder:
    """A proposer guesses, the target checks in one pass, the rule keeps what is the target's.

    Args:
        target: the model whose law the text follows, with its cache.
        proposer: where guesses come from.
    """

    def __init__(self, target: ModelRunner, proposer: Proposer) -> None:
        self.target = target
        self.proposer = proposer
        self.standard = StandardDecoder(target)

    def generate(self, generation: Generation) -> Iterator[Event]:
        """Prefilled, Round 0 (the prefill's own token), Round after Round, Finished.

        Nothing of the draft is built before the first token is handed out.
        """
        try:
            yield from generation.prefill(self.target)
            if generation.request.lookahead == 0:
                yield from self.standard.rounds(generation)
            else:
                yield from self.standard.rounds(generation, limit=1)
                if not generation.is_over:
                    yield from self._rounds(generation)
        except GeneratorExit:  # the reader walked away; what is queued was never committed
            self.target.rollback()
            self.proposer.rollback()
            raise
        except BaseException:  # a pass broke off: nothing that was read can be trusted
            self.target.drop()
            self.proposer.close()
            raise
        yield generation.finished()

    def _rounds(self, generation: Generation) -> Iterator[Round]:
        request = generation.request
        rule = rule_named(request.rule, request.sampling.temperature)
        if generation.cancel_if_asked():
            return
        self.proposer.begin(request, generation.width, generation.is_cancelled)
        current = self._queue(generation, rule)
        while isinstance(current, _Pass):
            waited = generation.clock()
            reading = unpacked(read_floats(current.readout), current.proposal, request.detail)
            got, at = generation.clock(), generation.at()
            checked(reading.health, self.target.loaded.name)
            checked(sum(reading.draft_probs or ()), self.proposer.name)
            position = len(generation.tokens)
            emitted = self._admit(generation, current, reading)
            self._commit(generation, current, reading)
            after = generation.clock() - got
            over = generation.cancel_if_asked()
            event_index = generation.round_index
            generation.round_index += 1
            following = "" if over else self._queue(generation, rule)
            timings = Timings(
                current.build_seconds, got - waited, after, current.proposal.prefill_seconds
            )
            yield self._event(
                generation, rule, current, reading, emitted, (event_index, position, at), timings
            )
            if over:
                return
            current = following
        yield from self.standard.rounds(generation, note=current)

    def _queue(self, generation: Generation, rule: AcceptanceRule) -> _Pass | str:
        """Build the guesses, the check and the verdict, and start them; or say why not.

        One guess fewer than there is room for: the check brings a token of its own.
        """
        built = generation.clock()
        context = generation.tokens
        lookahead = min(generation.request.lookahead, generation.answer.room - 1)
        try:
            proposal = self.proposer.propose(
                context, lookahead, generation.noise, generation.round_index
            )
        except Cancelled:  # while the draft read what it owed
            generation.answer.finish_reason = "cancelled"
            return ""
        if proposal.count == 0 and proposal.note:
            return proposal.note
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
        build = generation.clock() - built - proposal.prefill_seconds
        return _Pass(readout, proposal, lookahead, len(context), build)

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
