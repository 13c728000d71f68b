"""
Word-level quality estimation tags of the WMT shared tasks, without their words.

A file is either a `.tags` file, a sentence a line, or a submission in five columns that tabs separate: method,
sentence, word index, word and tag. With n words, a line of a `.tags` file has n tags, or 2n+1 with those of the gaps
(gap, word, gap, ..., word, gap). Without the words, n is known only where files differ: see `read_word_qe_tags`.
"""

import logging
from typing import List, Optional, Sequence

from allennlp_nef.data.formats.tag_files import TagFile, TaggedSentence
from allennlp_nef.data.formats.text_files import is_blank, read_blocks
from allennlp_nef.data.formats.wmt_word_qe import check_tags
from allennlp_nef.errors import DataFormatError, quote

logger = logging.getLogger(__name__)

MIN_LINES = 20
"""All of fewer lines may have an odd number of words by chance."""


def read_word_qe_tags(
    paths: Sequence[str], gaps: Optional[bool] = None, encoding: str = "utf-8"
) -> List[TagFile]:
    """
    The tags of the words in each file; the first is the gold file. Tags of gaps are checked and left out.

    Every line decides by its counts: where one file has n tags and another 2n+1, n are the words. Where all files have
    as many, `gaps` decides. A submission has no gaps.

    # Parameters

    paths : `Sequence[str]`
    gaps : `bool`, optional (default = `None`)
        Whether lines with as many tags in all files have those of gaps. None: if all lines are such, at least
        `MIN_LINES`, and every one has an odd number of tags, from 3.
    encoding : `str`, optional (default = `"utf-8"`)

    # Raises

    `DataFormatError`: what `read_blocks` raises, a line without tags, a tag that is neither OK nor BAD, rows out of
    order, different numbers of sentences, a line whose numbers of tags do not fit.
    """
    files = [TagFile(path, _read(path, encoding)) for path in paths]
    for file in files[1:]:
        _check_counts(files[0], file)
    rows = list(zip(*(file.sentences for file in files)))
    if gaps is None and all(_may_have_gaps(row) for row in rows):
        gaps = len(rows) >= MIN_LINES
        if not gaps:
            logger.warning(
                "%s: each line has an odd number of tags, as many in all files: they count as word tags (gaps).",
                paths[0],
            )
    words = []
    for row in rows:
        lengths = [len(sentence.tags) for sentence in row]
        submitted = [len(sentence.tags) for sentence in row if sentence.words is not None]
        length = min(submitted or lengths)
        if gaps and not submitted and min(lengths) == max(lengths):
            if not _may_have_gaps(row):
                raise DataFormatError(
                    f"{paths[0]}:{row[0].lines[0]}: expected 2n+1 tags for n words, got {length}"
                )
            length = (length - 1) // 2
        words.append(length)
    return [_without_gaps(file, words) for file in files]


def _read(path: str, encoding: str) -> List[TaggedSentence]:
    sentences: List[TaggedSentence] = []
    is_submission = None
    for block in read_blocks(path, encoding):
        for number, line in enumerate(block.lines, block.line):
            if is_submission is None:
                is_submission = line.count("\t") == 4
            if is_submission:
                _add_row(sentences, line, path, number)
                continue
            tags = line.split()
            if not tags:
                raise DataFormatError(f"{path}:{number}: expected tags, got an empty line")
            check_tags(tags, f"{path}:{number}")
            sentences.append(TaggedSentence(tags, [number] * len(tags), None))
    return sentences


def _add_row(sentences: List[TaggedSentence], line: str, path: str, number: int) -> None:
    """Adds a row of a submission to the last sentence, or begins another."""
    location = f"{path}:{number}"
    columns = line.rstrip("\r\n").split("\t")
    if is_blank(line) or len(columns) != 5:
        raise DataFormatError(
            f"{location}: expected method, sentence, word index, word and tag, separated by tabs, "
            f"got {quote(line.rstrip())}"
        )
    _, sentence, index, word, tag = columns
    following = [(str(len(sentences)), "0")]
    if sentences:
        following.insert(0, (str(len(sentences) - 1), str(len(sentences[-1].tags))))
    if (sentence, index) not in following:
        expected = " or ".join(" ".join(numbers) for numbers in following)
        raise DataFormatError(
            f"{location}: expected the sentence and word {expected}, got {quote(f'{sentence} {index}')}"
        )
    check_tags([tag], location)
    if index == "0":
        sentences.append(TaggedSentence([], [], []))
    last = sentences[-1]
    last.tags.append(tag)
    last.lines.append(number)
    if last.words is not None:
        last.words.append(word)


def _may_have_gaps(row: Sequence[TaggedSentence]) -> bool:
    """Whether all files have 2n+1 tags for a sentence, by their numbers."""
    length = len(row[0].tags)
    is_odd = length >= 3 and length % 2 == 1
    return is_odd and all(len(s.tags) == length and s.words is None for s in row)


def _check_counts(gold: TagFile, file: TagFile) -> None:
    for expected, got in zip(gold.sentences, file.sentences):
        length = len(expected.tags)
        possible = [length, 2 * length + 1]
        if length >= 3 and length % 2:
            possible.append((length - 1) // 2)
        if len(got.tags) not in possible:
            raise DataFormatError(
                f"{file.path}:{got.lines[0]}: expected {length} tags as in {gold.path}:{expected.lines[0]} "
                f"({' or '.join(map(str, possible[1:]))} where only one has gaps), got {len(got.tags)}"
            )
    if len(gold.sentences) != len(file.sentences):
        ended, longer = sorted((gold, file), key=lambda each: len(each.sentences))
        last, following = ended.sentences[-1], longer.sentences[len(ended.sentences)]
        raise DataFormatError(
            f"{ended.path}:{last.lines[-1] + 1}: expected a sentence, as in {longer.path}:{following.lines[0]}, "
            f"got the end of the file after {len(ended.sentences)} of {len(longer.sentences)}"
        )


def _without_gaps(file: TagFile, words: Sequence[int]) -> TagFile:
    sentences, has_gaps = [], False
    for sentence, length in zip(file.sentences, words):
        if len(sentence.tags) == 2 * length + 1 and sentence.words is None:
            sentence = TaggedSentence(sentence.tags[1::2], sentence.lines[1::2], None)
            has_gaps = True
        elif len(sentence.tags) != length:
            raise DataFormatError(
                f"{file.path}:{sentence.lines[0]}: expected {length} tags, one a word, or {2 * length + 1} with gaps, "
                f"as the other files have, got {len(sentence.tags)}"
            )
        sentences.append(sentence)
    return TagFile(file.path, sentences, has_gaps)
