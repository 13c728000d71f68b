"""The quality estimation files that `score-tags` compares: tags, error spans and sentence scores."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from allennlp_nef.data.files import read_lines
from allennlp_nef.data.scored_files import ScoredFile, check_number
from allennlp_nef.data.sentence import Sentence
from allennlp_nef.errors import DataFormatError, quote
from allennlp_nef.qe.layouts import BAD, OK, check_tags, read_table
from allennlp_nef.qe.span_files import read_segments
from allennlp_nef.qe.spans import ErrorSpan

# The tag of a sentence that a WMT23 gold file omits.
LEFT_OUT = "hallucination"


def read_word_tags(
    path: str, encoding: str = "utf-8", language_pair: str | None = None
) -> ScoredFile:
    """Reads OK and BAD from a `.tags` file or a WMT table. An omitted sentence has the single tag `LEFT_OUT`."""
    file = ScoredFile(path)
    lines = list(read_lines(path, encoding))
    if any("\t" in line and not {OK, BAD}.issuperset(line.split()) for _, line in lines):
        _read_word_table(file, lines, language_pair)
        return file
    for number, line in lines:
        tags = line.split()
        check_tags(tags or [""], f"{path}:{number}")
        file.sentences.append(Sentence([], [*tags], path=path, lines=[number] * len(tags)))
    return file


def _read_word_table(
    file: ScoredFile, lines: Iterable[tuple[int, str]], language_pair: str | None
) -> None:
    rows = read_table(file.path, lines, (5, 6, 7), language_pair).rows
    tags: list[Any] = []
    lines_of_tags: list[int] = []
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
                tags, lines_of_tags = [], []
                file.sentences.append(Sentence([], tags, path=file.path, lines=lines_of_tags))
            place = f"sentence {len(file.sentences) - 1}, word {len(tags)}"
            expected = (file.language_pair, file.kind, place)
            got = (pair, kind, f"sentence {sentence}, word {index}")
            if got != expected:
                shown, found = (", ".join(filter(None, each)) for each in (expected, got))
                raise DataFormatError(f"{file.path}:{line}: expected {shown}, got {found}")
            labels = (OK, BAD, LEFT_OUT) if len(cells) == 6 else (OK, BAD)
            check_tags([tag], f"{file.path}:{line}", labels)
            tags.append(tag)
            lines_of_tags.append(line)
            file.sentences[-1].words.append(word)


def read_spans(path: str, language_pair: str | None = None) -> ScoredFile:
    """Returns the `character_tags` of the translations in a file of error spans."""
    file = ScoredFile(path)
    for segment in read_segments(path, language_pair):
        if segment.spans is None:
            raise DataFormatError(f"{segment.place}: expected error spans, got none")
        target = segment.target.text or ""
        tags = character_tags(target, segment.spans)
        text = [" " if character.isspace() else character for character in target.strip()]
        lines = [*segment.target.lines] * len(tags)
        file.sentences.append(Sentence([*text, ""], [*tags], path=path, lines=lines))
    return file


def character_tags(text: str, spans: Sequence[ErrorSpan]) -> list[str]:
    """Returns the severities of the errors at each character: `"minor"`, `"major"`, `"major+minor"` or `""`.

    As in the official WMT23 script, the characters are those of the stripped text, plus one at its end for omissions
    there. An empty span marks the character after it. Spans inside trailing whitespace are ignored.
    """
    length = len(text.strip())
    severities: list[set[str]] = [set() for _ in range(length + 1)]
    for start, end, severity in spans:
        end = min(end, length)
        for of_character in severities[start : end + (start == end)]:
            of_character.add(severity)
    return ["+".join(sorted(of_character)) for of_character in severities]


def read_sentence_scores(
    path: str, encoding: str = "utf-8", language_pair: str | None = None
) -> ScoredFile:
    """Reads the numbers from a file with one per line, or from a WMT table."""
    file, rows = ScoredFile(path), list(read_lines(path, encoding))
    if any("\t" in line for _, line in rows):
        table = read_table(path, rows, (4,), language_pair).rows
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
        score_as_tag: Any = [score]
        file.sentences.append(Sentence([], score_as_tag, path=path, lines=[line]))
    return file


def without_gaps(files: Sequence[ScoredFile], gaps: str = "no") -> list[ScoredFile]:
    """Returns files of OK and BAD that contain only the tags of words, or only those of gaps; the first file is gold.

    On each line, some files can have n tags and others 2n+1: gap, word, ..., gap. If all have the same number, `gaps`
    says which one it is (see `score-tags --gaps`). Sentences that the gold file omits are omitted from all files.
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
            short, long = sorted((len(expected.lines), len(sentence.lines)))
            if long not in (short, 2 * short + offset):
                raise DataFormatError(
                    f"{file.path}:{sentence.lines[0]}: expected {len(expected.lines)} tags as in {files[0].path}, "
                    f"perhaps with gaps in one of the files, got {len(sentence.lines)}"
                )
    lengths = [[len(tags) for tags in row] for row in zip(*(file.tags for file in files))]
    shortest = [min(row) for row in lengths]
    have_words = any(sentence.words for file in files for sentence in file.sentences)
    if gaps != "no" and not have_words and lengths == [[n] * len(files) for n in shortest]:
        shortest = [(n - offset) // 2 for n in shortest]
    for file in files:
        for sentence, short in zip(file.sentences, shortest):
            if len(sentence.lines) != short:
                start = 0 if kind == "gap" else 1
                sentence.tags = (sentence.tags or [])[start::2]
                sentence.lines = sentence.lines[start::2]
                file.has_gaps = kind != "gap"
    return files
