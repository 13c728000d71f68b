"""Loads pretrained encoders and their tokenizers, freezes layers, and leaves frozen weights out of checkpoints."""

import hashlib
import sys
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from allennlp.common.checks import ConfigurationError
from torch import Tensor

from allennlp_nef.pretrained import multilingual_e5

if TYPE_CHECKING:  # importing transformers takes seconds
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel

TRANSFORMER_FOLDER = "transformer"  # of an archive; written by the `save_transformer` callback
WEIGHTS_NAME = "model.safetensors"


class HubEncoder(torch.nn.Module):
    """A pretrained transformer of the library transformers. Packaged encoders have the same attributes and call.

    # Parameters

    model : `PreTrainedModel`

    # Attributes

    dim : `int`
        The dimension of the states.
    max_length : `int`
        The maximum number of pieces.
    layers : `torch.nn.ModuleList`
    digest : `bytes`, or `None` if it must be computed
        A checksum of the weights.
    """

    digest: bytes | None = None

    def __init__(self, model: "PreTrainedModel") -> None:
        super().__init__()
        self.model: Any = model
        self.dim: int = model.config.hidden_size
        self.max_length = limit_of(model)

    @property
    def layers(self) -> torch.nn.ModuleList:
        total = self.model.config.num_hidden_layers
        lists = (each for each in self.modules() if isinstance(each, torch.nn.ModuleList))
        return next(each for each in lists if len(each) == total)

    def forward(
        self, ids: Tensor, is_piece: Tensor, types: Tensor, layer: int | None = None
    ) -> Tensor:
        """Returns the states of the last layer, (batch, pieces, dim), followed by those of `layer`.

        # Parameters

        ids : `Tensor`, (batch, pieces)
            The pieces, including special tokens.
        is_piece : `Tensor`, bool, (batch, pieces)
            False for padding.
        types : `Tensor`, (batch, pieces)
            The number of the sentence that a piece belongs to, for encoders that need it.
        layer : `int`, optional (default = `None`)
            0 for the embeddings. The result then has twice the dimension.
        """
        inputs = {"input_ids": ids, "attention_mask": is_piece.long()}
        if getattr(self.model.config, "type_vocab_size", 0) > 1:
            inputs["token_type_ids"] = types
        output = self.model(**inputs, output_hidden_states=layer is not None)
        states: Tensor = output.last_hidden_state
        return states if layer is None else torch.cat([states, output.hidden_states[layer]], dim=-1)


Encoder = HubEncoder | multilingual_e5.MultilingualE5
PACKAGED: dict[str, Any] = {multilingual_e5.NAME: multilingual_e5}
"""By name, the modules of the encoders that Python packages contain: their `load_encoder` and `load_tokenizer`, and the
codes of their `LANGUAGES`."""


@lru_cache(maxsize=1)
def load_tokenizer(model_name: str) -> "Tokenizer":
    """Returns the tokenizer of a pretrained encoder. The last one is cached and shared.

    # Raises

    `ConfigurationError`: the tokenizer cannot be loaded, or is slow. `UserError`: a package is missing or damaged.
    """
    if model_name in PACKAGED:
        packaged: Tokenizer = PACKAGED[model_name].load_tokenizer()
        return packaged
    tokenizer: Tokenizer = load_hub_tokenizer(model_name).backend_tokenizer
    # Some models save these options of their training.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def load_hub_tokenizer(model_name: str) -> Any:
    """Returns the fast tokenizer of transformers with this name. Raises a `ConfigurationError` if there is none."""
    from transformers import AutoTokenizer

    # Byte-level tokenizers (RoBERTa) distinguish words that follow a blank; others ignore the option.
    tokenizer = load_pretrained(AutoTokenizer, model_name, add_prefix_space=True)
    if not tokenizer.is_fast:
        raise ConfigurationError(f"model_name: {model_name} has no fast tokenizer (tokenizer.json)")
    return tokenizer


def unknown_piece(tokenizer: "Tokenizer") -> int:
    """Returns the id of the piece that stands for unknown characters."""
    pieces = tokenizer.model.tokenize("\U0010fffd")  # for private use
    return int(pieces[0].id) if pieces else 0


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


def load_encoder(model_name: str, load_weights: bool = True, four_bits: bool = False) -> Encoder:
    """Loads a pretrained encoder, without BERT's pooler, whose weights would get no gradients.

    With `four_bits`, the embeddings of a packaged encoder stay in 4 bits. Raises the errors of `load_tokenizer`.
    """
    if model_name in PACKAGED:
        packaged: Encoder = PACKAGED[model_name].load_encoder(four_bits)
        return packaged
    from transformers import AutoConfig, AutoModel

    if load_weights:
        model = load_pretrained(AutoModel, model_name)
    else:
        model = AutoModel.from_config(load_pretrained(AutoConfig, model_name))
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    # From a folder without tokenizer files, transformers loads a tokenizer with only a few pieces.
    if load_tokenizer(model_name).get_vocab_size() < model.config.vocab_size / 2:
        raise ConfigurationError(f"model_name: {model_name!r} has no tokenizer for all pieces")
    return HubEncoder(model)


def limit_of(transformer: "PreTrainedModel") -> int:
    """Returns the maximum number of pieces that a transformer has positions for."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # In RoBERTa, positions start after the padding index.
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    return sys.maxsize  # relative positions


def leave_out_frozen_weights(encoder: Encoder) -> None:
    """Replaces frozen weights with a checksum in the state dicts of an encoder, and verifies it on loading."""
    state = encoder.state_dict()
    trained = {name for name, weight in encoder.named_parameters() if weight.requires_grad}
    frozen = sorted(state.keys() - trained)
    digest = encoder.digest or checksum_of({name: state[name] for name in frozen})
    encoder.register_buffer("checksum", torch.tensor(list(digest), dtype=torch.uint8))
    encoder.register_state_dict_post_hook(partial(_leave_out, frozen))
    encoder.register_load_state_dict_pre_hook(partial(_put_back, frozen))


def checksum_of(weights: Mapping[str, Tensor]) -> bytes:
    """Returns a checksum of the names, types and values of weights."""
    digest = hashlib.sha256()
    for name, weight in weights.items():
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        digest.update(weight.cpu().contiguous().view(torch.uint8).numpy().data)
    return digest.digest()


def _leave_out(frozen: list[str], _: Any, state: dict[str, Any], prefix: str, *__: Any) -> None:
    for name in frozen:
        state.pop(prefix + name, None)  # there is no original weight when adapters are merged


def _put_back(frozen: list[str], encoder: Any, state: dict[str, Any], prefix: str, *_: Any) -> None:
    saved = state.get(f"{prefix}checksum")
    if saved is None:  # a state dict with all weights
        state[f"{prefix}checksum"] = encoder.checksum
        return
    if not torch.equal(saved.cpu(), encoder.checksum.cpu()):
        raise ConfigurationError(
            "model_name: the encoder does not have the weights the model was trained with"
        )
    weights = {**dict(encoder.named_parameters()), **dict(encoder.named_buffers())}
    state |= {prefix + name: weights[name].detach() for name in frozen if name in weights}
