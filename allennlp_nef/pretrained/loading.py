"""Loads pretrained transformers and their tokenizers, freezes layers, and leaves frozen weights out of checkpoints."""

import hashlib
import sys
from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.pretrained import multilingual_e5

if TYPE_CHECKING:  # importing transformers takes a second
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TRANSFORMER_FOLDER = "transformer"  # of an archive; written by the `save_transformer` callback
WEIGHTS_NAME = "model.safetensors"


@lru_cache(maxsize=1)
def load_tokenizer(model_name: str) -> "PreTrainedTokenizerBase":
    """Returns the fast tokenizer of a pretrained transformer. The last one is cached and shared.

    # Raises

    `ConfigurationError`: the tokenizer cannot be loaded, or is slow.
    """
    if model_name == multilingual_e5.NAME:
        return multilingual_e5.load_tokenizer()
    from transformers import AutoTokenizer

    # Byte-level tokenizers (RoBERTa) distinguish words that follow a blank; others ignore the option.
    tokenizer = load_pretrained(AutoTokenizer, model_name, add_prefix_space=True)
    if not tokenizer.is_fast:
        raise ConfigurationError(f"model_name: {model_name} has no fast tokenizer (tokenizer.json)")
    return tokenizer


def load_pretrained(auto_class: Any, model_name: str, **options: Any) -> Any:
    """Calls `from_pretrained` on a transformers auto class; raises a `ConfigurationError` if nothing is found. Only
    downloads show progress bars.
    """
    from huggingface_hub.utils import enable_progress_bars
    from transformers.utils import logging

    _check_available(model_name)
    shows_bars = logging.is_progress_bar_enabled()
    if shows_bars:
        logging.disable_progress_bar()  # also of downloads
        enable_progress_bars()
    try:
        return auto_class.from_pretrained(model_name, trust_remote_code=False, **options)
    except (OSError, ValueError) as error:
        raise _cannot_load(model_name, error) from error
    finally:
        if shows_bars:
            logging.enable_progress_bar()


def _check_available(model_name: str) -> None:
    """Raises a `ConfigurationError` if there is no such folder, nothing in the cache, and nothing on huggingface.co.
    `from_pretrained` would keep retrying an unreachable server.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache

    if Path(model_name).is_dir():
        return
    try:
        if try_to_load_from_cache(model_name, "config.json") is None:
            HfApi().model_info(model_name, timeout=10)
    except Exception as error:  # of the HTTP library, which depends on the version
        raise _cannot_load(model_name, f"no such folder; huggingface.co: {error}") from error


def _cannot_load(model_name: str, reason: object) -> ConfigurationError:
    first_line = str(reason).strip().partition("\n")[0]
    return ConfigurationError(f"model_name: cannot load {model_name!r}: {first_line}")


def archived_transformer(extras: Mapping[str, Any]) -> Path | None:
    """Returns the `transformer` folder of the archive being loaded, given the extras of `from_params`.

    None for archives without such a folder, and in training, where the folder may be left over from a run that is being
    recovered. Training is recognized by `local_rank`, which `allennlp train` passes.
    """
    if "serialization_dir" not in extras or "local_rank" in extras:
        return None
    folder = Path(extras["serialization_dir"], TRANSFORMER_FOLDER)
    return folder if folder.is_dir() else None


def load_transformer(
    model_name: str, load_weights: bool = True, four_bits: bool = False
) -> "PreTrainedModel":
    """Loads a pretrained transformer without BERT's pooler, whose weights would get no gradients.

    With `four_bits`, the embeddings of `multilingual-e5-small` stay in 4 bits. Raises `ConfigurationError` if nothing
    is found under `model_name`.
    """
    if model_name == multilingual_e5.NAME:
        return multilingual_e5.load_model(load_weights, four_bits)
    from transformers import AutoConfig, AutoModel

    if load_weights:
        transformer = load_pretrained(AutoModel, model_name)
    else:
        transformer = AutoModel.from_config(load_pretrained(AutoConfig, model_name))
    if getattr(transformer, "pooler", None) is not None:
        transformer.pooler = None
    return transformer


def limit_of(transformer: "PreTrainedModel") -> int:
    """Returns the maximum number of pieces that a transformer has positions for."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # In RoBERTa, positions start after the padding index.
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    return sys.maxsize  # relative positions


def freeze(transformer: "PreTrainedModel", num_layers: int | None) -> None:
    """Freezes the embeddings and the first `num_layers` layers of a transformer; None freezes all layers."""
    transformer.requires_grad_(False)
    if num_layers is None:
        return
    total = transformer.config.num_hidden_layers
    lists = [m for m in transformer.modules() if isinstance(m, torch.nn.ModuleList)]
    layers = next((layers for layers in lists if len(layers) == total), None)
    if layers is None or not 0 <= num_layers <= total:
        raise ConfigurationError(
            f"frozen_layers: the transformer has no {num_layers} of {total} layers"
        )
    for layer in layers[num_layers:]:
        layer.requires_grad_(True)


def leave_out_frozen_weights(module: torch.nn.Module) -> None:
    """Replaces frozen weights with a checksum in the state dicts of a module, and verifies it on loading."""
    state = module.state_dict()
    trained = {name for name, weight in module.named_parameters() if weight.requires_grad}
    frozen = sorted(state.keys() - trained)
    digest = hashlib.sha256()
    for name in frozen:
        weight = state[name].cpu().contiguous()
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        digest.update(weight.view(torch.uint8).numpy().data)
    checksum = torch.tensor(list(digest.digest()), dtype=torch.uint8)

    def leave_out(module: torch.nn.Module, state: dict[str, Any], prefix: str, _: Any) -> None:
        for name in frozen:
            del state[prefix + name]
        state[f"{prefix}checksum"] = checksum

    def put_back(module: torch.nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
        if not torch.equal(state.pop(f"{prefix}checksum").cpu(), checksum):
            raise ConfigurationError(
                f"model_name: {module.model_name!r} does not have the weights the model was trained with"
            )
        for name in frozen:
            state[prefix + name] = attrgetter(name)(module).detach()

    module.register_state_dict_post_hook(leave_out)
    module.register_load_state_dict_pre_hook(put_back)
