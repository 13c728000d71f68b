"""The reader of pairs of sentences, with or without trees."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import SequenceLabelField
from overrides import overrides

from allennlp_nef.data.dataset_readers.tagging_reader import Text, UntaggedReader
from allennlp_nef.data.fields import ClassField, NumberField
from allennlp_nef.data.formats.characters import OddCharacters, check_labels
from allennlp_nef.data.formats.conllu import (
    ConlluSentence,
    check_heads,
    read_conllu,
    tree_of,
)
from allennlp_nef.data.formats.sentence_pairs import (
    MAX_SCORE,
    MIN_SCORE,
    NO_CLASS,
    SentencePair,
    read_sentence_pairs,
)
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.errors import DataFormatError, quote

Heads = tuple[list[int], list[int]] | None
"""Of both sentences the head of each word, from 1, or 0; None without trees."""


@DatasetReader.register("sentence_pairs")
class SentencePairsReader(UntaggedReader):
    """
    Reads pairs of sentences with a class or a score: the tables of SICK and the JSON lines of SNLI. The module
    `allennlp_nef.data.formats.sentence_pairs` states the formats.

    An instance has the fields `first` and `second` (`TextField`), where it is known `label` (`ClassField`) or `score`
    (`NumberField`, from 1 to 5), and `metadata` (`SentencesMetadata`). Where a file has no column of what is to be
    predicted, the pairs are without it, and a warning says so. Pairs of SNLI whose annotators did not agree are left
    out, and a warning has their number.

    Registered as a `DatasetReader` with name "sentence_pairs".

    # Parameters

    gold : `str`, optional (default = `"label"`)
        What is to be predicted: "label", the class; or "score", the relatedness.
    parses : `str`, optional (default = `None`, no trees)
        A folder with the dependency trees of the sentences: those of `x/train.txt` are in its file `train.conllu`, the
        first sentence of a pair, then the second. An instance then has the fields `first_heads` and `second_heads`.
    names : `Sequence[str]`, optional (default = `("first", "second")`)
        The names of the fields of the sentences, for models that call them otherwise: `esim` of allennlp-models has
        "premise" and "hypothesis".
    tokenizer, token_indexers, encoding, max_tokens, max_instances
        See `UntaggedReader`. A pair is as long as its longer sentence.
    """

    text_fields: ClassVar[tuple[str, ...]] = ("first", "second")

    def __init__(
        self,
        gold: str = "label",
        parses: str | None = None,
        names: Sequence[str] = ("first", "second"),
        **kwargs: Any,
    ) -> None:
        own = {name for name in names if isinstance(name, str)} - {"label", "score", "metadata"}
        if len(own) != 2 or len(names) != 2:
            raise ConfigurationError(
                f"names: expected two names, and none of the fields label, score and metadata, got {names!r}"
            )
        self.text_fields = tuple(names)  # type: ignore[misc]
        super().__init__(**kwargs)
        if gold not in ("label", "score"):
            raise ConfigurationError(f"gold: expected label or score, got {gold!r}")
        self.gold = gold
        self.parses = parses

    @overrides(check_signature=False)
    def examples(self, file_path: TextPath) -> Iterator[tuple[TextPath, SentencePair, Heads]]:
        """Each pair after the path of its file, and the heads of its sentences."""
        unknown = undecided = 0

        def parse(
            both: tuple[SentencePair, Heads], odd: OddCharacters
        ) -> tuple[SentencePair, Heads]:
            for words in (both[0].first, both[0].second):
                odd.check(words, f"{file_path}:{both[0].line}")
            return both

        for pair, heads in self.parse_sentences(self._with_trees(file_path), parse):
            if self.gold == "label" and pair.label == NO_CLASS:
                undecided += 1
                continue
            unknown += getattr(pair, self.gold) is None
            yield file_path, pair, heads
        if undecided:
            self.warn("%s: left out %d pairs whose annotators did not agree.", file_path, undecided)
        if unknown:
            self.warn("%s: %d pairs have no %s.", file_path, unknown, self.gold)

    def _with_trees(self, path: TextPath) -> Iterator[tuple[SentencePair, Heads]]:
        """Each pair, and where the reader has `parses` the heads of its trees.

        The trees of a pair that cannot be read are passed over.

        # Raises

        `DataFormatError`: what `read_conllu` and `tree_of` raise, other words than those of the pair, fewer or more
        sentences than the pairs have.
        """
        if self.parses is None:
            for pair in read_sentence_pairs(path, self.split, self.encoding, self.on_error):
                yield pair, None
            return
        trees_path = str(Path(self.parses) / f"{Path(str(path)).stem}.conllu")
        sentences = read_conllu(trees_path, self.encoding)
        unread: list[DataFormatError] = []  # the errors of pairs whose trees come next

        def on_unread(error: DataFormatError) -> None:
            self.on_error(error)
            unread.append(error)

        def pass_over() -> None:
            for _ in range(2 * len(unread)):
                next(sentences, None)
            unread.clear()

        for pair in read_sentence_pairs(path, self.split, self.encoding, on_unread):
            pass_over()
            place = f"{path}:{pair.line}"
            both = [
                _with_words(next(sentences, None), words, trees_path, place)
                for words in (pair.first, pair.second)
            ]
            try:
                first, second = (tree_of(sentence, trees_path).heads for sentence in both)
            except DataFormatError as error:
                self.on_error(error)
                continue
            yield pair, (first, second)
        pass_over()
        more = next(sentences, None)
        if more is not None:
            raise DataFormatError(
                f"{trees_path}:{more.lines[0]}: expected the end of the file, as in {path}, got another sentence"
            )

    @overrides
    def num_tokens(self, example: Any) -> int:
        _, pair, _ = example
        return max(len(pair.first), len(pair.second))

    @overrides
    def to_instance(self, example: Any) -> Instance:
        path, pair, heads = example
        gold = {self.gold: getattr(pair, self.gold)}
        place = f"{path}:{pair.line}"
        return self.text_to_instance(pair.first, pair.second, **gold, heads=heads, place=place)

    @overrides(check_signature=False)
    def text_to_instance(
        self,
        first: Text,
        second: Text,
        label: str | None = None,
        score: float | None = None,
        heads: Heads | None = None,
        place: str | None = None,
    ) -> Instance:
        """
        # Parameters

        first, second : `str` or `list[str]`
            A sentence, or its words.
        label : `str`, optional (default = `None`, not known)
        score : `float`, optional (default = `None`, not known)
            From 1 to 5.
        heads : `tuple[list[int], list[int]]`, optional (default = `None`, no trees)
            Of each sentence the number of the head of each word, from 1; 0 for the root.
        place : `str`, optional (default = `None`)
            `file:line`, for errors.

        # Raises

        `DataFormatError`: a sentence without words, a word or a label that `check_words` or `check_labels` refuses,
        another score, heads that are not a tree of the words.
        """
        fields: Any = self.fields_of(self.words_of(first, "first"), self.words_of(second, "second"))
        if label is not None:
            check_labels([label], "label")
            fields["label"] = ClassField(label, place)
        if score is not None:
            if not MIN_SCORE <= score <= MAX_SCORE:
                raise DataFormatError(
                    f"score: expected a number from {MIN_SCORE} to {MAX_SCORE}, got {quote(score)}"
                )
            fields["score"] = NumberField(score)
        for name, numbers in zip(self.text_fields, heads or ()):
            check_heads(numbers, len(fields[name]), f"{name}_heads")
            fields[f"{name}_heads"] = SequenceLabelField(numbers, fields[name], "head_index_tags")
        return Instance(fields)


def _with_words(
    sentence: ConlluSentence | None, words: list[str], trees_path: str, place: str
) -> ConlluSentence:
    """The sentence of a file of trees, which has to have the words of the sentence of a pair."""
    if sentence is None:
        raise DataFormatError(
            f"{trees_path}: expected the tree of {place}, got the end of the file"
        )
    forms = sentence.column("form")
    if forms != words:
        raise DataFormatError(
            f"{trees_path}:{sentence.lines[0]}: expected the words of {place}, "
            f"{quote(' '.join(words))}, got {quote(' '.join(forms))}"
        )
    return sentence
