from typing import Any

import torch
from allennlp.modules.token_embedders import TokenEmbedder
from overrides import overrides

from allennlp_nef.modules.pair_parts import PairLayout, Pieces
from allennlp_nef.modules.pretrained_transformer import PretrainedTransformer, padded, words_of


class SentenceLayout(PairLayout):
    """The layout in which a tokenizer puts special pieces around a single sentence: a pair without a first one.

    # Parameters

    tokenizer : `PreTrainedTokenizerBase`
    """

    def __init__(self, tokenizer: Any) -> None:
        encoded = tokenizer("a", return_special_tokens_mask=True, return_token_type_ids=True)
        pieces = list(zip(encoded["input_ids"], encoded["token_type_ids"]))
        is_special = encoded["special_tokens_mask"]
        first, last = is_special.index(0), len(pieces) - is_special[::-1].index(0)
        self._special = pieces[:first], [], pieces[last:]
        self._types = [pieces[first][1]] * 2
        self.num_special = len(pieces) - (last - first)


@TokenEmbedder.register("word_pieces")
class WordPiecesEmbedder(PretrainedTransformer, TokenEmbedder):
    """Represents each word by a pretrained transformer that reads the sentence: its last layer is pooled to words.

    Takes what the indexer `word_pieces` gives. Registered as a `TokenEmbedder` with name "word_pieces".

    # Parameters

    model_name, max_length, pooling, last_layers, frozen_layers, load_weights
        See `PretrainedTransformer`.
    """

    layout_type = SentenceLayout

    @overrides
    def get_output_dim(self) -> int:
        dim: int = self.transformer.config.hidden_size
        return dim

    @overrides(check_signature=False)
    def forward(self, counts: torch.Tensor, pieces: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        counts : `torch.Tensor`, (batch, tokens)
            The number of pieces of each word, 0 in padding.
        pieces : `torch.Tensor`, (batch, pieces)
            Those of all words of a sentence, one after the other.

        # Returns

        `torch.Tensor`, (batch, tokens, dim)
        """
        nothing: Pieces = []
        sentences = words_of({"counts": counts, "pieces": pieces})
        vectors, (_, places) = self._read([nothing, words] for words in sentences)
        return padded(self._pooled(vectors, places), counts > 0)
