"""Files of scores: of each word (explanations of WMT22) or of each sentence."""

import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from allennlp_nef.data.formats.characters import check_words
from allennlp_nef.data.formats.tag_files import TagFile, TaggedSentence
from allennlp_nef.data.formats.text_files import is_blank, number_of, read_lines
from allennlp_nef.data.formats.wmt_layouts import SCORE_LAYOUTS, read_table
from allennlp_nef.errors import DataFormatError, quote


def read_word_scores(
    path: str, field: str = "bad_probabilities", encoding: str = "utf-8"
) -> TagFile:
    """
    A number for each word, higher for worse ones.

    A file has the numbers of a sentence a line, as the explanations of WMT22, or it is what `predict` writes with the
    predictor `word_qe`: an answer in JSON a line.

    # Parameters

    field : `str`, optional (default = `"bad_probabilities"`)
        Of answers, what the numbers are: names and indices (from 0) with points between, such as `trace.attention` or
        `attention.0`. Of several rows of numbers, such as the attention of each step, it is the sum for each word.

    # Raises

    `DataFormatError`: what `read_lines` raises, an empty file or line, what is no number, an answer without the field
    or with another number of scores than words, a word that `check_words` refuses.
    """
    sentences = []
    for number, line in enumerate(read_lines(path, encoding), 1):
        location = f"{path}:{number}"
        words = None
        if line.lstrip().startswith("{"):
            answer = _answer(line, location)
            words = answer["tokens"]
            scores = _word_scores(answer, field, location)
        else:
            scores = [_number(text, location) for text in line.split()]
        if not scores:
            raise DataFormatError(f"{location}: expected a number for each word, got none")
        sentences.append(TaggedSentence(scores, [number] * len(scores), words))
    if not sentences:
        raise DataFormatError(f"{path}:1: expected at least one sentence, got an empty file")
    return TagFile(path, sentences)


def read_sentence_scores(path: str, encoding: str = "utf-8") -> TagFile:
    """
    A number for each sentence: a number a line, or one of the `SCORE_LAYOUTS`.

    # Raises

    `DataFormatError`: what `read_lines` and `read_table` raise, what is no number, sentences out of order, another
    language pair or system than in the first row.
    """
    lines = read_lines(path, encoding)
    if not any("\t" in line for line in lines):
        if not lines:
            raise DataFormatError(f"{path}:1: expected at least one sentence, got an empty file")
        scores = [_number(line.strip(), f"{path}:{i}") for i, line in enumerate(lines, 1)]
        return TagFile(path, [TaggedSentence([x], [i], None) for i, x in enumerate(scores, 1)])
    table = read_table(path, SCORE_LAYOUTS, encoding)
    table.check_same([0, 1])
    sentences = []
    for number, (line, cells) in enumerate(table.rows):
        table.check_number(number)
        sentences.append(TaggedSentence([_number(cells[3], f"{path}:{line}")], [line], None))
    return TagFile(path, sentences, system=table.system())


def format_sentence_score(
    language_pair: str, method: str, sentence_index: int, score: float
) -> str:
    """A row of a submission of scores, without its line end: language pair, system, sentence (from 0), score."""
    return f"{language_pair}\t{method}\t{sentence_index}\t{score!r}"


def _answer(line: str, location: str) -> Any:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataFormatError(
            f"{location}: expected a JSON object, got {quote(line.strip())} ({error})"
        ) from None
    tokens = answer.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise DataFormatError(f"{location}: expected an answer with tokens, got {quote(line)}")
    check_words(tokens, location)
    return answer


def _word_scores(answer: Any, field: str, location: str) -> list[float]:
    """The numbers of a field, one a token of the answer."""
    value = answer
    for name in field.split("."):
        try:
            value = value[int(name) if isinstance(value, list) else name]
        except (IndexError, KeyError, TypeError, ValueError):
            raise DataFormatError(
                f"{location}: expected the field {field}, got no {quote(name)}"
            ) from None
    rows = value if isinstance(value, list) and value and isinstance(value[0], list) else [value]
    length = len(answer["tokens"])
    for row in rows:
        if not _are_numbers(row) or len(row) != length:
            raise DataFormatError(
                f"{location}: expected {length} numbers as {field}, one a token, got {quote(row)}"
            )
    sums = [sum(map(float, column)) for column in zip(*rows)]
    if not all(map(math.isfinite, sums)):
        raise DataFormatError(
            f"{location}: expected numbers with a sum as {field}, got {quote(rows)}"
        )
    return sums


def _are_numbers(row: Any) -> bool:
    if not isinstance(row, Sequence) or isinstance(row, str):
        return False
    return all(type(x) in (int, float) and abs(x) <= sys.float_info.max for x in row)


def _number(text: str, location: str) -> float:
    number = number_of(text)
    if is_blank(text) or not math.isfinite(number):
        raise DataFormatError(f"{location}: expected a number, got {quote(text)}")
    return number
