"""Tiny random models and a tokenizer made in memory: no files, no network, the same every time."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from mlx_specdec.architecture import architecture_of
from mlx_specdec.backend import mx, nn, tree_flatten
from mlx_specdec.loaded import LoadedModel, Pair

import numpy as np

EOS_TEXT = "<|im_end|>"
SPECIAL_TEXTS = ("<|endoftext|>", "<|im_start|>", EOS_TEXT)
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def toy_config(
    vocab: int = 64,
    layers: int = 2,
    hidden: int = 32,
    heads: int = 2,
    head_dim: int = 16,
    context: int = 4096,
    tie: bool = False,
) -> dict[str, Any]:
    return {
        "model_type": "qwen3",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "intermediate_size": 2 * hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "rms_norm_eps": 1e-6,
        "vocab_size": vocab,
        "max_position_embeddings": context,
        "head_dim": head_dim,
        "tie_word_embeddings": tie,
        "rope_theta": 10000.0,
    }


def _empty_model(config: dict[str, Any]) -> Any:
    from mlx_lm.models.qwen3 import Model, ModelArgs

    return Model(ModelArgs.from_dict(config))


def _parameters(model: Any) -> list[tuple[str, mx.array]]:
    return list(dict(tree_flatten(model.parameters())).items())


def _loaded(model: Any, config: dict[str, Any], name: str) -> LoadedModel:
    parameters = _parameters(model)
    mx.eval([value for _, value in parameters])
    model.eval()
    shape = architecture_of(config)
    return LoadedModel(
        model=model,
        config=config,
        path=None,
        name=name,
        vocab_width=shape.vocab_size,
        num_layers=shape.num_layers,
        context_length=shape.context_length,
        weight_bytes=sum(value.nbytes for _, value in parameters),
        quantisation="float32",
        kv_bytes_per_token=shape.kv_bytes_per_token(4),
        head_dim=shape.head_dim,
    )


def toy_model(
    vocab: int = 64,
    layers: int = 2,
    seed: int = 0,
    hidden: int = 32,
    heads: int = 2,
    head_dim: int = 16,
    lm_head_scale: float = 20,
    context: int = 4096,
    tie: bool = False,
) -> LoadedModel:
    """A random Qwen3 in float32. A large ``lm_head_scale`` keeps the best two scores apart.

    With ``tie`` the head is the embedding, and the final norm is scaled instead.
    """
    config = toy_config(vocab, layers, hidden, heads, head_dim, context, tie)
    model = _empty_model(config)
    noise = np.random.default_rng(seed)
    weights = []
    for name, value in _parameters(model):
        if name.endswith("norm.weight"):
            array = np.ones(value.shape)
        elif name.endswith("embed_tokens.weight"):
            array = noise.normal(0, hidden**-0.5, value.shape)
        else:
            limit = value.shape[-1] ** -0.5
            array = noise.uniform(-limit, limit, value.shape)
        if name == ("model.norm.weight" if tie else "lm_head.weight"):
            array = array * lm_head_scale
        weights.append((name, mx.array(array.astype(np.float32))))
    model.load_weights(weights)
    return _loaded(model, config, f"toy-{vocab}-{seed}")


def perturbed(loaded: LoadedModel, amount: float = 0.15, seed: int = 1) -> LoadedModel:
    """The same model with noise of ``amount`` times each weight's spread: a so-so draft."""
    model = _empty_model(loaded.config)
    noise = np.random.default_rng(seed)
    weights = []
    for name, value in _parameters(loaded.model):
        array = np.array(value)
        spread = float(array.std())
        array = array + noise.normal(0, amount * spread if spread else 0.0, array.shape)
        weights.append((name, mx.array(array.astype(np.float32))))
    model.load_weights(weights)
    return _loaded(model, loaded.config, f"{loaded.name}-perturbed")


def widened(loaded: LoadedModel, vocab: int, seed: int = 2, scale: float = 1.0) -> LoadedModel:
    """The same model with the vocabulary padded to ``vocab`` rows of noise.

    A large ``scale`` makes the padding win wherever it is not masked.
    """
    config = {**loaded.config, "vocab_size": vocab}
    model = _empty_model(config)
    noise = np.random.default_rng(seed)
    weights = []
    for name, value in _parameters(loaded.model):
        array = np.array(value)
        if name.endswith(("embed_tokens.weight", "lm_head.weight")):
            extra = noise.normal(
                0, scale * float(array.std()), (vocab - array.shape[0], array.shape[1])
            )
            array = np.concatenate([array, extra.astype(np.float32)])
        weights.append((name, mx.array(array)))
    model.load_weights(weights)
    return _loaded(model, config, f"{loaded.name}-padded")


class _Wrapper:
    """Stands in for a model; whatever it does not define is the model's."""

    def __init__(self, loaded: LoadedModel) -> None:
        self._inner: Any = loaded.model
        self.loaded = dataclasses.replace(loaded, model=self)

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        logits: mx.array = self._inner(inputs, cache=cache)
        return logits

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_inner":
            raise AttributeError(name)
        return getattr(self._inner, name)


class CountingModel(_Wrapper):
    """Counts passes and rows and keeps what was fed. Use ``.loaded`` in the model's place."""

    def __init__(self, loaded: LoadedModel) -> None:
        super().__init__(loaded)
        self.rows_per_forward: list[int] = []
        self._inputs: list[mx.array] = []

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self.rows_per_forward.append(int(inputs.shape[1]))
        self._inputs.append(inputs)
        return super().__call__(inputs, cache)

    @property
    def forwards(self) -> int:
        return len(self.rows_per_forward)

    @property
    def rows(self) -> int:
        return sum(self.rows_per_forward)

    def fed(self) -> list[list[int]]:
        """The token ids of each pass. Reads from the device: ask after the run."""
        rows: list[list[int]] = [inputs[0].tolist() for inputs in self._inputs]  # type: ignore[misc]
        return rows

    def reset(self) -> None:
        self.rows_per_forward.clear()
        self._inputs.clear()


class ForwardFailure(RuntimeError):
    """What RaisingModel raises unless told otherwise."""


class RaisingModel(_Wrapper):
    """Raises on pass number ``at`` (from 1), once; with ``after`` the cache has already grown."""

    def __init__(
        self,
        loaded: LoadedModel,
        at: int,
        error: type[BaseException] = ForwardFailure,
        after: bool = False,
    ) -> None:
        super().__init__(loaded)
        self._at = at
        self._error = error
        self._after = after
        self.forwards = 0

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        self.forwards += 1
        due = self.forwards == self._at
        if due and not self._after:
            raise self._error(f"pass {self._at}")
        logits = super().__call__(inputs, cache)
        if due:
            raise self._error(f"pass {self._at}")
        return logits


class NoisyWideModel(_Wrapper):
    """Adds keyed noise to the logits whenever more than one row is fed, as other kernels would."""

    def __init__(self, loaded: LoadedModel, amount: float = 0.05, seed: int = 0) -> None:
        super().__init__(loaded)
        self._amount = amount
        self._seed = seed
        self._wide_passes = 0

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        logits = super().__call__(inputs, cache)
        if inputs.shape[1] == 1:
            return logits
        self._wide_passes += 1
        key = mx.random.key(self._seed * 1_000_003 + self._wide_passes)
        return logits + self._amount * mx.random.normal(logits.shape, key=key)


class RoundingWideModel(_Wrapper):
    """Stands in for a GPU: bfloat16 logits, and passes over several rows round otherwise.

    The same pass (rows, ids, place) rounds the same way every time, as a kernel does.
    """

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        place = int(cache[0].offset)
        logits = super().__call__(inputs, cache)
        rows = inputs.shape[1]
        if rows > 1:
            ids = inputs[0].astype(mx.uint32)
            mixed = mx.sum(ids * (mx.arange(rows, dtype=mx.uint32) + 1) * 2_654_435_761)
            key = mx.stack([mixed.astype(mx.uint32), mx.array(place, dtype=mx.uint32)])
            steps = mx.random.normal(logits.shape, key=key)
            logits = logits * (1 + 2.0**-8 * steps)
        return logits.astype(mx.bfloat16)


class WrongWidthModel(_Wrapper):
    """Wide passes are off: their rows see one token more than they should.

    Args:
        widths: of the passes that are wrong.
    """

    def __init__(self, loaded: LoadedModel, widths: tuple[int, ...]) -> None:
        super().__init__(loaded)
        self._widths = widths

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        logits = super().__call__(inputs, cache)
        if inputs.shape[1] not in self._widths:
            return logits
        return mx.concatenate([logits[:, 1:], logits[:, -1:]], axis=1)


def toy_tokenizer(
    size: int = 270,
    swap: tuple[int, int] | None = None,
    extra: tuple[str, ...] = (),
    specials: tuple[str, ...] = SPECIAL_TEXTS,
) -> Any:
    """A byte-level BPE of ``size`` entries, wrapped as mlx-lm wraps one with such a decoder.

    Ids: 256 bytes, then merges, then ``specials``, then ``extra`` added tokens beyond ``size``.
    ``swap`` exchanges the texts of two ids.
    """
    from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = sorted(pre_tokenizers.ByteLevel.alphabet())
    parts: tuple[str, ...]
    parts = ("t h", "h e", "i n", "a n", "th e", "Ġ the", "r e", "o n", "e r", "Ġ a", "an d")
    parts += ("Ġ and", "in g", "Ġ t", "o r", "Ġ o", "e s", "Ġ s", "Ġ w", "o u", "Ġ i")
    num_merges = size - len(words) - len(specials)
    if not 0 <= num_merges <= len(parts):
        raise ValueError(f"size {size}: {256 + len(specials)} to {277 + len(specials)}")
    merges = [(left, right) for left, right in map(str.split, parts[:num_merges])]
    words += [left + right for left, right in merges]
    if swap is not None:
        first, second = swap
        words[first], words[second] = words[second], words[first]
    vocab = {word: index for index, word in enumerate(words)}
    core = Tokenizer(models.BPE(vocab=vocab, merges=merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.add_special_tokens([AddedToken(text, special=True) for text in specials])
    if extra:
        core.add_tokens([AddedToken(text) for text in extra])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token=specials[-1],
        pad_token=specials[0],
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    return TokenizerWrapper(fast, BPEStreamingDetokenizer)


def toy_pair(target: LoadedModel, draft: LoadedModel | None = None, tokenizer: Any = None) -> Pair:
    """A Pair over toys; without a tokenizer one that fits the target's width is made."""
    if tokenizer is None:
        tokenizer = toy_tokenizer(min(280, target.vocab_width))
    ids = tokenizer.get_vocab().values()
    return Pair(
        target=target,
        draft=draft,
        tokenizer=tokenizer,
        eos_token_ids=frozenset(tokenizer.eos_token_ids),
        tokenizer_width=1 + max(ids),
    )


def save_toy(
    folder: Path,
    loaded: LoadedModel,
    tokenizer: Any = None,
    bits: int | None = None,
    group_size: int = 32,
    dtype: mx.Dtype | None = None,
    **config: Any,
) -> Path:
    """Write the folder that mlx-lm would: config, weights (quantised with ``bits``), tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    model = _empty_model(loaded.config)
    model.load_weights(_parameters(loaded.model))
    if dtype is not None:
        model.set_dtype(dtype)
    saved = {**loaded.config, **config}
    if bits is not None:
        quantize: Any = vars(nn)["quantize"]
        quantize(model, group_size=group_size, bits=bits)
        saved["quantization"] = {"group_size": group_size, "bits": bits, "mode": "affine"}
    mx.save_safetensors(
        str(folder / "model.safetensors"), dict(_parameters(model)), metadata={"format": "mlx"}
    )
    (folder / "config.json").write_text(json.dumps(saved))
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    return folder
