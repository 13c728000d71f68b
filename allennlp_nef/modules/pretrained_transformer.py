"""Pretrained transformers whose vectors of pieces are pooled to words."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, ClassVar

import torch
from allennlp.common import FromParams, Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.scalar_mix import ScalarMix
from overrides import overrides
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.modules.checks import check_integers, is_integer
from allennlp_nef.modules.pair_parts import MIN_ROOM, PairLayout, Pieces, Place
from allennlp_nef.pretrained import load_tokenizer, load_transformer
from allennlp_nef.resources import TRANSFORMER_NAME, archived_path

MAX_LENGTH = 512
"""The default of `max_length`, where the transformer has no smaller limit."""


class PretrainedTransformer(torch.nn.Module, FromParams):
    """Base class of components that read the pieces of words, from the indexer `word_pieces`, with a transformer.

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
    pooling : `str`, optional (default = `"first"`)
        The vector of a word: that of its first piece ("first"), as in Section 5.3 of Devlin et al. (NAACL 2019), or the
        mean of all its pieces ("mean").
    last_layers : `int`, optional (default = `1`)
        At least 1. Above 1, a learned mix of so many last layers in place of the last one: gamma * sum_k s_k h_k with
        s = softmax(w), as in Equation 1 of Peters et al. (NAACL 2018).
    frozen_layers : `int` or `str`, optional (default = `None`)
        None: the whole transformer is trained. An integer n of at least 0: all but the embeddings and the first n
        layers. "all": nothing of it is trained, and it has no dropout.
    load_weights : `bool`, optional (default = `True`)
        False: random weights, with the transformer's configuration.

    # Raises

    `ConfigurationError`: the transformer cannot be found, a value out of range.
    """

    layout_type: ClassVar[type[PairLayout]]
    """Of what is read at once."""

    def __init__(
        self,
        model_name: str = "xlm-roberta-base",
        max_length: int | None = None,
        pooling: str = "first",
        last_layers: int = 1,
        frozen_layers: None | int | str = None,
        load_weights: bool = True,
    ) -> None:
        super().__init__()
        if pooling not in ("first", "mean"):
            raise ConfigurationError(f"pooling: expected first or mean, got {pooling!r}")
        self.model_name = model_name
        self.tokenizer = load_tokenizer(model_name)
        self.transformer = load_transformer(model_name, load_weights)
        num_ids, num_rows = (
            len(self.tokenizer),
            self.transformer.get_input_embeddings().num_embeddings,
        )
        if num_ids > num_rows:
            raise ConfigurationError(
                f"model_name: expected a transformer with an embedding for each piece of its tokenizer, got {num_rows} "
                f"embeddings for {num_ids} pieces in {model_name!r}"
            )
        self.pooling = pooling
        num_layers = self.transformer.config.num_hidden_layers
        check_integers(last_layers=last_layers)
        if last_layers > num_layers:
            raise ConfigurationError(
                f"last_layers: expected at most {num_layers}, the layers of the transformer, got {last_layers}"
            )
        self.layer_mix = ScalarMix(last_layers) if last_layers > 1 else None
        self._layout = self.layout_type(self.tokenizer)
        self.max_length = self._checked_length(max_length)
        if frozen_layers is not None:
            freeze_layers(self.transformer, frozen_layers)

    @classmethod
    @overrides(check_signature=False)
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "PretrainedTransformer":
        """That of an archive is built from the files in the archive. AllenNLP then loads the weights of the model."""
        folder = archived_path(TRANSFORMER_NAME, extras)
        if folder:
            params["model_name"] = folder
            params["load_weights"] = False
        return super().from_params(params, *args, **extras)

    def _checked_length(self, max_length: int | None) -> int:
        """`max_length`, or its default."""
        limit, minimum = limit_of(self.transformer), self._layout.num_special + MIN_ROOM
        if max_length is None:
            return min(MAX_LENGTH, self.tokenizer.model_max_length, limit or MAX_LENGTH)
        if not is_integer(max_length, minimum) or limit is not None and max_length > limit:
            most = "" if limit is None else f" and at most {limit}, the limit of the transformer"
            raise ConfigurationError(
                f"max_length: expected an integer of at least {minimum}{most}, got {max_length!r}"
            )
        return max_length

    @overrides
    def train(self, mode: bool = True) -> "PretrainedTransformer":
        super().train(mode)
        if not any(parameter.requires_grad for parameter in self.transformer.parameters()):
            self.transformer.eval()
        return self

    def _read(
        self, pairs: Iterable[Sequence[Pieces]]
    ) -> tuple[torch.Tensor, tuple[list[Place], list[Place]]]:
        """The vectors of the pieces of all parts (parts, pieces, dim), and the places of the words of each side."""
        inputs: list[tuple[list[int], list[int]]] = []
        places: tuple[list[Place], list[Place]] = ([], [])
        for pair in pairs:
            parts, found = self._layout.join(pair, self.max_length)
            for known, new in zip(places, found):
                known += [place._replace(part=place.part + len(inputs)) for place in new]
            inputs += parts
        return self._states_of(inputs), places

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
        if self.layer_mix is None:
            return self.transformer(ids, **options).last_hidden_state
        layers = self.transformer(ids, output_hidden_states=True, **options).hidden_states
        return self.layer_mix(layers[-self.layer_mix.mixture_size :])

    def _pooled(self, pieces: torch.Tensor, places: list[Place]) -> torch.Tensor:
        """The vectors of words: (words, dim)."""
        parts, firsts, counts = torch.tensor(places, device=pieces.device).view(-1, 3).unbind(-1)
        if self.pooling == "first":
            return pieces[parts, firsts]
        words = torch.arange(len(places), device=pieces.device).repeat_interleave(counts)
        ends = counts.cumsum(0)
        offsets = torch.arange(len(words), device=pieces.device) - (ends - counts)[words]
        found = pieces[parts[words], firsts[words] + offsets].float()
        sums = found.new_zeros(len(places), found.size(-1)).index_add(0, words, found)
        return sums / counts.unsqueeze(-1)


def limit_of(transformer: torch.nn.Module) -> int | None:
    """The number of pieces that a transformer has positions for; None where it has no limit."""
    for name, module in transformer.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            # RoBERTa's positions begin after that of padding.
            unused = 0 if module.padding_idx is None else module.padding_idx + 1
            return module.num_embeddings - unused
    return None


def freeze_layers(transformer: Any, frozen_layers: Any) -> None:
    """Takes the gradients from all but the layers after the first `frozen_layers` (an integer from 0, or "all").

    # Raises

    `ConfigurationError`: another value, or more layers than there are.
    """
    num_layers = transformer.config.num_hidden_layers
    num_frozen = num_layers if frozen_layers == "all" else frozen_layers
    lists = (module for module in transformer.modules() if isinstance(module, torch.nn.ModuleList))
    # A transformer whose layers share their weights has no such list.
    layers = next((list(each) for each in lists if len(each) == num_layers), [])
    if not is_integer(num_frozen, 0) or len(layers[num_frozen:]) != num_layers - num_frozen:
        raise ConfigurationError(
            f'frozen_layers: expected null, "all" or an integer from 0 to {num_layers}, the layers of the transformer, '
            f"got {frozen_layers!r}"
        )
    transformer.requires_grad_(False)
    for layer in layers[num_frozen:]:
        layer.requires_grad_(True)


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
