"""Pretrained transformers: the states of what they read, and what of them is trained, saved and kept."""

import fcntl
import hashlib
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from copy import copy
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy
import torch
from allennlp.common import FromParams, Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.scalar_mix import ScalarMix
from overrides import overrides
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.data.piece_layouts import MIN_ROOM, PartsRead, PieceLayout, Pieces, Place
from allennlp_nef.errors import UserError, needing, summary_of
from allennlp_nef.modules.options import check_integers, is_integer
from allennlp_nef.pretrained import (
    ENCODER_WEIGHTS_NAME,
    TransformerError,
    layers_of,
    limit_of,
    load_tokenizer,
    load_transformer,
    share_weights,
)
from allennlp_nef.resources import TRANSFORMER_NAME, archived_path

_READINGS: ContextVar[list[list[PartsRead]] | None] = ContextVar("readings", default=None)


@contextmanager
def readings_of_transformers() -> Iterator[list[list[PartsRead]]]:
    """A list that gets, for each batch that a transformer reads in this context, the reading of each text."""
    readings: list[list[PartsRead]] = []
    token = _READINGS.set(readings)
    try:
        yield readings
    finally:
        _READINGS.reset(token)


SUB_TOKEN_MODES = ("first", "last", "first_last", "avg")
"""How the vectors of the pieces of a word become one."""
MAX_LENGTH = 512
"""The default of `max_length`, where the transformer has no smaller limit."""


class PretrainedTransformer(torch.nn.Module, FromParams):
    """Base class of components that read the pieces of words, from the indexer `word_pieces`, with a transformer.

    Options that AllenNLP's `pretrained_transformer_mismatched` has, too, have its names.

    A text with more than `max_length` pieces is read in parts: windows that overlap by at least a half. The vector of a
    word is that of the part in which it is farthest from the ends of the window. In such a text, of a word with more
    pieces than a quarter of `max_length` only so many are read.

    The callback `save_transformer` lets an archive hold the configuration and the tokenizer.

    # Parameters

    model_name : `str`, optional (default = `"xlm-roberta-base"`)
        A name on huggingface.co, or a folder. The same as in `word_pieces`. The model of an archive takes the
        configuration and the tokenizer that the archive holds.
    max_length : `int`, optional (default = `None`)
        The pieces that are read at once, with the special ones; at least 4 more than these. None: the limit of the
        transformer, at most 512.
    sub_token_mode : `str`, optional (default = `"first"`)
        The vector of a word: that of its first piece ("first"), as in Section 5.3 of Devlin et al. (NAACL 2019), of
        its last piece ("last"), both, one after the other ("first_last"), or the mean of all its pieces ("avg").
    last_layer_only : `bool`, optional (default = `True`)
        False: a learned mix of all layers in place of the last one: gamma * sum_k s_k h_k with s = softmax(w), as in
        Equation 1 of Peters et al. (NAACL 2018).
    last_layers : `int`, optional (default = `1`)
        At least 1. Above 1, a mix of so many last layers.
    train_parameters : `bool`, optional (default = `True`)
        False: nothing of the transformer is trained. What is not trained has no dropout.
    frozen_layers : `int`, optional (default = `None`)
        None: the whole transformer is trained. An integer n of at least 0: all but the embeddings and the first n
        layers.
    state_cache : `str`, optional (default = `None`)
        A folder for the states of the frozen layers. They are computed once for each text and kept there in float16,
        for all epochs, and for later runs with the same frozen layers: see `StateCache`. Needs `frozen_layers` of at
        least 1, or `train_parameters` of false. Loaded archives do not use it.
    load_weights : `bool`, optional (default = `True`)
        False: random weights, with the transformer's configuration.
    gradient_checkpointing : `bool`, optional (default = `False`)
        Whether training computes the states of each layer twice, and keeps only its input: less memory, more time.
    precision : `str`, optional (default = `"float32"`)
        "bfloat16": the matrix products of the transformer are computed in bfloat16, in training and after it, as
        `torch.autocast` does. Its weights, and all above it, stay in float32. It is faster on GPUs, and on CPUs that
        have such instructions.

    lora : `dict[str, Any]`, optional (default = `None`)
        Low-rank adapters are trained in place of the transformer's weights: Hu et al., "LoRA" (ICLR 2022). The options
        of `LoraConfig` of the package peft, such as `{"r": 8, "lora_alpha": 16}`. Needs the extra `lora`.
    save_weights : `bool`, optional (default = `True`)
        False: checkpoints and archives have only those weights of the transformer that are trained, and a checksum of
        the others. To load such an archive one needs the transformer, under the same name, unless the archive has it
        (`--with-encoder`). The models of a process, on one device, share the weights that they do not train.

    # Raises

    `ConfigurationError`: the transformer cannot be found, a value out of range, a transformer that `state_cache` cannot
    divide; where an archive is loaded, other weights than it was trained with. `UserError`: `lora` without its extra;
    a cache that cannot be written.
    """

    reads_pairs: ClassVar[bool]
    """Whether it reads two sentences at once, or one."""
    is_frozen: bool = False
    """Whether the transformer gets no gradients now; the callback `freeze_transformer` sets it."""

    def __init__(
        self,
        model_name: str = "xlm-roberta-base",
        max_length: int | None = None,
        sub_token_mode: str = "first",
        last_layers: int = 1,
        frozen_layers: int | None = None,
        load_weights: bool = True,
        precision: str = "float32",
        lora: dict[str, Any] | None = None,
        save_weights: bool = True,
        state_cache: str | None = None,
        gradient_checkpointing: bool = False,
        train_parameters: bool = True,
        last_layer_only: bool = True,
    ) -> None:
        super().__init__()
        if sub_token_mode not in SUB_TOKEN_MODES:
            raise ConfigurationError(
                f"sub_token_mode: expected one of {', '.join(SUB_TOKEN_MODES)}, got {sub_token_mode!r}"
            )
        if precision not in ("float32", "bfloat16"):
            raise ConfigurationError(f"precision: expected float32 or bfloat16, got {precision!r}")
        self.precision = precision
        self.needs_encoder = not save_weights
        """Whether an archive of it needs the transformer from elsewhere."""
        self.model_name = model_name
        self.tokenizer = load_tokenizer(model_name)
        self.transformer = load_transformer(model_name, load_weights)
        num_ids, num_rows = (
            len(self.tokenizer),
            self.transformer.get_input_embeddings().num_embeddings,
        )
        if not num_rows / 2 <= num_ids <= num_rows:  # some have rows that are not used
            raise ConfigurationError(
                f"model_name: expected a transformer with an embedding for each piece of its tokenizer, got {num_rows} "
                f"embeddings for {num_ids} pieces in {model_name!r}"
            )
        self.sub_token_mode = sub_token_mode
        num_layers = self.transformer.config.num_hidden_layers
        check_integers(last_layers=last_layers)
        if last_layers > num_layers:
            raise ConfigurationError(
                f"last_layers: expected at most {num_layers}, the layers of the transformer, got {last_layers}"
            )
        if not last_layer_only:
            if last_layers != 1:
                raise ConfigurationError(
                    f"last_layers: expected 1 where last_layer_only is false, got {last_layers}"
                )
            last_layers = num_layers
        self.layer_mix = ScalarMix(last_layers) if last_layers > 1 else None
        layout_of = PieceLayout.of_pair if self.reads_pairs else PieceLayout.of_sentence
        self.layout = layout_of(self.tokenizer)
        self.max_length = self._checked_length(max_length)
        if not train_parameters:
            if frozen_layers is not None:
                raise ConfigurationError(
                    f"frozen_layers: expected null where train_parameters is false, got {frozen_layers!r}"
                )
            frozen_layers = num_layers
        self._num_frozen = frozen_layers
        """The first layers that are not trained; None where the embeddings are trained, too."""
        if frozen_layers is not None:
            freeze_layers(self.transformer, frozen_layers)
        self._cache: StateCache | None = None
        if state_cache is not None:
            if not state_cache:
                raise ConfigurationError("state_cache: expected a folder, got ''")
            if not self._num_frozen or last_layers > num_layers - self._num_frozen + 1:
                raise ConfigurationError(
                    "state_cache: expected frozen_layers of at least 1, and last_layers from the last of them on, got "
                    f"{frozen_layers!r} and {last_layers} of {num_layers} layers"
                )
            if not load_weights:
                raise ConfigurationError(
                    "state_cache: expected pretrained weights, got random ones"
                )
            self._cache = StateCache(state_cache, self.transformer, self._num_frozen, precision)
        if lora is not None:
            if frozen_layers is not None:
                raise ConfigurationError(
                    "lora: expected nothing frozen with it: nothing but the adapters is trained"
                )
            add_adapters(self.transformer, lora)
        if gradient_checkpointing:
            try:
                options = {"use_reentrant": False}  # else layers above frozen ones would not learn
                self.transformer.gradient_checkpointing_enable(options)
            except ValueError as error:
                raise ConfigurationError(f"gradient_checkpointing: {summary_of(error)}") from error
        if not save_weights:
            if not load_weights:
                raise ConfigurationError(
                    "save_weights: expected true with random weights, got false"
                )
            self._leave_out_fixed_weights()

    @property
    def word_dim(self) -> int:
        """The dimension of the vector of a word."""
        dim: int = self.transformer.config.hidden_size
        return 2 * dim if self.sub_token_mode == "first_last" else dim

    @classmethod
    @overrides(check_signature=False)
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "PretrainedTransformer":
        """That of an archive is built from the files in the archive. AllenNLP then loads the weights of the model."""
        # As configs had it before: `pooling`, with "mean"; `frozen_layers` of "all".
        former = params.pop("pooling", None)
        if former is not None:
            if "sub_token_mode" in params:
                raise ConfigurationError(
                    "sub_token_mode: expected this or pooling, its former name, got both"
                )
            params["sub_token_mode"] = "avg" if former == "mean" else former
        if params.get("frozen_layers") == "all":
            params["frozen_layers"], params["train_parameters"] = None, False
        folder = archived_path(TRANSFORMER_NAME, extras)
        if not folder:
            return super().from_params(params, *args, **extras)
        params.pop("state_cache", None)
        has_all_weights = params.get("save_weights", True)
        has_encoder = Path(folder, ENCODER_WEIGHTS_NAME).exists()
        if has_all_weights:
            params["load_weights"] = False
        if has_all_weights or has_encoder:
            params["model_name"] = folder
        module = super().from_params(params, *args, **extras)
        module.needs_encoder = not (has_all_weights or has_encoder)
        return module

    def _leave_out_fixed_weights(self) -> None:
        """Makes state dicts without the weights that are not trained: a checksum stands for them.

        Where a state is loaded, which is on the device that the model is for, these weights share the memory of others.
        """
        fixed = {
            f"transformer.{name}": weight
            for name, weight in self.transformer.named_parameters()
            if not weight.requires_grad
        }
        checksum = checksum_of(fixed)

        def leave_out(_: Any, state: dict[str, Any], prefix: str, __: Any) -> None:
            for name in fixed:
                del state[prefix + name]
            state[f"{prefix}checksum"] = checksum

        def put_back(state: dict[str, Any], prefix: str, *_: Any) -> None:
            saved = state.pop(f"{prefix}checksum", None)
            if saved is not None and not torch.equal(saved.cpu(), checksum):
                raise TransformerError(
                    "model_name: expected the weights that the model was trained with, got others in "
                    f"{self.model_name!r}"
                )
            self._shared_weights = share_weights(fixed.values())
            for name, weight in fixed.items():
                state.setdefault(prefix + name, weight.detach())

        self._register_state_dict_hook(leave_out)
        self._register_load_state_dict_pre_hook(put_back)

    def _checked_length(self, max_length: int | None) -> int:
        """`max_length`, or its default."""
        limit, minimum = limit_of(self.transformer), self.layout.num_special + MIN_ROOM
        if max_length is None:
            max_length = min(MAX_LENGTH, self.tokenizer.model_max_length, limit or MAX_LENGTH)
        if not is_integer(max_length, minimum) or limit is not None and max_length > limit:
            most = "" if limit is None else f" and at most {limit}, the limit of the transformer"
            raise ConfigurationError(
                f"max_length: expected an integer of at least {minimum}{most}, got {max_length!r}"
            )
        return max_length

    @overrides
    def train(self, mode: bool = True) -> "PretrainedTransformer":
        super().train(mode)
        if self.is_frozen:
            self.transformer.eval()
        elif self._num_frozen is not None:
            for module in self.transformer.modules():
                weights = list(module.parameters())
                if weights and not any(weight.requires_grad for weight in weights):
                    module.eval()
        return self

    def _read(
        self, pairs: Iterable[Sequence[Pieces]]
    ) -> tuple[torch.Tensor, tuple[list[Place], list[Place]]]:
        """The vectors of the pieces of all parts (parts, pieces, dim), and the places of the words of each side."""
        texts = self.layout.join_all(pairs, self.max_length)
        recorded = _READINGS.get()
        if recorded is not None:
            recorded.append(texts.readings)
        first, second = (list(chain(*side)) for side in texts.places)
        return self._states_of(texts.parts), (first, second)

    def _states_of(self, inputs: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
        """The vectors of the pieces of all parts: (parts, pieces, dim)."""
        device = self.transformer.device
        ids, types = (
            pad_sequence([torch.tensor(each) for each in rows], True, padding).to(device)
            for rows, padding in zip(zip(*inputs), (self.tokenizer.pad_token_id or 0, 0))
        )
        lengths = torch.tensor([len(row) for row, _ in inputs], device=device)
        options = {
            "attention_mask": torch.arange(ids.size(1), device=device) < lengths.unsqueeze(1)
        }
        if "token_type_ids" in self.tokenizer.model_input_names:
            options["token_type_ids"] = types
        mix = self.layer_mix
        # Where the trainer uses mixed precision, that holds.
        precision = (
            torch.autocast(device.type, torch.bfloat16)
            if self.precision == "bfloat16"
            else nullcontext()
        )
        learns = torch.is_grad_enabled() and not self.is_frozen
        with precision, torch.set_grad_enabled(learns):
            if self._cache is None:
                output = self.transformer(ids, output_hidden_states=mix is not None, **options)
            else:
                states = self._cache.states_of(inputs, ids, options)
                output = self._cache.finish(states, options["attention_mask"], mix is not None)
        return self.chosen_states(output)

    def chosen_states(self, output: Any) -> torch.Tensor:
        """The last states of an output of the transformer, or their mix: (parts, pieces, dim)."""
        dtype, mix = self.transformer.dtype, self.layer_mix
        if mix is None:
            states: torch.Tensor = output.last_hidden_state
            return states.to(dtype)
        return mix([layer.to(dtype) for layer in output.hidden_states[-mix.mixture_size :]])

    def _pooled(self, pieces: torch.Tensor, places: list[Place]) -> torch.Tensor:
        """The vectors of words: (words, word_dim)."""
        table = torch.tensor(places, device=pieces.device).view(-1, 3)
        return pooled_words(pieces, table, self.sub_token_mode)


def pooled_words(pieces: torch.Tensor, places: torch.Tensor, sub_token_mode: str) -> torch.Tensor:
    """The vectors of words from those of their pieces: (words, word_dim).

    # Parameters

    pieces : `torch.Tensor`, (parts, pieces, dim)
    places : `torch.LongTensor`, (words, 3)
        The `Place` of each word.
    sub_token_mode : `str`
        One of `SUB_TOKEN_MODES`.
    """
    parts, firsts, counts = places.unbind(-1)
    if sub_token_mode == "avg":
        sums = functional.pad(pieces.double().cumsum(1), (0, 0, 1, 0))
        totals = sums[parts, firsts + counts] - sums[parts, firsts]
        return (totals / counts.clamp(min=1).unsqueeze(-1)).float()
    lasts = firsts + counts - 1
    chosen = {"first": [firsts], "last": [lasts], "first_last": [firsts, lasts]}[sub_token_mode]
    return torch.cat([pieces[parts, each] for each in chosen], dim=-1)


class StateCache:
    """The states after the frozen layers of a transformer, in files that all runs with these layers share.

    A file `<key>.states` has the states of texts in float16, one after the other; `<key>.index` has the place of each
    text. The key is made of the frozen weights, so other weights have other files. Several processes may write at once.
    A checksum finds states that are not whole, such as those that were written when the disk was full.

    # Parameters

    folder : `str`
        It is made where it is missing.
    transformer : `PreTrainedModel`
    num_frozen : `int`
        At least 1: the layers whose states are kept.
    precision : `str`
        In which they are computed.

    # Raises

    `ConfigurationError`: the transformer does more than to apply one layer to the states of the layer before.
    `UserError`: the folder cannot be written.
    """

    _RECORD = struct.Struct("<16sQII")
    """The digest of a text; of its states the first byte in the file, the number of pieces, and the checksum."""

    def __init__(self, folder: str, transformer: Any, num_frozen: int, precision: str) -> None:
        self._dim = transformer.config.hidden_size
        self._given = GivenStates()
        layers = layers_of(transformer)
        embeddings = next(
            name
            for name, child in transformer.named_children()
            if transformer.get_input_embeddings() in child.modules()
        )
        self._lower = with_modules(transformer, {id(layers): layers[:num_frozen]})
        self._upper = with_modules(transformer, {id(layers): layers[num_frozen:]})
        self._upper._modules[embeddings] = self._given
        self._check(transformer)
        frozen = dict(self._lower.named_parameters())
        key = hashlib.sha256(checksum_of(frozen).numpy().tobytes() + precision.encode())
        self._states = Path(folder, f"{key.hexdigest()[:32]}.states")
        self._index = self._states.with_suffix(".index")
        self._places: dict[bytes, tuple[int, ...]] = {}
        self._num_read = 0
        with self._writing():
            self._states.parent.mkdir(parents=True, exist_ok=True)
            for path in (self._states, self._index):
                path.touch()

    def states_of(
        self,
        inputs: Sequence[tuple[list[int], list[int]]],
        ids: torch.Tensor,
        options: Mapping[str, torch.Tensor],
    ) -> torch.Tensor:
        """The states after the frozen layers: (parts, pieces, dim), 0 in padding.

        # Parameters

        inputs : `Sequence[tuple[list[int], list[int]]]`
            The pieces of each part, and their types.
        ids : `torch.Tensor`, (parts, pieces)
            The same pieces, padded.
        options : `Mapping[str, torch.Tensor]`
            What else the transformer takes.
        """
        keys = [hashlib.md5(repr(part).encode(), usedforsecurity=False).digest() for part in inputs]
        if not all(key in self._places for key in keys):
            self._read_index()
        kept = numpy.zeros((*ids.shape, self._dim), dtype=numpy.float16)
        with open(self._states, "rb", buffering=0) as file:
            missing = [
                number
                for number, (row, key) in enumerate(zip(kept, keys))
                if not self._load(file.fileno(), key, row)
            ]
        if missing:
            with torch.no_grad():
                chosen = {name: option[missing] for name, option in options.items()}
                output = self._lower(ids[missing], **chosen).last_hidden_state
            states = output.half().cpu().numpy()
            for number, row in zip(missing, states):
                size = len(inputs[number][0])
                kept[number, :size] = row[:size]
            self._append([(keys[i], kept[i, : len(inputs[i][0])]) for i in missing])
        return torch.from_numpy(kept).to(ids.device, self._lower.dtype)

    def finish(self, states: torch.Tensor, mask: torch.Tensor, all_layers: bool) -> Any:
        """The output of the transformer for the states after its frozen layers: (parts, pieces, dim)."""
        self._given.states = states
        output = self._upper(
            inputs_embeds=states, attention_mask=mask, output_hidden_states=all_layers
        )
        self._given.states = None
        return output

    def _load(self, file: int, key: bytes, row: numpy.ndarray) -> bool:
        """Reads the states of a text into the first rows; False where the files do not have them."""
        if key not in self._places:
            return False
        begin, size, checksum = self._places[key]
        values = os.pread(file, 2 * size * self._dim, begin)
        if zlib.crc32(values) != checksum:
            return False
        row[:size] = numpy.frombuffer(values, dtype=numpy.float16).reshape(size, -1)
        return True

    def _read_index(self) -> None:
        """Adds the records that are new."""
        with open(self._index, "rb") as file:
            file.seek(self._num_read * self._RECORD.size)
            records = file.read()
        whole = len(records) // self._RECORD.size * self._RECORD.size
        for key, *place in self._RECORD.iter_unpack(records[:whole]):
            self._num_read += 1
            self._places[key] = tuple(place)

    def _append(self, texts: Sequence[tuple[bytes, numpy.ndarray]]) -> None:
        """Writes the states of texts, and then where they are."""
        if not all(numpy.isfinite(values).all() for _, values in texts):
            raise ConfigurationError(
                "state_cache: expected states that are finite in float16, got others"
            )
        with self._writing(), open(self._states, "ab") as states, open(self._index, "ab") as index:
            fcntl.flock(states, fcntl.LOCK_EX)
            end = index.seek(0, os.SEEK_END)
            index.truncate(end - end % self._RECORD.size)
            begin = states.seek(0, os.SEEK_END)
            for key, rows in texts:
                values = rows.tobytes()
                states.write(values)
                place = begin, len(rows), zlib.crc32(values)
                index.write(self._RECORD.pack(key, *place))
                self._places[key] = place
                begin += len(values)
            states.flush()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UserError(
                f"state_cache: expected a folder to write the states of the transformer in, got "
                f"{self._states.parent} ({summary_of(error)})"
            ) from error

    def _check(self, transformer: Any) -> None:
        """Whether the two halves compute what the transformer computes."""
        ids = torch.arange(4).unsqueeze(0) % transformer.get_input_embeddings().num_embeddings
        mask = torch.ones_like(ids, dtype=torch.bool)
        is_training = transformer.training
        transformer.eval()
        with torch.no_grad():
            expected = transformer(ids, attention_mask=mask).last_hidden_state
            try:
                states = self._lower.eval()(ids, attention_mask=mask).last_hidden_state
                self._upper.eval()
                got = self.finish(states, mask, False).last_hidden_state
                is_same = torch.allclose(got, expected, atol=1e-4)
            except (AttributeError, RuntimeError, TypeError, ValueError):
                is_same = False
        transformer.train(is_training)
        if not is_same:
            raise ConfigurationError(
                "state_cache: expected a transformer that consists of embeddings and layers, as those of BERT and "
                f"XLM-R, got {type(transformer).__name__}"
            )


class GivenStates(torch.nn.Module):
    """Stands for the embeddings of a transformer and returns given states."""

    states: torch.Tensor | None = None

    def forward(self, *_: Any, **__: Any) -> torch.Tensor | None:
        return self.states


def with_modules(module: Any, replaced: Mapping[int, torch.nn.Module]) -> Any:
    """A module that shares all weights with another, but for some of its modules, which are given by their `id`."""
    if id(module) in replaced:
        return replaced[id(module)]
    if module is None or not any(id(child) in replaced for child in module.modules()):
        return module
    copied = copy(module)
    copied._modules = {
        name: with_modules(child, replaced) for name, child in module._modules.items()
    }
    return copied


def freeze_layers(transformer: Any, frozen_layers: int) -> None:
    """Takes the gradients from all but the layers after the first `frozen_layers`.

    # Raises

    `ConfigurationError`: no integer from 0, or more layers than there are.
    """
    num_layers = transformer.config.num_hidden_layers
    layers = layers_of(transformer)
    if (
        not is_integer(frozen_layers, 0)
        or len(layers[frozen_layers:]) != num_layers - frozen_layers
    ):
        raise ConfigurationError(
            f"frozen_layers: expected null or an integer from 0 to {num_layers}, the layers of the transformer, got "
            f"{frozen_layers!r}"
        )
    transformer.requires_grad_(False)
    for layer in layers[frozen_layers:]:
        layer.requires_grad_(True)


def add_adapters(transformer: Any, options: Mapping[str, Any]) -> None:
    """Adds low-rank adapters to a transformer; nothing else of it gets gradients.

    # Raises

    `ConfigurationError`: options that peft refuses, or layers that the transformer does not have. `UserError`: peft is
    not installed.
    """
    with needing("lora", "lora"):
        from peft import LoraConfig, inject_adapter_in_model
    try:
        inject_adapter_in_model(LoraConfig(**options), transformer)
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"lora: expected options of LoraConfig of peft, got {options!r} ({summary_of(error)})"
        ) from error


def checksum_of(weights: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The SHA-256 of weights, their names and their types: (32,), 8-bit integers."""
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
        digest.update(weight.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return torch.tensor(list(digest.digest()), dtype=torch.uint8)


def words_of(tensors: dict[str, torch.Tensor]) -> list[list[list[int]]]:
    """The pieces of each word of each sentence."""
    sentences = []
    for counts, pieces in zip(tensors["counts"].tolist(), tensors["pieces"].tolist()):
        known = iter(pieces)
        sentences.append([list(islice(known, count)) for count in counts if count])
    return sentences


def padded(words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(words, dim) to (batch, tokens, dim)."""
    return words.new_zeros(*mask.shape, words.size(-1)).masked_scatter(mask.unsqueeze(-1), words)
