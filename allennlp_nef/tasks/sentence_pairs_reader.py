"""Sentence pairs with a class or score: SICK and SNLI parsers, and the `sentence_pairs` reader."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance
from allennlp.data.fields import MetadataField, SequenceLabelField, TensorField

from allennlp_nef.data.dataset_readers.base import TextReader, text_field
from allennlp_nef.data.dataset_readers.conllu import ConlluSentence, read_conllu, tree_of
from allennlp_nef.data.fields import ClassField
from allennlp_nef.data.files import is_json_lines, parse_lines, read_objects
from allennlp_nef.errors import DataFormatError, quote

MIN_SCORE, MAX_SCORE = 1, 5
NO_CLASS = "-"
"""The class of SNLI pairs whose annotators did not agree."""
# The columns of SICK and the fields of SNLI that are read, and their names in this module.
_NAMES = {
    "sentence_A": "first",
    "sentence_B": "second",
    "entailment_judgment": "label",
    "entailment_label": "label",
    "relatedness_score": "score",
    "sentence1": "first",
    "sentence2": "second",
    "gold_label": "label",
}


def read_rows(path: str, encoding: str = "utf-8") -> Iterator[tuple[int, dict[str, str]]]:
    """Yields the line number of each pair, and a dict with `first`, `second` and, if the file has them, `label` and
    `score`.

    A file whose name ends in `.jsonl` has the SNLI format, one JSON object per line. All others have the SICK format, a
    tab-separated table whose first line has the column names. Empty lines are skipped.

    # Raises

    `DataFormatError`: any error of `read_lines`, a first line without the names of the sentences, a pair without its
    sentences, or a number of columns that differs from the number of names.
    """
    read = read_objects if is_json_lines(path) else _read_table
    for number, values in read(path, encoding):
        row = {_NAMES[key]: values[key] for key in _NAMES if values.get(key) is not None}
        for name in {"label", "score"} & row.keys():
            if type(row[name]) in (int, float):
                row[name] = str(row[name])
        is_complete = {"first", "second"} <= row.keys()
        if not is_complete or not all(isinstance(v, str) and v.strip() for v in row.values()):
            raise DataFormatError(
                f"{path}:{number}: expected sentence_A and sentence_B (.jsonl: sentence1 and sentence2), and no empty "
                f"value, got {quote(row)}"
            )
        yield number, row


def _read_table(path: str, encoding: str) -> Iterator[tuple[int, dict[str, Any]]]:
    names: list[str] = []
    for number, cells in parse_lines(path, lambda line: line.split("\t"), encoding):
        if not names:
            names = cells
            if not {"sentence_A", "sentence_B"} <= {*names}:
                raise DataFormatError(
                    f"{path}:{number}: expected column names such as sentence_A and sentence_B, got {quote(names)}"
                )
        elif len(cells) == len(names):
            yield number, dict(zip(names, cells))
        else:
            raise DataFormatError(
                f"{path}:{number}: expected {len(names)} columns separated by tabs, got {len(cells)}"
            )


@DatasetReader.register("sentence_pairs")
class SentencePairsReader(TextReader):
    """Reads pairs of sentences with a class or a score: the tables of SICK, and the JSON lines of SNLI (files whose
    names end in `.jsonl`).

    An instance has the fields `first` and `second` (`TextField`), if it is known `label` (`ClassField`) or `score`
    (`TensorField`, from 1 to 5), and `metadata`, a dict with the words of both sentences as `sides`. SNLI pairs whose
    annotators did not agree are skipped, and a warning gives their number.

    # Parameters

    gold : `str`, optional (default = `"label"`)
        What the model predicts: "label" or "score".
    parses : `str`, optional (default = `None`, no trees)
        A folder with dependency trees: for `x/train.txt`, the file `train.conllu`, with the trees of the first and
        second sentence of each pair in turn. An instance then has the `first_heads` and `second_heads` fields.
    names : `Sequence[str]`, optional (default = `("first", "second")`)
        The names of the fields of the sentences. `esim` from allennlp-models expects "premise" and "hypothesis".
    tokenizer, token_indexers, max_tokens, label_namespace, encoding, max_instances
        See `TextReader` and `NefDatasetReader`. `max_tokens` limits the longer sentence of a pair.
    """

    def __init__(
        self,
        gold: str = "label",
        parses: str | None = None,
        names: Sequence[str] = ("first", "second"),
        **kwargs: Any,
    ) -> None:
        if gold not in ("label", "score"):
            raise ConfigurationError(f"gold must be label or score, not {gold!r}")
        self.text_fields = tuple(names)
        super().__init__(**kwargs)
        self.gold = gold
        self.parses = parses

    def examples(self, file_path: str) -> Iterator[dict[str, Any]]:
        num_undecided = 0
        trees_path = str(
            Path(self.parses or "", f"{Path(file_path.removesuffix('.gz')).stem}.conllu")
        )
        trees = None if self.parses is None else read_conllu(trees_path)
        for number, row in read_rows(file_path, self.encoding):
            place = f"{file_path}:{number}"
            first, second = self.split_line(row["first"]), self.split_line(row["second"])
            heads = None
            if trees is not None:
                heads = [_next_heads(trees, words, place) for words in (first, second)]
            gold: str | float | None = row.get(self.gold)
            if self.gold == "score" and gold is not None:
                gold = _score(row["score"], place)
            if self.gold == "label" and gold == NO_CLASS:
                num_undecided += 1
            else:
                yield {"first": first, "second": second, self.gold: gold, "heads": heads}
        for rest in trees or ():
            raise DataFormatError(
                f"{trees_path}:{rest.lines[0]}: expected two trees for each pair of {file_path}, got another tree"
            )
        if num_undecided:
            self.warn(f"{file_path}: left out {num_undecided} pairs without an agreed class.")

    def num_tokens(self, example: Any) -> int:
        return max(len(example["first"]), len(example["second"]))

    def text_to_instance(
        self,
        first: str | list[str],
        second: str | list[str],
        label: str | None = None,
        score: float | None = None,
        heads: Sequence[list[int]] | None = None,
    ) -> Instance:
        """Returns the instance of two sentences, each a string or a list of words, with their label, their score from 1
        to 5 and the heads of both trees if they are known. A head is the number of a word, from 1, or 0 for the root.
        """
        sides = [self.split(first), self.split(second)]
        texts = list(map(text_field, sides))
        fields: dict[str, Field] = dict(zip(self.text_fields, texts))
        if label is not None:
            fields["label"] = ClassField(label, self.label_namespace)
        if score is not None:
            fields["score"] = TensorField(torch.tensor(score, dtype=torch.float))
        for name, tokens, numbers in zip(self.text_fields, texts, heads or ()):
            fields[f"{name}_heads"] = SequenceLabelField(numbers, tokens, "head_index_tags")
        fields["metadata"] = MetadataField({"sides": sides})
        return Instance(fields)


def _score(text: str, place: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not MIN_SCORE <= score <= MAX_SCORE:
        raise DataFormatError(
            f"{place}: expected a score from {MIN_SCORE} to {MAX_SCORE}, got {quote(text)}"
        )
    return score


def _next_heads(trees: Iterator[ConlluSentence], words: list[str], place: str) -> list[int]:
    """Returns the heads of the next tree of a file, which must have the words of a sentence of the pair at `place`."""
    sentence = next(trees, None)
    if sentence is None:
        raise DataFormatError(f"{place}: expected a tree for each sentence, got too few (parses)")
    forms = sentence.column("form")
    if forms != words:
        raise DataFormatError(
            f"{sentence.path}:{sentence.lines[0]}: expected the words of {place}, {quote(' '.join(words))}, "
            f"got {quote(' '.join(forms))}"
        )
    return tree_of(sentence)[0]
