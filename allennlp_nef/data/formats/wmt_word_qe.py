"""
Word-level quality estimation data of the WMT shared tasks, read and written line by line.

`read_examples(prefix)` reads `<prefix>.src` (source) and `<prefix>.mt` (machine translation) and,
where they exist, `<prefix>.tags`, `<prefix>.src-mt.alignments` or else `<prefix>.align`, and
`<prefix>.source_tags` or else `<prefix>.src_tags`. Line k of each file is about sentence k.

- A line ends at `\\n` or `\\r\\n`, and at nothing else. The last one may lack it. The encoding is
  UTF-8; a byte order mark at the start of a file is dropped.
- Words and tags are split on any whitespace (`str.split`, so no-break spaces separate words too).
- Tags are `OK` or `BAD`. With n target words, a line of n tags has one a word (WMT16 and 17), a
  line of 2n+1 has gap, word, gap, ..., word, gap (WMT18 and later). Each line decides by its own
  count. Source tags are one a source word.
- Alignments are Pharaoh pairs `i-j`, source index and target index from 0. A line may be empty.
"""

import logging
import os
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from allennlp_nef.data.formats.parallel_files import find_parallel_files, read_parallel_lines
from allennlp_nef.data.formats.word_alignments import check_alignments, parse_alignments
from allennlp_nef.errors import DataFormatError, quote

__all__ = [
    "DataFormatError",
    "WordQeExample",
    "check_alignments",
    "check_tags",
    "format_submission",
    "format_tags",
    "parse_alignments",
    "read_examples",
]

logger = logging.getLogger(__name__)

TAGS = ("OK", "BAD")
KINDS = ("mt", "gap", "source")
"""What the tags of a file in seven columns are of: words of the translation, gaps, source words."""

# The file endings of each part, the preferred one first.
_REQUIRED = {"source": ".src", "target": ".mt"}
_OPTIONAL = {
    "tags": (".tags",),
    "alignments": (".src-mt.alignments", ".align"),
    "source_tags": (".source_tags", ".src_tags"),
}


class WordQeExample(NamedTuple):
    """One sentence and its translation."""

    source: List[str]
    """Words of the source sentence, at least one."""
    target: List[str]
    """Words of the machine translation, at least one."""
    alignments: Optional[List[Tuple[int, int]]]
    """Pairs (source index, target index), from 0; empty where nothing is aligned; None without a file of alignments."""
    tags: Optional[List[str]]
    """One of OK and BAD a target word; None without a file of tags."""
    gap_tags: Optional[List[str]]
    """One a gap, n+1 for n target words; None where the line has word tags only."""
    source_tags: Optional[List[str]]
    """One a source word; None without a file of source tags."""
    line: int
    """Line in each of the files, from 1."""


def read_examples(
    prefix: Union[str, "os.PathLike[str]"],
    without_alignments: str = "every target word counts as unaligned",
) -> Iterator[WordQeExample]:
    """
    Reads the files of `prefix` in lock-step, one line of each at a time.

    Without a file of alignments the examples have none, without a file of tags they are unlabelled; a
    warning says so. A missing `.src` or `.mt` is an error at once, everything else when its line is
    reached.

    # Parameters

    prefix : `str` or `PathLike`
    without_alignments : `str`, optional (default = `"every target word counts as unaligned"`)
        What the warning says of words where there is no file of alignments.

    # Raises

    `DataFormatError`: a missing or empty file, different line counts, a line without words,
    a wrong number of tags, an unknown tag, a malformed alignment or one outside of the sentences,
    invalid UTF-8.
    """
    prefix = os.fspath(prefix)
    paths = find_parallel_files(prefix, _REQUIRED, _OPTIONAL)
    if "alignments" not in paths:
        expected = " nor ".join(prefix + ending for ending in _OPTIONAL["alignments"])
        logger.warning("There is neither %s: %s.", expected, without_alignments)
    if "tags" not in paths:
        logger.warning("There is no %s.tags: the sentences are unlabelled.", prefix)
    return _parse_lines(paths)


def check_tags(tags: Sequence[str], location: str = "tags") -> None:
    """Raises a `DataFormatError` at the first tag that is neither OK nor BAD."""
    for position, tag in enumerate(tags, 1):
        if tag not in TAGS:
            raise DataFormatError(
                f"{location}: expected {' or '.join(TAGS)}, got {quote(tag)} as tag {position}"
            )


def format_tags(tags: Sequence[str]) -> str:
    """
    A line of a `.tags` file, without its line end: `OK BAD OK`.

    # Raises

    `DataFormatError`: no tags, or one that is neither OK nor BAD.
    """
    if not tags:
        raise DataFormatError("tags: expected at least one tag, got none")
    check_tags(tags)
    return " ".join(tags)


def format_submission(
    method: str,
    sentence_index: int,
    words: Sequence[str],
    tags: Sequence[str],
    language_pair: Optional[str] = None,
    kind: str = "mt",
) -> str:
    """
    Rows of a WMT word-level submission, one a target word: method, sentence, word index, word and tag, separated by
    tabs. Indices are from 0. Rows are joined by line ends, the last has none.

    # Parameters

    method : `str`
        The name of the system.
    sentence_index : `int`
    words, tags : `Sequence[str]`
        For gaps, each word is `gap`.
    language_pair : `str`, optional (default = `None`)
        Such as "en-de". With it the rows are those of WMT20 and later: language pair, method, kind, sentence, word
        index, word and tag.
    kind : `str`, optional (default = `"mt"`)
        One of `KINDS`; with a language pair only.

    # Raises

    `DataFormatError`: different numbers of words and tags, no words, an unknown tag or kind, an empty method, language
    pair or word, or one that contains a tab or a line end.
    """
    if len(words) != len(tags) or not words:
        raise DataFormatError(
            f"tags: expected one tag for each of at least one word, "
            f"got {len(words)} words and {len(tags)} tags"
        )
    check_tags(tags)
    if kind not in KINDS:
        raise DataFormatError(f"kind: expected {', '.join(KINDS)}, got {quote(kind)}")
    names = [("method", method)]
    if language_pair is not None:
        names.insert(0, ("language_pair", language_pair))
    for name, text in (*names, *(("word", word) for word in words)):
        if not text or any(character in text for character in "\t\r\n"):
            raise DataFormatError(
                f"{name}: expected text without tabs and line ends, got {quote(text)}"
            )
    before = method if language_pair is None else f"{language_pair}\t{method}\t{kind}"
    return "\n".join(
        f"{before}\t{sentence_index}\t{index}\t{word}\t{tag}"
        for index, (word, tag) in enumerate(zip(words, tags))
    )


def _parse_lines(paths: Dict[str, str]) -> Iterator[WordQeExample]:
    for number, lines in read_parallel_lines(paths, may_be_empty={"alignments"}):
        at = {part: f"{path}:{number}" for part, path in paths.items()}
        source, target = lines["source"].split(), lines["target"].split()
        for part, words in (("source", source), ("target", target)):
            if not words:
                raise DataFormatError(f"{at[part]}: expected {part} words, got none")
        tags = gap_tags = source_tags = None
        if "tags" in lines:
            tags, gap_tags = _split_tags(lines["tags"], len(target), at["tags"])
        if "source_tags" in lines:
            source_tags = lines["source_tags"].split()
            if len(source_tags) != len(source):
                raise DataFormatError(
                    f"{at['source_tags']}: expected {len(source)} tags (one a source word), "
                    f"got {len(source_tags)}"
                )
            check_tags(source_tags, at["source_tags"])
        alignments = None
        if "alignments" in lines:
            alignments = parse_alignments(
                lines["alignments"], len(source), len(target), at["alignments"]
            )
        yield WordQeExample(source, target, alignments, tags, gap_tags, source_tags, number)


def _split_tags(text: str, length: int, location: str) -> Tuple[List[str], Optional[List[str]]]:
    """Tags of the words, and of the gaps if the line has them."""
    tags = text.split()
    if len(tags) not in (length, 2 * length + 1):
        raise DataFormatError(
            f"{location}: expected {length} tags (one a target word) or {2 * length + 1} "
            f"(with gaps), got {len(tags)}"
        )
    check_tags(tags, location)
    return (tags, None) if len(tags) == length else (tags[1::2], tags[0::2])
