"""The files that `score-tags` compares, sentence by sentence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from allennlp_nef.data.chunks import OUTSIDE, split_tag
from allennlp_nef.data.dataset_readers.conll_tags import CONLLEVAL_BOUNDARY, NO_TAG, read_columns
from allennlp_nef.data.dataset_readers.conllu import UNKNOWN, read_conllu
from allennlp_nef.data.text_files import read_lines
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.layouts import BAD, OK, check_tags, read_table
from allennlp_nef.qe.spans import ErrorSpan, read_segments

# All of fewer lines can have an odd number of tags by chance.
MIN_LINES = 20
# The tag of a sentence that a gold file of WMT23 leaves out.
LEFT_OUT = "hallucination"


@dataclass
class TaggedSentence:
    """The tags of a sentence, or its one score."""

    tags: list[Any]
    """None for a word without a gold tag, which is not scored."""
    lines: list[int]
    """The line of each tag, from 1."""
    words: list[str] = field(default_factory=list)
    """What is tagged; empty if the file does not contain it."""


@dataclass
class TagFile:
    """The tagged sentences of a file."""

    path: str
    sentences: list[TaggedSentence]
    language_pair: str | None = None
    kind: str | None = None
    """What is tagged, in tables: "mt" (words), "gap" or "source"."""
    has_gaps: bool = False
    """Whether the file also contains tags of gaps, which were left out."""

    @property
    def tags(self) -> list[list[Any]]:
        return [sentence.tags for sentence in self.sentences]


def read_conll(
    path: str,
    column: int,
    word_column: int = 0,
    comment_prefix: str | None = None,
    are_chunks: bool = True,
    encoding: str = "utf-8",
) -> TagFile:
    """The tags in a column of CoNLL."""
    file = TagFile(path, [])
    for sentence in read_columns(path, encoding, comment_prefix, CONLLEVAL_BOUNDARY):
        width, lines = len(sentence.rows[0]), sentence.lines
        for index in (column, word_column):
            if not -width <= index < width:
                raise DataFormatError(
                    f"{path}:{lines[0]}: expected a column {index}, got {width} in total"
                )
        words = [row[word_column] for row in sentence.rows]
        tags = [None if row[column] in NO_TAG else row[column] for row in sentence.rows]
        for tag, line in zip(tags, lines) if are_chunks else ():
            try:
                split_tag(OUTSIDE if tag is None else tag)
            except ValueError as error:
                raise DataFormatError(f"{path}:{line}: {error} in column {column}") from None
        has_words = (column - word_column) % width != 0
        file.sentences.append(TaggedSentence(tags, lines, words if has_words else []))
    return file


def read_conllu_tags(path: str, column: str, encoding: str = "utf-8") -> TagFile:
    """The tags in a column of CoNLL-U."""
    file = TagFile(path, [])
    for sentence in read_conllu(path, encoding):
        tags, words = sentence.column(column), sentence.column("form")
        no_tag = UNKNOWN if column == "upos" else None
        gold = [None if tag == no_tag else tag for tag in tags]
        file.sentences.append(TaggedSentence(gold, sentence.lines, words))
    if {tag for tags in file.tags for tag in tags} <= {UNKNOWN, None}:
        line = file.sentences[0].lines[0]
        raise DataFormatError(f"{path}:{line}: expected tags in {column}, got {UNKNOWN} everywhere")
    return file


def read_word_tags(path: str, encoding: str = "utf-8") -> TagFile:
    """OK and BAD in a `.tags` file or in a table of WMT. A `LEFT_OUT` sentence has this one tag."""
    file = TagFile(path, [])
    lines = list(read_lines(path, encoding))
    if any("\t" in line and not {OK, BAD}.issuperset(line.split()) for _, line in lines):
        _read_word_table(file, encoding)
        return file
    for number, line in lines:
        tags = line.split()
        check_tags(tags or [""], f"{path}:{number}")
        file.sentences.append(TaggedSentence(tags, [number] * len(tags)))
    return file


def _read_word_table(file: TagFile, encoding: str) -> None:
    rows = read_table(file.path, (5, 6, 7), encoding).rows
    for line, cells in rows:
        *names, sentence, index, word, tag = cells
        words = [(index, word, tag)]
        if len(cells) == 6:
            # A row is a sentence: language pair, "gold", sentence, text, words, tags.
            names, sentence = [cells[0], "gold", "mt"], cells[2]
            words = [(str(i), *each) for i, each in enumerate(zip(word.split(" "), tag.split(" ")))]
            if word.count(" ") != tag.count(" "):
                raise DataFormatError(f"{file.path}:{line}: expected as many tags as words")
        pair, kind = (names[0], names[2].lower()) if len(names) == 3 else (None, None)
        if line == rows[0][0]:
            file.language_pair, file.kind = pair, kind
        for index, word, tag in words:
            if index == "0" or not file.sentences:
                file.sentences.append(TaggedSentence([], [], []))
            last = file.sentences[-1]
            place = f"sentence {len(file.sentences) - 1}, word {len(last.tags)}"
            expected = (file.language_pair, file.kind, place)
            got = (pair, kind, f"sentence {sentence}, word {index}")
            if got != expected:
                shown, found = (", ".join(filter(None, each)) for each in (expected, got))
                raise DataFormatError(f"{file.path}:{line}: expected {shown}, got {found}")
            labels = (OK, BAD, LEFT_OUT) if len(cells) == 6 else (OK, BAD)
            check_tags([tag], f"{file.path}:{line}", labels)
            last.tags.append(tag)
            last.lines.append(line)
            last.words.append(word)


def read_spans(path: str) -> TagFile:
    """The `character_tags` of the translations in a file of error spans."""
    file = TagFile(path, [])
    for segment in read_segments(path):
        if segment.spans is None:
            raise DataFormatError(f"{path}:{segment.line}: expected error spans, got none")
        tags = character_tags(segment.target, segment.spans)
        text = [" " if character.isspace() else character for character in segment.target.strip()]
        file.sentences.append(TaggedSentence(tags, [segment.line] * len(tags), [*text, ""]))
    return file


def character_tags(text: str, spans: Sequence[ErrorSpan]) -> list[str]:
    """The severities of the errors at each character: `"minor"`, `"major"`, `"major+minor"` or `""`.

    As in the official WMT23 script, the characters are those of the text without surrounding whitespace, plus one at
    its end for omissions there. An empty span marks the character after it. Spans inside trailing whitespace are
    ignored.
    """
    length = len(text.strip())
    severities: list[set[str]] = [set() for _ in range(length + 1)]
    for start, end, severity in spans:
        end = min(end, length)
        for of_character in severities[start : end + (start == end)]:
            of_character.add(severity)
    return ["+".join(sorted(of_character)) for of_character in severities]


def read_sentence_scores(path: str, encoding: str = "utf-8") -> TagFile:
    """The numbers in a file with one per line, or in a table of WMT."""
    file, rows = TagFile(path, []), list(read_lines(path, encoding))
    if any("\t" in line for _, line in rows):
        table = read_table(path, (4,), encoding).rows
        file.language_pair, system = table[0][1][:2]
        for index, (line, cells) in enumerate(table):
            expected = [file.language_pair, system, str(index)]
            if cells[:3] != expected:
                raise DataFormatError(f"{path}:{line}: expected {expected}, got {quote(cells[:3])}")
        rows = [(line, cells[3]) for line, cells in table]
    for line, text in rows:
        try:
            score = float(text)
        except ValueError:
            score = math.nan
        if not math.isfinite(score):
            raise DataFormatError(f"{path}:{line}: expected a number, got {quote(text)}")
        file.sentences.append(TaggedSentence([score], [line]))
    return file


def without_gaps(files: Sequence[TagFile], gaps: str | None = None) -> list[TagFile]:
    """The files of OK and BAD with the tags of words, or with those of gaps; the first file is gold.

    In each line, some files can have n tags and others 2n+1: gap, word, ..., gap. If all have the same number, `gaps`
    tells which one it is (see `score-tags --gaps`). Sentences that the gold file leaves out are left out of all files.
    """
    kind = next((file.kind for file in files if file.kind), "gap" if gaps == "only" else "mt")
    for file in files:
        check_number(files[0], file)
    kept = [i for i, tags in enumerate(files[0].tags) if tags != [LEFT_OUT]]
    files = [
        replace(file, sentences=[file.sentences[i] for i in kept], kind=file.kind or kind)
        for file in files
    ]
    offset = -1 if kind == "gap" else 1
    for file in files:
        for expected, sentence in zip(files[0].sentences, file.sentences):
            short, long = sorted((len(expected.tags), len(sentence.tags)))
            if long not in (short, 2 * short + offset):
                raise DataFormatError(
                    f"{file.path}:{sentence.lines[0]}: expected {len(expected.tags)} tags as in {files[0].path}, "
                    f"perhaps with gaps in one of the files, got {len(sentence.tags)}"
                )
    lengths = [[len(tags) for tags in row] for row in zip(*(file.tags for file in files))]
    shortest = [min(row) for row in lengths]
    have_words = any(sentence.words for file in files for sentence in file.sentences)
    if lengths == [[n] * len(files) for n in shortest] and not have_words:
        are_odd = len(shortest) >= MIN_LINES and all(n % 2 and n > 1 for n in shortest)
        if gaps in ("yes", "only") or (gaps is None and are_odd):
            shortest = [(n - offset) // 2 for n in shortest]
    for file in files:
        for sentence, short in zip(file.sentences, shortest):
            if len(sentence.tags) != short:
                start = 0 if kind == "gap" else 1
                sentence.tags = sentence.tags[start::2]
                sentence.lines = sentence.lines[start::2]
                file.has_gaps = kind != "gap"
    return files


def check_line_up(gold: TagFile, file: TagFile) -> None:
    """Raises a `DataFormatError` at the first line of a file that does not fit the gold file."""
    for expected, got in ((gold.language_pair, file.language_pair), (gold.kind, file.kind)):
        if expected and got and got != expected:
            raise DataFormatError(
                f"{file.path}:1: expected {expected} as in {gold.path}, got {got}"
            )
    for sentence, other in zip(gold.sentences, file.sentences):
        pairs = zip(sentence.words, other.words)
        differ = next((i for i, (word, found) in enumerate(pairs) if word != found), None)
        if differ is not None:
            expected, got = quote(sentence.words[differ]), quote(other.words[differ])
            place = f"{gold.path}:{sentence.lines[differ]}"
            raise DataFormatError(
                f"{file.path}:{other.lines[differ]}: expected {expected} as in {place}, got {got}"
            )
        if len(sentence.tags) != len(other.tags):
            raise DataFormatError(
                f"{file.path}:{other.lines[0]}: expected {len(sentence.tags)} tags as in "
                f"{gold.path}:{sentence.lines[0]}, got {len(other.tags)}"
            )
        for line, expected, tag in zip(other.lines, sentence.tags, other.tags):
            if tag is None and expected is not None:
                raise DataFormatError(f"{file.path}:{line}: expected a predicted tag, got none")
    check_number(gold, file)


def check_number(gold: TagFile, file: TagFile) -> None:
    """Raises a `DataFormatError` if two files have different numbers of sentences, or none."""
    expected, got = len(gold.sentences), len(file.sentences)
    for each in (gold, file):
        if not each.sentences:
            raise DataFormatError(f"{each.path}:1: expected at least one sentence, got none")
    if got != expected:
        line = file.sentences[min(expected, got - 1)].lines[0]
        numbers = f"expected {expected} sentences as in {gold.path}, got {got}"
        raise DataFormatError(f"{file.path}:{line}: {numbers}")
