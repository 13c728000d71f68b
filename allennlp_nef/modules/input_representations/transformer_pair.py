from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data.fields.text_field import TextFieldTensors
from overrides import overrides

from allennlp_nef.modules.input_representations.input_representation import InputRepresentation
from allennlp_nef.modules.pair_parts import PairLayout
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer, padded, words_of


@InputRepresentation.register("transformer_pair")
class TransformerPairRepresentation(PretrainedTransformer, InputRepresentation):
    """Represents each target word by a pretrained transformer that reads source and target together.

    The tokenizer joins the two sentences in its own way: [CLS] source [SEP] target [SEP] for BERT, <s> source </s></s>
    target </s> for XLM-R. The last layer of the transformer is pooled to words.

    In a pair with more than `max_length` pieces the windows are those of both sentences. A sentence that fits is whole
    in each part.

    Takes the fields `source`, `target` and `alignments`; both sides need the indexer `word_pieces`. The callback
    `save_transformer` lets an archive hold what it needs besides its weights. Registered as an `InputRepresentation`
    with name "transformer_pair".

    # Parameters

    aligned_source : `bool`, optional (default = `False`)
        Whether to add the mean of the vectors of the source words that a target word is aligned to; a learned vector
        where there are none.
    model_name, max_length, pooling, last_layers, frozen_layers, load_weights
        See `PretrainedTransformer`.

    # Raises

    `ConfigurationError`: see `PretrainedTransformer`; fields without word pieces.
    """

    layout_type = PairLayout

    def __init__(self, aligned_source: bool = False, **options: Any) -> None:
        super().__init__(**options)
        dim = self.transformer.config.hidden_size
        self.unaligned: torch.nn.Parameter | None = None
        if aligned_source:
            self.unaligned = torch.nn.Parameter(torch.randn(dim) / dim**0.5)
            self.without_alignments = "the model lacks the vectors of aligned source words"
        self._output_dim = 2 * dim if aligned_source else dim

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
        pieces, places = self._read(zip(*map(words_of, sides)))
        words = padded(self._pooled(pieces, places[1]), masks[1])  # (batch, target tokens, dim)
        if self.unaligned is None:
            return words, masks[1]
        sources = padded(self._pooled(pieces, places[0]), masks[0])
        links = alignments.to(sources.dtype)
        counts = links.sum(-1, keepdim=True)
        means = links.bmm(sources) / counts.clamp(min=1)
        means = torch.where(counts > 0, means, self.unaligned.to(means.dtype))
        return torch.cat([words, means.to(words.dtype)], dim=-1), masks[1]


def _word_pieces(field: TextFieldTensors) -> dict[str, torch.Tensor]:
    """What the indexer `word_pieces` gives."""
    for tensors in field.values():
        if "pieces" in tensors:
            return tensors
    raise ConfigurationError(
        "source_token_indexers, target_token_indexers: expected an indexer word_pieces for transformer_pair, got "
        + ", ".join(field)
    )
