"""A trained model as a folder in mlx-lm's layout: 4-bit weights, config and tokenizer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .network import Qwen3, Shape
from .quantization import BITS, GROUP_SIZE

import mlx.core as mx
import numpy as np
import torch
from torch import Tensor

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "chat_template.jinja",
    "generation_config.json",
)


def write(model: Qwen3, tokenizer: Path, folder: Path) -> None:
    """Quantise every matrix to 4 bits with float16 scales and write the whole folder."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, mx.array] = {}
    for name, parameter in model.named_parameters():
        weight = mx.array(parameter.detach().float().numpy())
        if weight.ndim == 2:
            stem = name.removesuffix(".weight")
            codes, scales, biases = mx.quantize(weight, group_size=GROUP_SIZE, bits=BITS)
            arrays[name] = codes
            arrays[f"{stem}.scales"] = scales.astype(mx.float16)
            arrays[f"{stem}.biases"] = biases.astype(mx.float16)
        else:
            arrays[name] = weight.astype(mx.float16)
    mx.save_safetensors(str(folder / "model.safetensors"), arrays, metadata={"format": "mlx"})
    for file in TOKENIZER_FILES:
        shutil.copyfile(tokenizer / file, folder / file)
    (folder / "config.json").write_text(
        json.dumps(_config(model.shape, tokenizer), indent=2) + "\n"
    )


def _config(shape: Shape, tokenizer: Path) -> dict[str, object]:
    """config.json: the shape, the end tokens and the quantisation."""
    ends = json.loads((tokenizer / "generation_config.json").read_text())["eos_token_id"]
    quantization = {"group_size": GROUP_SIZE, "bits": BITS}
    return {
        **shape.config(),
        "eos_token_id": ends,
        "torch_dtype": "float16",
        "quantization": quantization,
    }


def read(folder: Path) -> Qwen3:
    """The model in a folder, expanded to float32: exactly what ships."""
    config = json.loads((folder / "config.json").read_text())
    model = Qwen3(Shape(**{name: config[name] for name in Shape.__dataclass_fields__}))
    model.load_state_dict(_expanded(folder / "model.safetensors"))
    return model.eval().requires_grad_(False)


def _expanded(path: Path) -> dict[str, Tensor]:
    """Every weight of a 4-bit file in float32."""
    arrays = mx.load(str(path))
    weights: dict[str, Tensor] = {}
    for name, array in arrays.items():
        stem = name.removesuffix(".weight")
        if not name.endswith(".weight"):
            continue
        if f"{stem}.scales" in arrays:
            scales = arrays[f"{stem}.scales"].astype(mx.float32)
            biases = arrays[f"{stem}.biases"].astype(mx.float32)
            array = mx.dequantize(array, scales, biases, group_size=GROUP_SIZE, bits=BITS)
        weights[name] = torch.from_numpy(np.array(array.astype(mx.float32)))
    return weights
