"""
Word-level quality estimation data of the WMT shared tasks, read line by line.

`read_examples(prefix)` reads `<prefix>.src` (source) and `<prefix>.mt` (machine translation) and,
where they exist, `<prefix>.tags`, `<prefix>.src-mt.alignments` or else `<prefix>.align`,
`<prefix>.source_tags` or else `<prefix>.src_tags`, and `<prefix>.hter`. In place of the prefix, the path of
each file may be given: see `find_data_files`. Line k of each file is about sentence k.

- A line ends at `\\n` or `\\r\\n`, and at nothing else. The last one may lack it. The encoding is
  UTF-8; a byte order mark at the start of a file is dropped, and is a character like others elsewhere. A carriage
  return that ends no line is an error.
- Words and tags are split on any whitespace (`str.split`, so no-break spaces separate words too, and each of these
  words has a tag). The module `words` says which characters a word may have.
- Tags are `OK` or `BAD`, in one of the layouts of `wmt_layouts`. The number of tags of a line tells its
  layout; all lines of a file have the same one. Source tags are one a source word.
- Alignments are Pharaoh pairs `i-j`, source index and target index from 0. A line may be empty.
- `.hter` has the human-targeted translation edit rate of the translation, a number of at least 0.
- `post_edits`, which has no ending and is read by its path alone, has the words of the corrected translation.
"""

import logging
from collections.abc import Iterator

from allennlp_nef.data.formats.data_paths import DataPath, find_data_files, is_explicit, name_of
from allennlp_nef.data.formats.text_files import TextPath
from allennlp_nef.data.formats.wmt_layouts import (
    check_tags,
)
from allennlp_nef.data.formats.wmt_lines import WordQeExample, parse_lines
from allennlp_nef.data.formats.wmt_submissions import format_submission, format_tags
from allennlp_nef.data.formats.word_alignments import check_alignments, parse_alignments
from allennlp_nef.data.formats.words import Split
from allennlp_nef.errors import DataFormatError, OnError, raise_error

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


def read_examples(
    path: DataPath,
    without_alignments: str | None = None,
    tagged: str = "target",
    eos: bool = False,
    split_source: Split | None = None,
    split_target: Split | None = None,
    sentence_scores: bool = False,
    severities: bool = False,
    on_error: OnError = raise_error,
) -> Iterator[WordQeExample]:
    """
    Reads the files of a data set in lock-step, one line of each at a time.

    Without a file of alignments the examples have none, without a file of tags they are unlabeled; a
    warning says so. A missing `.src` or `.mt` is an error at once, everything else when its line is
    reached.

    # Parameters

    path : `str`, `PathLike` or a dict of these
        See `find_data_files`.
    without_alignments : `str`, optional (default = `None`, "every target word counts as unaligned")
        What the warning says of words where there is no file of alignments.
    tagged : `str`, optional (default = `"target"`)
        One of `TAGGED`: what has to have tags where the data are labeled.
    eos : `bool`, optional (default = `False`)
        Whether all translations are to end in `<EOS>`, with a tag: see `split_tags`.
    split_source, split_target : `Split`, optional (default = `None`)
        Give the words of a text where there are neither tags nor alignments. With these the words are known: they are
        those between whitespace, as by default.
    sentence_scores : `bool`, optional (default = `False`)
        Whether to read `.hter`, where it exists.
    severities : `bool`, optional (default = `False`)
        Whether tags have to be OK, minor and major. A file of tags has others, and is an error.
    on_error : `OnError`, optional (default = `raise_error`)
        What to do with a line that cannot be read.

    # Raises

    `DataFormatError`: a missing or empty file, different line counts, a line without words,
    a wrong number of tags, lines of different layouts, an unknown tag, no tags of what is `tagged`, a malformed
    alignment or one outside of the words, a word that `check_words` refuses, `<EOS>` where it cannot be, an HTER that
    is no number of at least 0, invalid UTF-8, a carriage return within a line.
    """
    paths = find_example_files(path, sentence_scores)
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
        logger.warning("There is %s: the sentences are unlabeled.", _no_file(path, needed))
    if severities and "tags" in paths:
        raise DataFormatError(
            f"{paths['tags']}: expected a file of error spans, as severities is true, got one of tags"
        )
    if any(part in paths for part in ("tags", "alignments", "source_tags")):
        split_source = split_target = None
    parts = [part for part in (*_REQUIRED, *_OPTIONAL) if sentence_scores or part != "hter"]
    read = {part: paths[part] for part in parts if part in paths}
    return parse_lines(read, tagged, eos, split_source, split_target, on_error)


def find_example_files(path: DataPath, sentence_scores: bool = False) -> dict[str, TextPath]:
    """The file of each part that `read_examples` looks for. Raises the `DataFormatError` of `find_data_files`."""
    optional = {part: _OPTIONAL[part] for part in _OPTIONAL if sentence_scores or part != "hter"}
    return find_data_files(path, _REQUIRED, _OPTIONAL if is_explicit(path) else optional)


def _no_file(path: DataPath, part: str) -> str:
    """What is missing, in words."""
    if is_explicit(path):
        return f"no path of {part} with {name_of(path)}"
    files = [name_of(path) + ending for ending in _OPTIONAL[part]]
    return f"neither {' nor '.join(files)}" if part == "alignments" else f"no {files[0]}"
