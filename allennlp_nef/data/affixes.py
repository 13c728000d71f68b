"""The `affixes` token indexer and token embedder."""

from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary
from allennlp.modules.token_embedders import Embedding, TokenEmbedder

from allennlp_nef.options import check_integers


def affix_namespaces(namespace: str, max_length: int) -> tuple[list[str], list[str]]:
    """Returns the vocabulary namespaces of the prefixes and of the suffixes of 1 to `max_length` characters."""
    lengths = range(1, max_length + 1)
    prefixes = [f"{namespace}_prefix_{length}" for length in lengths]
    return prefixes, [f"{namespace}_suffix_{length}" for length in lengths]


@TokenIndexer.register("affixes")
class AffixesIndexer(TokenIndexer):
    """Indexes the prefixes and suffixes of words, for the `affixes` token embedder.

    Section 5.1 of Martins & Kreutzer (EMNLP 2017) uses prefixes and suffixes of 1 to 4 characters. A shorter word is
    its own affix. Each side and length has its own vocabulary namespace, from "<namespace>_prefix_1" to
    "<namespace>_suffix_4". To map rare affixes to the unknown affix, list these namespaces in `vocabulary.min_count`.

    Returns `prefixes` and `suffixes`, (tokens, max_length). Padding is 0.

    # Parameters

    namespace : `str`, optional (default = `"affixes"`)
    max_length : `int`, optional (default = `4`)
    """

    def __init__(self, namespace: str = "affixes", max_length: int = 4, **kwargs: Any) -> None:
        check_integers(max_length=max_length)
        super().__init__(**kwargs)
        self._prefixes, self._suffixes = affix_namespaces(namespace, max_length)

    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        word = token.ensure_text()
        for length, (prefixes, suffixes) in enumerate(zip(self._prefixes, self._suffixes), 1):
            counter[prefixes][word[:length]] += 1
            counter[suffixes][word[-length:]] += 1

    def tokens_to_indices(
        self, tokens: list[Token], vocabulary: Vocabulary
    ) -> dict[str, list[Any]]:
        words = [token.ensure_text() for token in tokens]
        prefixes, suffixes = (
            list(enumerate(map(vocabulary.get_token_to_index_vocabulary, namespaces), 1))
            for namespaces in (self._prefixes, self._suffixes)
        )
        unknown = 1
        return {
            "prefixes": [[table.get(word[:n], unknown) for n, table in prefixes] for word in words],
            "suffixes": [
                [table.get(word[-n:], unknown) for n, table in suffixes] for word in words
            ],
        }

    def get_empty_token_list(self) -> IndexedTokenList:
        return {"prefixes": [], "suffixes": []}

    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: dict[str, int]
    ) -> dict[str, torch.Tensor]:
        tensors = {}
        for name, rows in tokens.items():
            tensors[name] = torch.zeros(
                padding_lengths[name], len(self._prefixes), dtype=torch.long
            )
            if rows:
                tensors[name][: len(rows)] = torch.tensor(rows)
        return tensors


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
        The maximum length of the indexer. Another one raises a `ConfigurationError`.
    """

    def __init__(
        self,
        vocab: Vocabulary,
        embedding_dim: int = 50,
        namespace: str = "affixes",
        max_length: int = 4,
    ) -> None:
        super().__init__()
        check_integers(embedding_dim=embedding_dim, max_length=max_length)
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
        length, max_length = len(self.prefix_tables), prefixes.size(-1)
        if length != max_length:
            raise ConfigurationError(
                f"max_length: expected {max_length} as in the indexer of affixes, got {length}"
            )
        sums = _sum_of(self.prefix_tables, prefixes), _sum_of(self.suffix_tables, suffixes)
        return torch.cat(sums, dim=-1)


def _sum_of(tables: torch.nn.ModuleList, indices: torch.Tensor) -> torch.Tensor:
    pairs = zip(tables, indices.unbind(-1), strict=True)
    return torch.stack([table(column) for table, column in pairs]).sum(0)
