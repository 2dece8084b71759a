"""How much this backend's logits depend on how many rows a pass has.

Kernels for one row and for many add up in another order, so the same token gets slightly other
scores. That is no fault, but it decides near-ties. It is measured on fresh caches that were never
rewound, fed with given tokens, on texts that the other checks do not use.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from ..backend import mx, read_floats
from ..errors import AuditStoppedError
from ..loaded import LoadedModel
from .context import AuditContext
from .report import CheckResult

__all__ = ["CEILINGS", "check_noise", "largest_difference"]

CEILINGS = {"float32": 2e-3, "float16": 1e-2, "bfloat16": 6e-2}
"""What the noise may be as a share of the largest score. float32 leaves room for products that a
GPU rounds to 10 bits; above it two passes over the same tokens do not agree on anything."""

_EPSILONS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
_SAFETY = 4.0  # other prefixes may be noisier than the ones measured
_LEAST_STEPS = 8.0  # and a backend that showed no noise may still round the last bits otherwise
_WIDTHS = (2, 3, 4, 5, 6, 9)
_TAIL = 24  # tokens of each text that are compared


@dataclass(frozen=True, slots=True)
class _Measured:
    noise: float
    largest: float
    dtype: str

    @property
    def allowed(self) -> float:
        return max(_SAFETY * self.noise, _LEAST_STEPS * _EPSILONS[self.dtype] * self.largest)

    @property
    def ceiling(self) -> float:
        return CEILINGS[self.dtype] * self.largest


def largest_difference(one: mx.array, other: mx.array) -> float:
    """The largest difference of two arrays of logits, in float32; inf where one is no number.

    Padding at -inf in both counts as equal.
    """
    first, second = one.astype(mx.float32), other.astype(mx.float32)
    gaps = mx.where(first == second, 0.0, mx.abs(first - second))
    value = read_floats(mx.max(gaps)[None])[0]
    return value if value == value else float("inf")


def _largest(logits: mx.array) -> float:
    finite = mx.where(mx.isinf(logits), 0.0, mx.abs(logits))  # some models mask their padding
    return read_floats(mx.max(finite.astype(mx.float32))[None])[0]


def check_noise(context: AuditContext) -> Generator[float, None, CheckResult]:
    """Measure both models and allow the other checks a multiple of it.

    Raises:
        AuditStoppedError: above the ceiling: differences of any size would pass as noise.
    """
    target = yield from _measured(context, context.pair.target)
    draft = yield from _measured(context, context.draft)
    context.target_allowed, context.draft_allowed = target.allowed, draft.allowed
    for name, found in ((context.pair.target.name, target), (context.draft.name, draft)):
        if not found.noise <= found.ceiling:
            raise AuditStoppedError(
                f"A pass of {name} over several rows and passes over one row differ by "
                f"{found.noise:.2g} on fresh caches; for {found.dtype} at most "
                f"{found.ceiling:.2g} can be rounding.",
                "The model's wide passes are wrong on this backend (attention mask or "
                "positions): try another version of MLX, or another model.",
            )
    return CheckResult(
        "noise",
        "Rounding noise of this backend",
        True,
        f"{target.noise:.2g} in logits up to {target.largest:.0f}",
        f"at most {target.ceiling:.2g} ({target.dtype})",
        note=f"from here on logits may differ by {target.allowed:.2g}, the draft's by "
        f"{draft.allowed:.2g}",
        values={
            "noise": target.noise,
            "ceiling": target.ceiling,
            "allowed": target.allowed,
            "draft_noise": draft.noise,
            "draft_allowed": draft.allowed,
        },
    )


def _measured(context: AuditContext, model: LoadedModel) -> Generator[float, None, _Measured]:
    """One row a pass against many rows a pass, over the tails of the texts kept for it."""
    noise = largest = 0.0
    dtype = ""
    for prompt in context.prompts(context.size.noise_prompts, room=2):
        begin = max(len(prompt.tokens) - _TAIL, 1)
        single = context.fresh(model)
        single.prefill(prompt.tokens, begin)
        rows = [single.extend([token]) for token in prompt.tokens[begin:]]
        mx.eval(rows)
        yield float(len(rows))
        reference = mx.concatenate(rows)
        dtype = str(reference.dtype).rpartition(".")[2]
        largest = max(largest, _largest(reference[:, : context.width]))
        for width in _WIDTHS:
            start = begin + (width * 2) % max(len(rows) - width, 1)
            if start + width > len(prompt.tokens):
                continue
            wide = context.fresh(model)
            wide.prefill(prompt.tokens, start)
            logits = wide.extend(prompt.tokens[start : start + width])
            expected = reference[start - begin : start - begin + width]
            noise = max(noise, largest_difference(logits, expected))
            yield 1.0
    return _Measured(noise, largest, dtype if dtype in CEILINGS else "float32")
