from collections.abc import Sequence
from itertools import islice
from typing import Any

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data.fields.text_field import TextFieldTensors
from allennlp.modules.scalar_mix import ScalarMix
from overrides import overrides
from torch.nn.utils.rnn import pad_sequence

from allennlp_nef.modules.checks import check_integers, is_integer
from allennlp_nef.modules.input_representations.input_representation import InputRepresentation
from allennlp_nef.modules.input_representations.pair_parts import (
    MIN_ROOM,
    PairLayout,
    Place,
)
from allennlp_nef.modules.pretrained_transformer import freeze_layers, limit_of
from allennlp_nef.pretrained import load_tokenizer, load_transformer
from allennlp_nef.resources import TRANSFORMER_NAME, archived_path

MAX_LENGTH = 512
"""The default of `max_length`, where the transformer has no smaller limit."""


@InputRepresentation.register("transformer_pair")
class TransformerPairRepresentation(InputRepresentation):
    """Represents each target word by a pretrained transformer that reads source and target together.

    The tokenizer joins the two sentences in its own way: [CLS] source [SEP] target [SEP] for BERT, <s> source </s></s>
    target </s> for XLM-R. The last layer of the transformer is pooled to words.

    A pair with more than `max_length` pieces is read in parts: windows of both sentences that overlap by at least a
    half. A sentence that fits is whole in each part. The vector of a word is that of the part in which it is farthest
    from the ends of the window. In such a pair, of a word with more pieces than a quarter of `max_length` only so many
    are read.

    Takes the fields `source`, `target` and `alignments`; both sides need the indexer `word_pieces`. The callback
    `save_transformer` lets an archive hold what it needs besides its weights. Registered as an `InputRepresentation`
    with name "transformer_pair".

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
    aligned_source : `bool`, optional (default = `False`)
        Whether to add the mean of the vectors of the source words that a target word is aligned to; a learned vector
        where there are none.
    load_weights : `bool`, optional (default = `True`)
        False: random weights, with the transformer's configuration.

    # Raises

    `ConfigurationError`: the transformer cannot be found, a value out of range, fields without word pieces.
    """

    def __init__(
        self,
        model_name: str = "xlm-roberta-base",
        max_length: int | None = None,
        pooling: str = "first",
        last_layers: int = 1,
        frozen_layers: None | int | str = None,
        aligned_source: bool = False,
        load_weights: bool = True,
    ) -> None:
        super().__init__()
        if pooling not in ("first", "mean"):
            raise ConfigurationError(f"pooling: expected first or mean, got {pooling!r}")
        self.tokenizer = load_tokenizer(model_name)
        self.transformer = load_transformer(model_name, load_weights)
        self.pooling = pooling
        num_layers = self.transformer.config.num_hidden_layers
        check_integers(last_layers=last_layers)
        if last_layers > num_layers:
            raise ConfigurationError(
                f"last_layers: expected at most {num_layers}, the layers of the transformer, got {last_layers}"
            )
        self.layer_mix = ScalarMix(last_layers) if last_layers > 1 else None
        self._layout = PairLayout(self.tokenizer)
        self.max_length = self._checked_length(max_length)
        if frozen_layers is not None:
            freeze_layers(self.transformer, frozen_layers)
        dim = self.transformer.config.hidden_size
        self.unaligned: torch.nn.Parameter | None = None
        if aligned_source:
            self.unaligned = torch.nn.Parameter(torch.randn(dim) / dim**0.5)
            self.without_alignments = "the model lacks the vectors of aligned source words"
        self._output_dim = 2 * dim if aligned_source else dim

    @classmethod
    @overrides(check_signature=False)
    def from_params(
        cls, params: Params, *args: Any, **extras: Any
    ) -> "TransformerPairRepresentation":
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
    def train(self, mode: bool = True) -> "TransformerPairRepresentation":
        super().train(mode)
        if not any(parameter.requires_grad for parameter in self.transformer.parameters()):
            self.transformer.eval()
        return self

    @overrides
    def get_output_dim(self) -> int:
        return self._output_dim

    @overrides(check_signature=False)
    def forward(
        self,
        source: TextFieldTensors,
        target: TextFieldTensors,
        alignments: torch.Tensor,
        similarity: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if similarity is not None:
            raise ConfigurationError(
                "word_similarity: expected false in a reader for transformer_pair, which takes no similarity, got true"
            )
        sides = [_word_pieces(source), _word_pieces(target)]
        masks = [side["counts"] > 0 for side in sides]
        inputs: list[tuple[list[int], list[int]]] = []
        places: tuple[list[Place], list[Place]] = ([], [])
        for pair in zip(*map(_words_of, sides)):
            parts, found = self._layout.join(pair, self.max_length)
            for known, new in zip(places, found):
                known += [place._replace(part=place.part + len(inputs)) for place in new]
            inputs += parts
        pieces = self._read(inputs)  # (parts, pieces, dim)
        words = _padded(self._pooled(pieces, places[1]), masks[1])  # (batch, target tokens, dim)
        if self.unaligned is None:
            return words, masks[1]
        sources = _padded(self._pooled(pieces, places[0]), masks[0])
        links = alignments.to(sources.dtype)
        counts = links.sum(-1, keepdim=True)
        means = links.bmm(sources) / counts.clamp(min=1)
        means = torch.where(counts > 0, means, self.unaligned.to(means.dtype))
        return torch.cat([words, means.to(words.dtype)], dim=-1), masks[1]

    def _read(self, inputs: Sequence[tuple[list[int], list[int]]]) -> torch.Tensor:
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


def _word_pieces(field: TextFieldTensors) -> dict[str, torch.Tensor]:
    """What the indexer `word_pieces` gives."""
    for tensors in field.values():
        if "pieces" in tensors:
            return tensors
    raise ConfigurationError(
        "source_token_indexers, target_token_indexers: expected an indexer word_pieces for transformer_pair, got "
        + ", ".join(field)
    )


def _words_of(tensors: dict[str, torch.Tensor]) -> list[list[list[int]]]:
    """The pieces of each word of each sentence."""
    sentences = []
    for counts, pieces in zip(tensors["counts"].tolist(), tensors["pieces"].tolist()):
        known = iter(pieces)
        sentences.append([list(islice(known, count)) for count in counts if count])
    return sentences


def _padded(words: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """(words, dim) to (batch, tokens, dim)."""
    return words.new_zeros(*mask.shape, words.size(-1)).masked_scatter(mask.unsqueeze(-1), words)
