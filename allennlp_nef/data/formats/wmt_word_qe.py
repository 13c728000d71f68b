"""
Word-level quality estimation data of the WMT shared tasks, read line by line.

`read_examples(prefix)` reads `<prefix>.src` (source) and `<prefix>.mt` (machine translation) and,
where they exist, `<prefix>.tags`, `<prefix>.src-mt.alignments` or else `<prefix>.align`,
`<prefix>.source_tags` or else `<prefix>.src_tags`, and `<prefix>.hter`. In place of the prefix, the path of
each file may be given: see `find_data_files`. Line k of each file is about sentence k.

- A line ends at `\\n` or `\\r\\n`, and at nothing else. The last one may lack it. The encoding is
  UTF-8; a byte order mark at the start of a file is dropped. Elsewhere it is an error, and so is a
  carriage return that ends no line.
- Words and tags are split on any whitespace (`str.split`, so no-break spaces separate words too).
- Tags are `OK` or `BAD`, in one of the layouts of `wmt_layouts`. The number of tags of a line tells its
  layout; all lines of a file have the same one. Source tags are one a source word.
- Alignments are Pharaoh pairs `i-j`, source index and target index from 0. A line may be empty.
- `.hter` has the human-targeted translation edit rate of the translation, a number of at least 0.
- `post_edits`, which has no ending and is read by its path alone, has the words of the corrected translation.
"""

import logging
import math
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from allennlp_nef.data.formats.data_paths import DataPath, find_data_files, is_explicit, name_of
from allennlp_nef.data.formats.parallel_files import read_parallel_lines
from allennlp_nef.data.formats.split_text import Split
from allennlp_nef.data.formats.wmt_layouts import (
    EOS,
    check_eos,
    check_tags,
    interleave,
    split_tags,
    without_eos,
)
from allennlp_nef.data.formats.wmt_submissions import format_submission, format_tags
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

# The file endings of each part, the preferred one first.
_REQUIRED = {"source": ".src", "target": ".mt"}
_OPTIONAL = {
    "tags": (".tags",),
    "alignments": (".src-mt.alignments", ".align"),
    "source_tags": (".source_tags", ".src_tags"),
    "hter": (".hter",),
    "post_edits": (),  # none of a prefix: only as an explicit part
}


class WordQeExample(NamedTuple):
    """One sentence and its translation."""

    source: List[str]
    """Words of the source sentence, at least one."""
    target: List[str]
    """Words of the machine translation, at least one, and perhaps `<EOS>` after them."""
    alignments: Optional[List[Tuple[int, int]]]
    """Pairs (source index, target index), from 0; empty where nothing is aligned; None without a file of alignments."""
    tags: Optional[List[str]]
    """One of OK and BAD a token of the target; None without a file of tags."""
    gap_tags: Optional[List[str]]
    """One a gap, n+1 for n target words; None where the line has word tags only."""
    source_tags: Optional[List[str]]
    """One a source word; None without a file of source tags."""
    line: int
    """Line in each of the files, from 1."""
    text: Optional[str] = None
    """The translation as it stood in its file."""
    offsets: Optional[List[Tuple[int, int]]] = None
    """The start and the end of each target word in the text; None for the words between whitespace."""
    spans: Optional[Sequence[Tuple[int, int, str]]] = None
    """The start, the end and the severity of each error in the text, where the file has error spans."""
    hter: Optional[float] = None
    """Human-targeted translation edit rate, at least 0; None without a file of them."""
    post_edit: Optional[List[str]] = None
    """Words of the translation as a person corrected it, at least one; None without a file of them."""

    def tags_of(self, tagged: str) -> Optional[List[str]]:
        """The tags of what is `tagged`, one of `TAGGED`; None where they are not known."""
        if tagged == "source":
            return self.source_tags
        if tagged == "gaps":
            return self.gap_tags
        if tagged == "target_and_gaps" and self.gap_tags is not None and self.tags is not None:
            return interleave(self.gap_tags, self.tags)
        return self.tags


def read_examples(
    path: DataPath,
    without_alignments: Optional[str] = None,
    tagged: str = "target",
    eos: bool = False,
    split_source: Optional[Split] = None,
    split_target: Optional[Split] = None,
    sentence_scores: bool = False,
    severities: bool = False,
) -> Iterator[WordQeExample]:
    """
    Reads the files of a data set in lock-step, one line of each at a time.

    Without a file of alignments the examples have none, without a file of tags they are unlabelled; a
    warning says so. A missing `.src` or `.mt` is an error at once, everything else when its line is
    reached.

    # Parameters

    path : `str`, `PathLike` or a dict of these
        See `find_data_files`.
    without_alignments : `str`, optional (default = `None`, "every target word counts as unaligned")
        What the warning says of words where there is no file of alignments.
    tagged : `str`, optional (default = `"target"`)
        One of `TAGGED`: what has to have tags where the data are labelled.
    eos : `bool`, optional (default = `False`)
        Whether all translations are to end in `<EOS>`, with a tag: see `split_tags`.
    split_source, split_target : `Split`, optional (default = `None`)
        Give the words of a text where there are neither tags nor alignments. With these the words are known: they are
        those between whitespace, as by default.
    sentence_scores : `bool`, optional (default = `False`)
        Whether to read `.hter`, where it exists.
    severities : `bool`, optional (default = `False`)
        Whether tags have to be OK, minor and major. A file of tags has others, and is an error.

    # Raises

    `DataFormatError`: a missing or empty file, different line counts, a line without words,
    a wrong number of tags, lines of different layouts, an unknown tag, no tags of what is `tagged`, a malformed
    alignment or one outside of the words, `<EOS>` where it cannot be, an HTER that is no number of at least 0, invalid
    UTF-8, a carriage return or a byte order mark inside of a file.
    """
    optional = {part: _OPTIONAL[part] for part in _OPTIONAL if sentence_scores or part != "hter"}
    paths = find_data_files(path, _REQUIRED, _OPTIONAL if is_explicit(path) else optional)
    if "alignments" not in paths:
        outcome = without_alignments or "every target word counts as unaligned"
        logger.warning("There is %s: %s.", _no_file(path, "alignments"), outcome)
    needed = "source_tags" if tagged == "source" else "tags"
    if needed not in paths:
        others = [paths[part] for part in ("tags", "source_tags") if part in paths]
        if tagged != "target" and others:
            raise DataFormatError(
                f"{others[0]}: expected a file of {needed} too, as tagged is {tagged}, got {_no_file(path, needed)}"
            )
        logger.warning("There is %s: the sentences are unlabelled.", _no_file(path, needed))
    if severities and "tags" in paths:
        raise DataFormatError(
            f"{paths['tags']}: expected a file of error spans, as severities is true, got one of tags"
        )
    if any(part in paths for part in ("tags", "alignments", "source_tags")):
        split_source = split_target = None
    parts = [part for part in (*_REQUIRED, *_OPTIONAL) if sentence_scores or part != "hter"]
    read = {part: paths[part] for part in parts if part in paths}
    return _parse_lines(read, tagged, eos, split_source, split_target)


def _no_file(path: DataPath, part: str) -> str:
    """What is missing, in words."""
    if is_explicit(path):
        return f"no path of {part} with {name_of(path)}"
    files = [name_of(path) + ending for ending in _OPTIONAL[part]]
    return f"neither {' nor '.join(files)}" if part == "alignments" else f"no {files[0]}"


def _parse_lines(
    paths: Dict[str, str],
    tagged: str,
    eos: bool,
    split_source: Optional[Split],
    split_target: Optional[Split],
) -> Iterator[WordQeExample]:
    first_layout = ""
    for number, lines in read_parallel_lines(paths, may_be_empty={"alignments"}):
        at = {part: f"{path}:{number}" for part, path in paths.items()}
        source, _ = _words(lines["source"], split_source)
        target, offsets = _words(lines["target"], split_target)
        post_edit = None
        if "post_edits" in lines:
            post_edit, _ = _words(lines["post_edits"], split_target)
        for part, words in (("source", source), ("target", target), ("post_edits", post_edit)):
            if words is not None and not words:
                raise DataFormatError(f"{at[part]}: expected {part} words, got none")
        check_eos(source, target, "gaps" not in tagged, (at["source"], at["target"]))
        tags = gap_tags = source_tags = None
        if "tags" in lines:
            tags, gap_tags, layout = split_tags(lines["tags"], target, at["tags"], eos)
            first_layout = first_layout or layout
            if layout != first_layout:
                raise DataFormatError(
                    f"{at['tags']}: expected {first_layout}, as in {paths['tags']}:1, got {layout}"
                )
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
        target = [*words, EOS] if eos else target
        yield WordQeExample(
            source,
            target,
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


def _parse_hter(text: str, location: str) -> float:
    """The number of a line of a `.hter` file."""
    try:
        hter = float(text)
    except ValueError:
        hter = math.nan
    if not 0 <= hter < math.inf:
        raise DataFormatError(
            f"{location}: expected HTER, a number of at least 0, got {quote(text)}"
        )
    return hter


def _words(text: str, split: Optional[Split]) -> Tuple[List[str], Optional[List[Tuple[int, int]]]]:
    """The words of a text, and where they are known their places."""
    if split is None:
        return text.split(), None
    _, words, offsets = split(text)
    return words, offsets
