"""The `word_pieces` token embedder."""

from allennlp.modules.token_embedders import TokenEmbedder
from torch import Tensor

from allennlp_nef.pretrained.transformer import PretrainedTransformer


@TokenEmbedder.register("word_pieces")
class WordPiecesEmbedder(PretrainedTransformer, TokenEmbedder):
    """Embeds each word of a sentence with a pretrained transformer.

    Takes the output of the `word_pieces` indexer. The options are those of `PretrainedTransformer`.
    """

    num_sides = 1

    def get_output_dim(self) -> int:
        return self.word_dim

    def forward(self, counts: Tensor, pieces: Tensor) -> Tensor:
        """Returns word vectors (batch, words, dim) from `counts` (batch, words) and `pieces` (batch, pieces)."""
        return self.embed_words({"counts": counts, "pieces": pieces})[0]
