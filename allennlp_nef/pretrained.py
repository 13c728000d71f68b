"""Pretrained transformers and their tokenizers, from a folder or from huggingface.co."""

import hashlib
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.errors import summary_of

ENCODER_WEIGHTS_NAME = "model.safetensors"
"""In the folder of a pretrained transformer."""
_TOKENIZERS: WeakValueDictionary[bytes, Any] = WeakValueDictionary()
"""Those in use. A tokenizer of 250,000 pieces has 300 MB."""
_SHARED: WeakValueDictionary[tuple[torch.device, bytes], torch.Tensor] = WeakValueDictionary()


class TransformerError(ConfigurationError):
    """A transformer cannot be found or read."""


def load_tokenizer(model_name: str) -> Any:
    """The tokenizer of a transformer. Equal ones are one object: do not change it.

    # Raises

    `ConfigurationError`: it cannot be found or read, or it has no layout for pairs of sentences.
    """
    is_folder = os.path.isdir(model_name)
    return _cached(model_name, os.stat(model_name).st_mtime_ns if is_folder else None)


@lru_cache(maxsize=1)
def _cached(model_name: str, modified: int | None) -> Any:
    from transformers import AutoTokenizer

    with explaining(model_name):
        # Byte-level tokenizers (RoBERTa) have other pieces for a word that follows a blank; the rest ignore the option.
        tokenizer = AutoTokenizer.from_pretrained(
            model_name, add_prefix_space=True, trust_remote_code=False
        )
    if not tokenizer.num_special_tokens_to_add(pair=True):
        raise ConfigurationError(
            f"model_name: expected a transformer whose tokenizer joins two sentences, got {model_name!r}"
        )
    if not tokenizer.is_fast:
        return tokenizer
    return _TOKENIZERS.setdefault(_content_of(tokenizer), tokenizer)


def _content_of(tokenizer: Any) -> bytes:
    """A digest of what a tokenizer does: that of an archive has other files than the one that it was saved from."""
    names = tokenizer.model_max_length, tokenizer.model_input_names, tokenizer.special_tokens_map
    content = type(tokenizer), names, tokenizer.backend_tokenizer.to_str()
    return hashlib.sha256(repr(content).encode()).digest()


def load_transformer(model_name: str, load_weights: bool = True) -> Any:
    """The transformer, without the pooler of BERT. Without `load_weights` it has random weights.

    # Raises

    `ConfigurationError`: it cannot be found or read.
    """
    from transformers import AutoConfig, AutoModel

    with explaining(model_name):
        if load_weights:
            transformer = _with_all_weights(AutoModel, model_name)
        else:
            config = AutoConfig.from_pretrained(model_name, trust_remote_code=False)
            transformer = AutoModel.from_config(config)
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None  # its parameters would get no gradients
    return transformer


def _with_all_weights(kind: Any, model_name: str) -> Any:
    """A transformer with its weights. transformers' own report would name the pooler, which plays no part."""
    messages = logging.getLogger("transformers")
    level = messages.level
    messages.setLevel(logging.ERROR)
    try:
        transformer, report = kind.from_pretrained(
            model_name, trust_remote_code=False, output_loading_info=True
        )
    finally:
        messages.setLevel(level)
    missing = [name for name in report["missing_keys"] if not name.startswith("pooler.")]
    if missing:
        raise ValueError(f"it lacks {len(missing)} weights, such as {min(missing)}")
    return transformer


@contextmanager
def explaining(model_name: str) -> Iterator[None]:
    """A context whose errors say which option to change."""
    from safetensors import SafetensorError

    try:
        yield
    except (ImportError, KeyError, OSError, RuntimeError, SafetensorError, ValueError) as error:
        if isinstance(error, RuntimeError) and "mismatched" not in str(error):
            raise
        raise TransformerError(
            "model_name: expected the folder of a pretrained transformer, or the name of one that can be downloaded "
            f"from huggingface.co, got {model_name!r} ({summary_of(error)})"
        ) from error


def save_transformer(model_name: str, folder: str) -> None:
    """Writes a transformer with its weights, in the format safetensors, and its tokenizer.

    # Raises

    `ConfigurationError`: it cannot be found or read.
    """
    load_transformer(model_name).save_pretrained(folder, max_shard_size="1TB")  # one file
    load_tokenizer(model_name).save_pretrained(folder)


def layers_of(transformer: Any) -> torch.nn.ModuleList:
    """The layers of a transformer; an empty list where they share their weights."""
    lists = (module for module in transformer.modules() if isinstance(module, torch.nn.ModuleList))
    num_layers = transformer.config.num_hidden_layers
    return next((layers for layers in lists if len(layers) == num_layers), torch.nn.ModuleList())


def limit_of(transformer: torch.nn.Module) -> int | None:
    """The number of pieces that a transformer has positions for; None where it has no limit."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa's positions begin after that of padding.
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    return None


def digest_of(weight: torch.Tensor) -> bytes:
    """The SHA-256 of a weight, with its type and its shape."""
    digest = hashlib.sha256(f"{weight.dtype} {tuple(weight.shape)}".encode())
    digest.update(weight.detach().cpu().reshape(-1).view(torch.uint8).numpy().data)
    return digest.digest()


def share_weights(weights: Iterable[torch.nn.Parameter]) -> list[torch.Tensor]:
    """Lets weights that never change use the memory of equal ones on the same device, of any model of the process.

    Returns what holds the memory. Keep it as long as the weights: later ones share what is kept.
    """
    kept = []
    for weight in weights:
        tensor = _SHARED.setdefault((weight.device, digest_of(weight)), weight.data)
        weight.data = tensor
        kept.append(tensor)
    return kept
