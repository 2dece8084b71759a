"""The formats that mlx_lm.convert stores weights in, what they weigh, and the command for each.

Bits and group sizes as mx.quantize has them: the floating formats know one group size each, with
one 8-bit scale a group; affine groups carry a 16-bit scale and a 16-bit bias.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..model_spec import ModelSpec

__all__ = ["AFFINE_4", "FORMATS", "WeightFormat", "convert_command", "stored_format"]

_AFFINE_GROUP_BITS, _FLOAT_GROUP_BITS = 32, 8


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """How weights lie in memory: ``mode`` of mx.quantize, bits each, weights that share a scale.

    Mode ``dense`` is none of them: float32 in memory, on a CPU.
    """

    mode: str
    bits: int
    group_size: int

    @property
    def label(self) -> str:
        """``affine 4-bit, groups of 64``; ``mxfp4``; ``float32``."""
        if self.mode == "dense":
            return f"float{self.bits}"
        if self.mode != "affine":
            return self.mode
        return f"affine {self.bits}-bit, groups of {self.group_size}"

    @property
    def short(self) -> str:
        """The label without the words: ``affine 4-bit g64``."""
        return self.label.replace(", groups of ", " g")

    @property
    def bits_per_weight(self) -> float:
        """Scales and biases included: 4.5 for affine 4-bit in groups of 64."""
        if self.mode == "dense":
            return float(self.bits)
        extra = _AFFINE_GROUP_BITS if self.mode == "affine" else _FLOAT_GROUP_BITS
        return self.bits + extra / self.group_size

    def weight_bytes(self, spec: ModelSpec) -> int:
        """Bytes of a model's weights in this format; 0 when their number is not known."""
        return int(spec.params * self.bits_per_weight / 8)


AFFINE_4 = WeightFormat("affine", 4, 64)
FORMATS = (
    AFFINE_4,
    WeightFormat("affine", 4, 32),
    WeightFormat("affine", 8, 64),
    WeightFormat("mxfp4", 4, 32),
    WeightFormat("nvfp4", 4, 16),
)


def stored_format(spec: ModelSpec, mode: str = "affine") -> WeightFormat:
    """The format of a model's stored weights; unquantised ones are 16-bit."""
    if not 0 < spec.bits < 16 or spec.group_size <= 0:
        return WeightFormat("dense", 16, 0)
    return WeightFormat(mode, spec.bits, spec.group_size)


def convert_command(spec: ModelSpec, weights: WeightFormat) -> str:
    """The command that makes this format of a model, with the flags of mlx-lm 0.32.

    Its source is the maker's own, unquantised repository: a second rounding would cost quality.
    """
    original = _original(spec)
    name = original.rpartition("/")[2]
    size = "" if weights.mode != "affine" else f"-{weights.bits}bit-g{weights.group_size}"
    folder = f"{name}-{weights.mode}{size}"
    details = ""
    if weights.mode == "affine":
        details = f" --q-bits {weights.bits} --q-group-size {weights.group_size}"
    return (
        f"mlx_lm.convert --hf-path {original} --mlx-path {folder} "
        f"-q --q-mode {weights.mode}{details}"
    )


def _original(spec: ModelSpec) -> str:
    """The repository that a conversion was made from, as far as its name tells."""
    name = spec.repo.rpartition("/")[2]
    base = name.rpartition("-")[0] if name.lower().endswith("bit") else name
    if base.startswith("Qwen"):
        return f"Qwen/{base}"
    return f"ORG/{base or 'MODEL'}"
