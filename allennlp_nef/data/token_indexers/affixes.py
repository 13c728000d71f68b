from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary
from overrides import overrides

from allennlp_nef.data.affixes import CASES, affix_namespaces, case_of

Row = tuple[list[int], list[int], int]
MAX_WORDS = 2**16
"""Whose indices are kept."""


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
        self._key: list[tuple[int, int]] = []
        self._sides: list[list[dict[str, int]]] = []
        self._rows: dict[str, Row] = {}

    @overrides
    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        word = token.ensure_text()
        for length, (prefixes, suffixes) in enumerate(zip(self._prefixes, self._suffixes), 1):
            counter[prefixes][word[:length]] += 1
            counter[suffixes][word[-length:]] += 1

    @overrides
    def tokens_to_indices(
        self, tokens: list[Token], vocabulary: Vocabulary
    ) -> dict[str, list[Any]]:
        sides = [
            [vocabulary.get_token_to_index_vocabulary(name) for name in namespaces]
            for namespaces in (self._prefixes, self._suffixes)
        ]
        # Words come again and again. A vocabulary that has grown is another one.
        key = [(id(table), len(table)) for tables in sides for table in tables]
        if key != self._key or len(self._rows) > MAX_WORDS:
            self._key, self._sides, self._rows = key, sides, {}
        rows = [self._row(token.ensure_text()) for token in tokens]
        indices: dict[str, list[Any]] = {
            "prefixes": [row[0] for row in rows],
            "suffixes": [row[1] for row in rows],
        }
        if self._case:
            indices["case"] = [row[2] for row in rows]
        return indices

    def _row(self, word: str) -> Row:
        """The indices of the prefixes, of the suffixes and of the case of a word."""
        row = self._rows.get(word)
        if row is None:
            unknown = 1
            prefixes, suffixes = (list(enumerate(tables, 1)) for tables in self._sides)
            row = (
                [table.get(word[:length], unknown) for length, table in prefixes],
                [table.get(word[-length:], unknown) for length, table in suffixes],
                CASES.index(case_of(word)) + 1 if self._case else 0,
            )
            self._rows[word] = row
        return row

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        empty: IndexedTokenList = {"prefixes": [], "suffixes": []}
        return {**empty, "case": []} if self._case else empty

    @overrides
    def as_padded_tensor_dict(
        self, tokens: IndexedTokenList, padding_lengths: dict[str, int]
    ) -> dict[str, torch.Tensor]:
        padded = {}
        for name, rows in tokens.items():
            length = padding_lengths[name]
            shape = (length,) if name == "case" else (length, len(self._prefixes))
            missing = [0 if name == "case" else [0] * len(self._prefixes)] * (length - len(rows))
            values = [*rows[:length], *missing]
            padded[name] = torch.tensor(values) if values else torch.zeros(shape, dtype=torch.long)
        return padded
