"""Registered token indexers."""

from allennlp_nef.compat import require_allennlp

require_allennlp()

from itertools import chain
from typing import Any

import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import IndexedTokenList, Token, TokenIndexer, Vocabulary
from overrides import overrides

from allennlp_nef.data.affixes import CASES, affix_namespaces, case_of
from allennlp_nef.pretrained import load_tokenizer
from allennlp_nef.resources import TRANSFORMER_NAME, archived_path

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


@TokenIndexer.register("word_pieces")
class WordPiecesIndexer(TokenIndexer):
    """The pieces of each word, from the tokenizer of a pretrained transformer, for `transformer_pair` and the embedder
    `word_pieces`.

    There are no special pieces, such as [CLS]. A word for which the tokenizer has no piece gets the unknown piece, so
    that each word has at least one. AllenNLP's vocabulary plays no part.

    Gives `counts`, the number of pieces of each word, (tokens,), and `pieces`, those of all words one after the other,
    (pieces,). Registered as a `TokenIndexer` with name "word_pieces".

    # Parameters

    model_name : `str`, optional (default = `"xlm-roberta-base"`)
        A name on huggingface.co, or a folder. The same as in `transformer_pair` or the embedder. The reader of an
        archive takes the tokenizer that the archive holds.

    # Raises

    `ConfigurationError`: the tokenizer cannot be found.
    """

    def __init__(self, model_name: str = "xlm-roberta-base", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model_name = model_name
        self.tokenizer = load_tokenizer(model_name)

    @classmethod
    @overrides(check_signature=False)
    def from_params(cls, params: Params, *args: Any, **extras: Any) -> "WordPiecesIndexer":
        folder = archived_path(TRANSFORMER_NAME, extras)
        if folder:
            params["model_name"] = folder
        return super().from_params(params, *args, **extras)

    @overrides
    def count_vocab_items(self, token: Token, counter: dict[str, dict[str, int]]) -> None:
        pass

    @overrides
    def tokens_to_indices(
        self, tokens: list[Token], vocabulary: Vocabulary
    ) -> dict[str, list[Any]]:
        if not tokens:
            return self.get_empty_token_list()
        words = [token.ensure_text() for token in tokens]
        encoded = self.tokenizer(words, add_special_tokens=False, verbose=False)["input_ids"]
        pieces = [of_word or [self.tokenizer.unk_token_id] for of_word in encoded]
        return {"counts": list(map(len, pieces)), "pieces": list(chain.from_iterable(pieces))}

    @overrides
    def get_empty_token_list(self) -> IndexedTokenList:
        return {"counts": [], "pieces": []}
