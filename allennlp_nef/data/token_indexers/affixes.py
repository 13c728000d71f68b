from typing import Any, Dict, List

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary
from overrides import overrides

from allennlp_nef.data.affixes import CASES, affix_namespaces, case_of


@TokenIndexer.register("affixes")
class AffixesIndexer(TokenIndexer):
    """The prefixes and suffixes of a word, and optionally its case, for the embedder of the same name.

    Section 5.1 of Martins & Kreutzer (EMNLP 2017): prefixes and suffixes of 1 to 4 characters. A shorter word is its
    own affix. Each length and side has a vocabulary namespace of its own: "<namespace>_prefix_1" and so on to
    "<namespace>_suffix_4". To make rare affixes unknown, name these in `vocabulary.min_count`.

    Gives `prefixes` and `suffixes`, (tokens, max_length) indices, and with `case` also `case`, (tokens,): the index in
    `CASES` plus 1. Registered as a `TokenIndexer` with name "affixes".

    # Parameters

    namespace : `str`, optional (default = `"affixes"`)
    max_length : `int`, optional (default = `4`)
        At least 1.
    case : `bool`, optional (default = `False`)
        Whether to add the case: lower, upper, capitalized or mixed case, number, word with digits, or other.
    """

    def __init__(
        self, namespace: str = "affixes", max_length: int = 4, case: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if type(max_length) is not int or max_length < 1:
            raise ConfigurationError(
                f"max_length: expected an integer of at least 1, got {max_length!r}"
            )
        self._case = case
        self._prefixes, self._suffixes = affix_namespaces(namespace, max_length)

    @overrides
    def count_vocab_items(self, token: Token, counter: Dict[str, Dict[str, int]]) -> None:
        word = token.ensure_text()
        for length, (prefixes, suffixes) in enumerate(zip(self._prefixes, self._suffixes), 1):
            counter[prefixes][word[:length]] += 1
            counter[suffixes][word[-length:]] += 1

    @overrides
    def tokens_to_indices(
        self, tokens: List[Token], vocabulary: Vocabulary
    ) -> Dict[str, List[Any]]:
        words = [token.ensure_text() for token in tokens]
        unknown = 1
        indices: Dict[str, List[Any]] = {}
        for side, namespaces in (("prefixes", self._prefixes), ("suffixes", self._suffixes)):
            tables = [vocabulary.get_token_to_index_vocabulary(name) for name in namespaces]
            indices[side] = [
                [
                    table.get(word[:length] if side == "prefixes" else word[-length:], unknown)
                    for length, table in enumerate(tables, 1)
                ]
                for word in words
            ]
        if self._case:
            indices["case"] = [CASES.index(case_of(word)) + 1 for word in words]
        return indices

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        empty: IndexedTokenList = {"prefixes": [], "suffixes": []}
        return {**empty, "case": []} if self._case else empty

    @overrides
    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: Dict[str, int]
    ) -> Dict[str, torch.Tensor]:
        padded = {}
        for name, rows in tokens.items():
            length = padding_lengths[name]
            shape = (length,) if name == "case" else (length, len(self._prefixes))
            padded[name] = torch.zeros(shape, dtype=torch.long)
            if rows:
                padded[name][: len(rows)] = torch.tensor(rows[:length])
        return padded
