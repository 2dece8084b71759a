"""What every figure means, once: the same words stand in ``--help``, the README and the app."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DEFINITIONS", "Definition"]


@dataclass(frozen=True, slots=True)
class Definition:
    """What one figure means: a short ``label``, a sentence, the formula, and who defined it."""

    name: str
    label: str
    definition: str
    formula: str = ""
    paper: str = ""


_LEVIATHAN = "Leviathan et al. 2023"
_TABLE = (
    ("prompt_tokens", "prompt", "Tokens of the prompt, chat template included."),
    ("emitted_tokens", "tokens", "Tokens of the answer, after end tokens, stops and limits."),
    ("finish_reason", "ended by", "stop, stop_string, length, context, cancelled or failed."),
    (
        "tokens_per_second",
        "tokens/s",
        "Speed of decoding: tokens after the first, by the lane's seconds since the first.",
        "(emitted_tokens - 1) / seconds since the first token",
    ),
    (
        "end_to_end_seconds",
        "in all",
        "From the request to the end of the answer, prompt and draft prefill included.",
    ),
    ("ttft_seconds", "first token", "From the request to the first token (pooled: the median)."),
    ("target_passes", "passes", "Passes of the target after the one that read the prompt."),
    (
        "tokens_per_target_pass",
        "per pass",
        "Tokens that one pass of the target yields; plain decoding has 1.",
        "(emitted_tokens - 1) / target_passes",
        f"{_LEVIATHAN}: (1 - a^(g+1)) / (1 - a)",
    ),
    ("proposed", "proposed", "Tokens that the draft proposed."),
    (
        "tested",
        "tested",
        "Proposed tokens that were reached: kept, or the first miss. A guess after a miss was "
        "never tested; nor was what the end of the answer cut off.",
    ),
    ("accepted", "accepted", "Proposed tokens that were kept and are in the text."),
    (
        "acceptance_rate",
        "acceptance",
        "How often a tested token is kept. Empty, not 0 %, where nothing was tested.",
        "accepted / tested",
        f"{_LEVIATHAN}: alpha",
    ),
    (
        "accepted_per_proposed",
        "of proposed",
        "Kept by proposed: what vLLM and llama.cpp call the acceptance rate. It falls with the "
        "lookahead even where the draft is as good.",
        "accepted / proposed",
    ),
    (
        "draft_share",
        "draft's share",
        "The part of the text that the draft wrote.",
        "accepted / emitted_tokens",
    ),
    (
        "acceptance_by_position",
        "by position",
        "For each place in a proposal: how often it was kept once it was reached, with counts.",
        "accepted at i / tested at i",
    ),
    (
        "mean_accepted_length",
        "kept a round",
        "Proposed tokens kept in a round that proposed any; the target's own token not counted.",
        "accepted / rounds with a proposal",
    ),
    (
        "rounds_by_kind",
        "rounds",
        "Target passes: plain (nothing proposed), missed (a miss), full (all kept), cut (the "
        "answer ended inside).",
    ),
    (
        "inter_token_seconds",
        "between tokens",
        "Gap between two tokens' arrivals, p50, p95, p99. Tokens of one pass arrive together, "
        "so most gaps are 0 with speculation: read it beside step_seconds.",
    ),
    ("step_seconds", "step", "Gap between two passes of the target, p50, p95, p99."),
    (
        "draft_prefill_seconds",
        "draft prefill",
        "Seconds that the draft took to read the prompt itself, in its first round.",
    ),
    ("peak_memory_bytes", "peak memory", "Most device memory held at once; 0 if unknown."),
    (
        "speedup",
        "speedup",
        "How many times as fast as plain decoding, same prompt, same run, after the first token.",
        "plain seconds per token / speculative seconds per token",
        _LEVIATHAN,
    ),
    (
        "end_to_end_speedup",
        "speedup in all",
        "The same, from the request on: both prefills included.",
        "plain end_to_end_seconds per token / speculative end_to_end_seconds per token",
    ),
)
DEFINITIONS: dict[str, Definition] = {row[0]: Definition(*row) for row in _TABLE}
