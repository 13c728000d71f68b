"""Pretrained transformers that embed the words of sentences and sentence pairs."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, ClassVar

import torch
from allennlp.common import FromParams, Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import TextFieldTensors
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.pretrained.loading import (
    WEIGHTS_NAME,
    archived_transformer,
    freeze,
    leave_out_frozen_weights,
    limit_of,
    load_tokenizer,
    load_transformer,
)
from allennlp_nef.pretrained.lora import add_lora
from allennlp_nef.pretrained.windows import MIN_ROOM, SpecialTokensTemplate, windows_of

MAX_LENGTH = 512  # pieces in a window, if the transformer has no smaller limit


def pool_words(pieces: Tensor, counts: Tensor, sub_token_mode: str) -> Tensor:
    """Pools the vectors of pieces (batch, pieces, dim) to vectors of words (batch, words, dim), 0 in padding.

    # Parameters

    pieces : `Tensor`, (batch, pieces, dim)
        Finite in padding, too.
    counts : `Tensor`, (batch, words)
        The number of pieces of each word, 0 in padding.
    sub_token_mode : `str`
        "first" for the first piece of a word, "avg" for the mean of its pieces.
    """
    starts = counts.cumsum(1) - counts
    if sub_token_mode == "first":
        counts = counts.clamp(max=1)
    positions = torch.arange(pieces.size(1), device=pieces.device)
    # (batch, words, pieces)
    is_inside = (positions >= starts[..., None]) & (positions < (starts + counts)[..., None])
    return is_inside.to(pieces.dtype) @ pieces / counts.clamp(min=1)[..., None]


class PretrainedTransformer(torch.nn.Module, FromParams):
    """A pretrained transformer that reads sentences, or pairs of sentences, and returns a vector for each word.

    A text with more than `max_length` pieces is read in overlapping windows: see `windows_of`.

    The `save_transformer` callback puts the configuration and tokenizer into the archive, so loading the archive
    downloads nothing.

    # Parameters

    model_name : `str`
        A name on huggingface.co, a folder, or `multilingual-e5-small`, which the `multilingual` extra installs; must be
        the same as in the `word_pieces` indexer.
    max_length : `int`, optional (default = `None`)
        The number of pieces in a window, including special tokens. At most the transformer's limit. The default is that
        limit or 512, whichever is smaller.
    sub_token_mode : `str`, optional (default = `"first"`)
        "first" represents a word by its first piece, as in Section 5.3 of Devlin et al. (NAACL 2019), and "avg" by the
        mean of its pieces.
    frozen_layers : `int`, optional (default = `None`)
        Freezes the embeddings and this number of lower layers, and turns off their dropout. 0 freezes only the
        embeddings, and None freezes nothing.
    train_parameters : `bool`, optional (default = `True`)
        False freezes the whole transformer.
    load_weights : `bool`, optional (default = `True`)
        False initializes the weights at random.
    precision : `str`, optional (default = `"float32"`)
        "bfloat16" computes matrix products in bfloat16 (`torch.autocast`). Weights and outputs stay in float32.
    lora_rank : `int`, optional (default = `None`)
        Freezes the transformer and trains an update of this rank, such as 16, for each linear layer: see `LoraLinear`.
    lora_alpha : `float`, optional (default = `32.0`)
        Scales the update by `lora_alpha / lora_rank`.
    save_weights : `bool`, optional (default = `True`)
        False leaves frozen weights out of checkpoints and archives. Loading such an archive takes them from
        `model_name`, or from the archive itself if the `save_transformer` callback has `with_weights`, and compares a
        checksum.
    gradient_checkpointing : `bool`, optional (default = `False`)
        Recomputes activations in the backward pass, which takes less memory and more time.

    # Raises

    `ConfigurationError`: `model_name` is not found, an option is out of range, or an archive without frozen weights is
    loaded with different weights than it was trained with.
    """

    num_sides: ClassVar[int]  # 1 for sentences, 2 for pairs

    def __init__(
        self,
        model_name: str,
        max_length: int | None = None,
        sub_token_mode: str = "first",
        frozen_layers: int | None = None,
        train_parameters: bool = True,
        load_weights: bool = True,
        precision: str = "float32",
        lora_rank: int | None = None,
        lora_alpha: float = 32.0,
        save_weights: bool = True,
        gradient_checkpointing: bool = False,
    ) -> None:
        super().__init__()
        if sub_token_mode not in ("first", "avg"):
            raise ConfigurationError(f"sub_token_mode must be first or avg, not {sub_token_mode!r}")
        if precision not in ("float32", "bfloat16"):
            raise ConfigurationError(f"precision must be float32 or bfloat16, not {precision!r}")
        if lora_rank is not None and (frozen_layers is not None or not train_parameters):
            raise ConfigurationError(
                "lora_rank freezes all layers; it excludes frozen_layers and train_parameters"
            )
        self.model_name = model_name
        self.name = Path(model_name).name  # in figures
        self.sub_token_mode = sub_token_mode
        self.precision = precision
        self.tokenizer = load_tokenizer(model_name)
        self.template = SpecialTokensTemplate(self.tokenizer, self.num_sides)
        self._is_partly_frozen = frozen_layers is not None or not train_parameters
        # Embeddings that are neither trained nor saved can stay in 4 bits.
        four_bits = not save_weights and (lora_rank is not None or self._is_partly_frozen)
        self.transformer = load_transformer(model_name, load_weights, four_bits)
        self.word_dim: int = self.transformer.config.hidden_size
        # From a folder without tokenizer files, transformers loads a tokenizer with only a few pieces.
        if len(self.tokenizer) < self.transformer.config.vocab_size / 2:
            raise ConfigurationError(f"model_name: {model_name!r} has no tokenizer for all pieces")
        default = min(MAX_LENGTH, self.tokenizer.model_max_length)
        self.max_length = min(max_length or default, limit_of(self.transformer))
        if self.max_length < self.template.num_special + MIN_ROOM:
            raise ConfigurationError(f"max_length: {self.max_length} leaves no space for words")
        if self._is_partly_frozen:
            freeze(self.transformer, frozen_layers if train_parameters else None)
        if lora_rank is not None:
            add_lora(self.transformer, lora_rank, lora_alpha)
        if gradient_checkpointing:
            # The reentrant form computes no gradients above frozen embeddings.
            self.transformer.gradient_checkpointing_enable({"use_reentrant": False})
        if not save_weights:
            leave_out_frozen_weights(self)

    @classmethod
    def from_params(cls, params: Params, **extras: Any) -> "PretrainedTransformer":  # type: ignore[override]
        name, folder = params["model_name"], archived_transformer(extras)
        if folder is not None:
            saves_weights = params.get("save_weights", True)
            if saves_weights:
                params["load_weights"] = False  # AllenNLP loads them with the model's
            if saves_weights or (folder / WEIGHTS_NAME).exists():
                params["model_name"] = str(folder)
        transformer = super().from_params(params, **extras)
        transformer.name = Path(name).name  # not the name of the folder in the archive
        return transformer

    def train(self, mode: bool = True) -> "PretrainedTransformer":
        super().train(mode)
        if self._is_partly_frozen:
            for module in self.transformer.modules():
                weights = list(module.parameters())
                if weights and not any(weight.requires_grad for weight in weights):
                    module.eval()
        return self

    def embed_words(self, *sides: Mapping[str, Tensor], layer: int | None = None) -> list[Tensor]:
        """Returns the vectors of the words of a batch of sentences or of pairs.

        # Parameters

        sides : `Mapping[str, Tensor]`
            The output of the `word_pieces` indexer for each sentence of a pair: `counts`, (batch, words), the number of
            pieces of each word, and `pieces`, (batch, pieces). Both are 0 in padding.
        layer : `int`, optional (default = `None`)
            Appends the states of this layer to those of the last one; 0 is the embeddings.

        # Returns

        `list[Tensor]`: the word vectors of each side, (batch, words, word_dim), 0 in padding; twice that dim with
        `layer`.
        """
        lengths = torch.stack([side["counts"].sum(1) for side in sides], dim=1).tolist()
        pieces = [side["pieces"].tolist() for side in sides]
        room = self.max_length - self.template.num_special
        windows = [
            (row, spans) for row, text in enumerate(lengths) for spans in windows_of(text, room)
        ]
        filled = [
            self.template.fill(
                [ids[row][span.begin : span.end] for ids, span in zip(pieces, spans)]
            )
            for row, spans in windows
        ]
        all_states = self._encode([(ids, types) for ids, types, _ in filled], layer)
        # The vectors of the pieces of each text and side, from one window after the other.
        vectors: list[list[list[Tensor]]] = [[[] for _ in sides] for _ in lengths]
        for (row, spans), states, (_, _, starts) in zip(windows, all_states.unbind(), filled):
            for parts, span, start in zip(vectors[row], spans, starts):
                offset = start - span.begin
                parts.append(states[offset + span.first : offset + span.last])
        words = []
        for side, texts in zip(sides, zip(*vectors)):
            padded = pad_sequence([torch.cat(parts) for parts in texts], batch_first=True)
            words.append(pool_words(padded, side["counts"], self.sub_token_mode))
        return words

    def _encode(self, windows: Sequence[tuple[list[int], list[int]]], layer: int | None) -> Tensor:
        """Computes the states (windows, pieces, dim) from the piece ids and types of each window; see `embed_words`."""
        ids, types = ([torch.tensor(row) for row in rows] for rows in zip(*windows))
        fields = {
            "input_ids": pad_sequence(ids, True, self.tokenizer.pad_token_id or 0),
            "token_type_ids": pad_sequence(types, True, self.tokenizer.pad_token_type_id),
            "attention_mask": pad_sequence([torch.ones_like(row) for row in ids], True),
        }
        names, device = self.tokenizer.model_input_names, self.transformer.device
        batch = {name: each.to(device) for name, each in fields.items() if name in names}
        is_bfloat16 = self.precision == "bfloat16"
        autocast = torch.autocast(self.transformer.device.type, torch.bfloat16)
        with autocast if is_bfloat16 else nullcontext():
            return self.states(batch, layer).to(self.transformer.dtype)

    def states(self, inputs: Mapping[str, Tensor], layer: int | None = None) -> Tensor:
        """Returns the states of the transformer, (windows, pieces, dim), with those of `layer`: see `embed_words`."""
        output = self.transformer(**inputs, output_hidden_states=layer is not None)
        states: Tensor = output.last_hidden_state
        return states if layer is None else torch.cat([states, output.hidden_states[layer]], dim=-1)


def word_pieces_of(field: TextFieldTensors) -> dict[str, Tensor]:
    """Returns the output of the `word_pieces` indexer in a text field, regardless of its key."""
    return next(tensors for tensors in field.values() if "pieces" in tensors)
