"""The `affixes` token embedder."""

import torch
from allennlp.data import Vocabulary
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_nef.data.affixes import affix_namespaces


@TokenEmbedder.register("affixes")
class AffixesEmbedder(TokenEmbedder):
    """Embeds the affixes of a word: the sum over its prefixes, concatenated with the sum over its suffixes.

    Section 5.1 of Martins & Kreutzer (EMNLP 2017), with a table for each length and side. With the 64-dimensional words
    of the paper, the input has 64 + 50 + 50 = 164 dimensions.

    # Parameters

    vocab : `Vocabulary`
        Set by AllenNLP.
    embedding_dim : `int`, optional (default = `50`)
        The dimension of each side.
    namespace : `str`, optional (default = `"affixes"`)
        The namespace of the indexer.
    max_length : `int`, optional (default = `4`)
        The maximum length of the indexer.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        embedding_dim: int = 50,
        namespace: str = "affixes",
        max_length: int = 4,
    ) -> None:
        super().__init__()
        self.prefix_tables, self.suffix_tables = (
            torch.nn.ModuleList(
                Embedding(embedding_dim, vocab=vocab, vocab_namespace=name) for name in names
            )
            for names in affix_namespaces(namespace, max_length)
        )
        self._output_dim = 2 * embedding_dim

    def get_output_dim(self) -> int:
        return self._output_dim

    def forward(self, prefixes: torch.Tensor, suffixes: torch.Tensor) -> torch.Tensor:
        """Affixes (batch, tokens, max_length) each -> vectors (batch, tokens, output_dim)."""
        sums = _sum_of(self.prefix_tables, prefixes), _sum_of(self.suffix_tables, suffixes)
        return torch.cat(sums, dim=-1)


def _sum_of(tables: torch.nn.ModuleList, indices: torch.Tensor) -> torch.Tensor:
    pairs = zip(tables, indices.unbind(-1), strict=True)
    return torch.stack([table(column) for table, column in pairs]).sum(0)
