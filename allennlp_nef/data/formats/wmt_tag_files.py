"""
Word-level quality estimation tags of the WMT shared tasks, to be compared sentence by sentence.

A file is either a `.tags` file, a sentence a line, or has columns that tabs separate (`wmt_layouts`). With n words, a
line of a `.tags` file has n tags, or 2n+1 with those of the gaps (gap, word, gap, ..., word, gap). Without the words, n
is known only where files differ: see `line_up`.
"""

import logging
from collections.abc import Sequence, Set

from allennlp_nef.data.formats.characters import check_words
from allennlp_nef.data.formats.tag_files import TagFile, TaggedSentence
from allennlp_nef.data.formats.text_files import read_blocks, read_lines
from allennlp_nef.data.formats.wmt_layouts import (
    TAGS,
    check_left_out,
    check_tags,
    read_left_out,
    read_words,
)
from allennlp_nef.errors import DataFormatError, quote

logger = logging.getLogger(__name__)

MIN_LINES = 20
"""All of fewer lines may have an odd number of words by chance."""


def read_tags(path: str, encoding: str = "utf-8", kind: str | None = None) -> TagFile:
    """
    The tags of a `.tags` file, those of gaps included, or of a file in columns, where `kind` is that of `read_words`. A
    sentence that a gold file of WMT23 leaves out has no tags.

    # Raises

    `DataFormatError`: what `read_blocks` and `read_words` raise, a line without tags, a tag that is neither OK nor BAD.
    """
    row = next((line for line in read_lines(path, encoding) if "\t" in line), None)
    if row is not None and not set(row.split()) <= set(TAGS):
        system, sentences = read_words(path, encoding, kind)
        return TagFile(path, sentences, system=system)
    sentences = []
    for block in read_blocks(path, encoding):
        for number, line in enumerate(block.lines, block.line):
            tags = line.split()
            if not tags:
                raise DataFormatError(f"{path}:{number}: expected tags, got an empty line")
            check_tags(tags, f"{path}:{number}")
            sentences.append(TaggedSentence(tags, [number] * len(tags), None))
    return TagFile(path, sentences)


def line_up(
    files: Sequence[TagFile], gaps: bool | None = None, only_gaps: bool = False
) -> list[TagFile]:
    """
    The tags of the words in each file, or those of the gaps where files in columns have these. The first file is the
    gold file. Other tags are left out.

    Every line decides by its counts: where one file has n tags and another 2n+1, n are the words. Where all files have
    as many, `gaps` decides. A file with words has no gaps.

    # Parameters

    files : `Sequence[TagFile]`
        Those of `read_tags`, or of `read_word_scores`.
    gaps : `bool`, optional (default = `None`)
        Whether lines with as many tags in all files have those of gaps. None: if all lines are such, at least
        `MIN_LINES`, and every one has an odd number of tags, from 3.
    only_gaps : `bool`, optional (default = `False`)
        The tags of the gaps, also where all files are `.tags` files: the gold file has 2n+1 tags a line, the others as
        many or n+1.

    # Raises

    `DataFormatError`: different numbers of sentences, a line whose numbers of tags do not fit, another language pair or
    kind of tags than in the file before.
    """
    kind = check_systems(files)
    for file in files[1:]:
        check_sentences(files[0], file)
    rows = list(zip(*(file.sentences for file in files)))
    if only_gaps or kind == "gap":
        return _gaps(files, kind)
    for file in files[1:]:
        _check_counts(files[0], file)
    if gaps is None and all(_may_have_gaps(row) for row in rows):
        gaps = len(rows) >= MIN_LINES
        if not gaps:
            logger.warning(
                "%s: each line has an odd number of tags, as many in all files: they count as word tags (gaps).",
                files[0].path,
            )
    words = []
    for row in rows:
        lengths = [len(sentence.tags) for sentence in row]
        submitted = [len(sentence.tags) for sentence in row if sentence.words is not None]
        length = min(submitted or lengths)
        if gaps and not submitted and min(lengths) == max(lengths):
            if not _may_have_gaps(row):
                raise DataFormatError(
                    f"{files[0].path}:{row[0].lines[0]}: expected 2n+1 tags for n words, got {length}"
                )
            length = (length - 1) // 2
        words.append(length)
    return [_without_gaps(file, words) for file in files]


def leave_out(
    files: Sequence[TagFile], hallucinations: str | None = None, encoding: str = "utf-8"
) -> list[TagFile]:
    """
    The files without the sentences that the first of them, the gold file, leaves out, or a list of hallucinations.

    # Raises

    `DataFormatError`: that of `read_left_out` and `check_left_out`; different numbers of sentences.
    """
    gold = files[0]
    numbers = {i for i, sentence in enumerate(gold.sentences) if not sentence.tags}
    if hallucinations is not None:
        pairs = [file.system.language_pair for file in files if file.system is not None]
        pair = next((pair for pair in pairs if pair is not None), None)
        listed: Set[int] = read_left_out(hallucinations, pair, encoding)
        check_left_out(hallucinations, listed, len(gold.sentences))
        numbers |= listed
    for file in files[1:] if numbers else ():
        check_sentences(gold, file)
    kept = [i for i in range(len(gold.sentences)) if i not in numbers]
    if not kept:
        raise DataFormatError(f"{gold.path}: expected sentences that are not left out, got none")
    return (
        [f._replace(sentences=[f.sentences[i] for i in kept]) for f in files]
        if numbers
        else list(files)
    )


def read_text(path: str, encoding: str = "utf-8") -> TagFile:
    """The words of a text, a sentence a line, in place of tags.

    # Raises

    `DataFormatError`: that of `read_lines` and of `check_words`.
    """
    lines = [line.split() for line in read_lines(path, encoding)]
    for number, words in enumerate(lines, 1):
        check_words(words, f"{path}:{number}")
    return TagFile(path, [TaggedSentence(words, [i], words) for i, words in enumerate(lines, 1)])


def with_words(gold: TagFile, text: TagFile) -> TagFile:
    """
    A file of tags with the words of a text, that of `read_text`.

    # Raises

    `DataFormatError`: not as many lines as sentences or words as tags, other words than those of the file.
    """
    check_sentences(gold, text)
    sentences = []
    for sentence, (words, lines, _) in zip(gold.sentences, text.sentences):
        if len(words) != len(sentence.tags):
            raise DataFormatError(
                f"{text.path}:{lines[0]}: expected {len(sentence.tags)} words, one a tag of "
                f"{gold.path}:{sentence.lines[0]}, got {len(words)}"
            )
        if sentence.words not in (None, words):
            raise DataFormatError(
                f"{text.path}:{lines[0]}: expected the words of {gold.path}:{sentence.lines[0]}, "
                f"got {quote(' '.join(words))}"
            )
        sentences.append(sentence._replace(words=words))
    return gold._replace(sentences=sentences)


def check_systems(files: Sequence[TagFile]) -> str | None:
    """
    The kind of the tags, where a file names it.

    # Raises

    `DataFormatError`: another language pair or kind of tags than in a file before.
    """
    named = [(file.path, file.system) for file in files if file.system is not None]
    for field in ("language_pair", "kind"):
        known = [(path, getattr(system, field)) for path, system in named if getattr(system, field)]
        for path, value in known:
            if value != known[0][1]:
                name = "language pair" if field == "language_pair" else "kind of tags"
                raise DataFormatError(
                    f"{path}: expected the {name} {quote(known[0][1])}, as in {known[0][0]}, got {quote(value)}"
                )
    return next((system.kind for _, system in named if system.kind), None)


def _gaps(files: Sequence[TagFile], kind: str | None) -> list[TagFile]:
    """The tags of gaps: n+1 of them, or those of a line with 2n+1, as the gold file has where no file names a kind."""
    if kind not in (None, "gap"):
        raise DataFormatError(f"{files[0].path}: expected tags of gaps, got those of kind {kind}")
    numbers = []
    for row in zip(*(file.sentences for file in files)):
        submitted = [len(sentence.tags) for sentence in row if sentence.words is not None]
        numbers.append(submitted[0] if submitted else (len(row[0].tags) + 1) // 2)
    results = []
    for file in files:
        sentences = []
        for sentence, number in zip(file.sentences, numbers):
            length = len(sentence.tags)
            if sentence.words is None and length == 2 * number - 1 and number > 1:
                sentence = TaggedSentence(sentence.tags[::2], sentence.lines[::2], None)
            elif length != number or (kind is None and file is files[0]):
                expected = f"{number} tags of gaps, or " if kind or file is not files[0] else ""
                raise DataFormatError(
                    f"{file.path}:{sentence.lines[0]}: expected {expected}{max(3, 2 * number - 1)} tags of gaps and "
                    f"words, got {length}"
                )
            sentences.append(sentence)
        results.append(file._replace(sentences=sentences))
    return results


def check_sentences(gold: TagFile, file: TagFile) -> None:
    """Raises a `DataFormatError` where two files have different numbers of sentences."""
    if len(gold.sentences) != len(file.sentences):
        ended, longer = sorted((gold, file), key=lambda each: len(each.sentences))
        last, following = ended.sentences[-1], longer.sentences[len(ended.sentences)]
        raise DataFormatError(
            f"{ended.path}:{last.lines[-1] + 1}: expected a sentence, as in {longer.path}:{following.lines[0]}, "
            f"got the end of the file after {len(ended.sentences)} of {len(longer.sentences)}"
        )


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
            is_n_plus_1 = length == 2 * len(got.tags) - 1  # of 2n+1
            hint = (
                "; --gaps only scores gaps, and WMT22 has gold files of n+1 tags"
                if is_n_plus_1
                else ""
            )
            raise DataFormatError(
                f"{file.path}:{got.lines[0]}: expected {length} tags as in {gold.path}:{expected.lines[0]} "
                f"({' or '.join(map(str, possible[1:]))} where only one has gaps), got {len(got.tags)}{hint}"
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
    return file._replace(sentences=sentences, has_gaps=has_gaps)
