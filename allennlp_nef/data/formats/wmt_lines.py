"""The lines of the files of `read_examples`, one of each file for a sentence."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from allennlp_nef.data.formats.text_files import TextPath, number_of, read_parallel_lines
from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    check_eos,
    check_tags,
    interleave,
    split_tags,
    without_eos,
)
from allennlp_nef.data.formats.word_alignments import parse_alignments
from allennlp_nef.data.formats.words import (
    OddCharacters,
    Split,
    name_of_character,
    other_separator,
)
from allennlp_nef.errors import DataFormatError, OnError, quote

logger = logging.getLogger(__name__)


class WordQeExample(NamedTuple):
    """One sentence and its translation."""

    source: list[str]
    """Words of the source sentence, at least one."""
    target: list[str]
    """Words of the machine translation, at least one, and perhaps `<EOS>` after them."""
    alignments: list[tuple[int, int]] | None
    """Pairs (source index, target index), from 0; empty where nothing is aligned; None without a file of alignments."""
    tags: list[str] | None
    """One of OK and BAD a token of the target; None without a file of tags."""
    gap_tags: list[str] | None
    """One a gap, n+1 for n target words; None where the line has word tags only."""
    source_tags: list[str] | None
    """One a source word; None without a file of source tags."""
    line: int
    """Line in each of the files, from 1."""
    text: str | None = None
    """The translation as it stood in its file."""
    offsets: list[tuple[int, int]] | None = None
    """The start and the end of each target word in the text; None for the words between whitespace."""
    spans: Sequence[tuple[int, int, str]] | None = None
    """The start, the end and the severity of each error in the text, where the file has error spans."""
    hter: float | None = None
    """Human-targeted translation edit rate, at least 0; None without a file of them."""
    post_edit: list[str] | None = None
    """Words of the translation as a person corrected it, at least one; None without a file of them."""

    def tags_of(self, tagged: str) -> list[str] | None:
        """The tags of what is `tagged`, one of `TAGGED`; None where they are not known."""
        if tagged == "source":
            return self.source_tags
        if tagged == "gaps":
            return self.gap_tags
        if tagged == "target_and_gaps" and self.gap_tags is not None and self.tags is not None:
            return interleave(self.gap_tags, self.tags)
        return self.tags


def parse_lines(
    paths: Mapping[str, TextPath],
    tagged: str,
    eos: bool,
    split_source: Split | None,
    split_target: Split | None,
    on_error: OnError,
) -> Iterator[WordQeExample]:
    """The sentences of the files of `read_examples`, the path of each part. Raises its `DataFormatError`."""
    first_layout = ""
    odd = OddCharacters()
    for number, lines in read_parallel_lines(paths, {"alignments"}, on_error):
        at = {part: f"{path}:{number}" for part, path in paths.items()}
        try:
            example, layout = _parse_line(
                lines, at, number, odd, tagged, eos, split_source, split_target
            )
            first_layout = first_layout or layout
            if layout != first_layout:
                raise DataFormatError(
                    f"{at['tags']}: expected {first_layout}, as in {paths['tags']}:1, got {layout}"
                )
        except DataFormatError as error:
            on_error(_with_separators(error, lines, at))
            continue
        yield example
    odd.warn(logger.warning)


def _with_separators(
    error: DataFormatError, lines: dict[str, str], at: dict[str, str]
) -> DataFormatError:
    """The error, with the whitespace that one may not see, but that separates words."""
    for part, line in lines.items():
        separator = other_separator(line)
        if separator:
            name = name_of_character(separator)
            return DataFormatError(f"{error} (in {at[part]}, {name} separates words)")
    return error


def _parse_line(
    lines: dict[str, str],
    at: dict[str, str],
    number: int,
    odd: OddCharacters,
    tagged: str,
    eos: bool,
    split_source: Split | None,
    split_target: Split | None,
) -> tuple[WordQeExample, str]:
    """The example of a line of each file, and the layout of its tags."""
    source, _ = _words(lines["source"], split_source)
    target, offsets = _words(lines["target"], split_target)
    post_edit = None
    if "post_edits" in lines:
        post_edit, _ = _words(lines["post_edits"], split_target)
    for part, words in (("source", source), ("target", target), ("post_edits", post_edit)):
        if words is not None:
            if not words:
                raise DataFormatError(f"{at[part]}: expected {part} words, got none")
            odd.check(words, at[part])
            odd.check_line(lines[part], at[part])
    check_eos(source, target, "gaps" not in tagged, (at["source"], at["target"]))
    tags = gap_tags = source_tags = None
    layout = ""
    if "tags" in lines:
        tags, gap_tags, layout = split_tags(lines["tags"], target, at["tags"], eos)
        if "gaps" in tagged and gap_tags is None:
            raise DataFormatError(
                f"{at['tags']}: expected {2 * len(target) + 1} tags (with gaps), as tagged is {tagged}, got "
                f"{len(tags)}"
            )
    if "source_tags" in lines:
        source_tags = lines["source_tags"].split()
        if len(source_tags) != len(source):
            raise DataFormatError(
                f"{at['source_tags']}: expected {len(source)} tags (one a source word), "
                f"got {len(source_tags)}"
            )
        check_tags(source_tags, at["source_tags"])
    words = without_eos(target)
    alignments = None
    if "alignments" in lines:
        alignments = parse_alignments(
            lines["alignments"], len(source), len(words), at["alignments"]
        )
    example = WordQeExample(
        source,
        [*words, EOS] if eos else target,
        alignments,
        tags,
        gap_tags,
        source_tags,
        number,
        lines["target"],
        offsets,
        hter=_parse_hter(lines["hter"], at["hter"]) if "hter" in lines else None,
        post_edit=post_edit,
    )
    return example, layout


def _parse_hter(text: str, location: str) -> float:
    """The number of a line of a `.hter` file."""
    hter = number_of(text)
    if not 0 <= hter < math.inf:
        raise DataFormatError(
            f"{location}: expected HTER, a number of at least 0, got {quote(text)}"
        )
    return hter


def _words(text: str, split: Split | None) -> tuple[list[str], list[tuple[int, int]] | None]:
    """The words of a text, and where they are known their places."""
    if split is None:
        return text.split(), None
    _, words, offsets = split(text)
    return words, offsets
