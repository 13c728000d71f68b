"""
Bitexts: sentences with their translations, in translators' file formats. Scores can be written back into a file.

The page about quality estimation lists the formats and what is added to each. What an earlier review added is replaced,
and all else stays, with the line ends, the byte order mark and the encoding of the file. Files can be compressed.

The text of XML is what a reader sees: inline elements are left out, and the text in them stays unless it is code of
another format. Codes for line breaks, tabs and blocks separate words. A segment without a translation has an empty
target. Units of XLIFF with `translate="no"`, their own or that of a group around them, are left out.
"""

from collections.abc import Sequence
from functools import partial

from allennlp_nef.errors import DataFormatError, UserError
from allennlp_nef.qe.bitext.po import read_po
from allennlp_nef.qe.bitext.segments import Bitext, SegmentPair, Write
from allennlp_nef.qe.bitext.tables import read_json_lines, read_table, read_text_pair, write_table
from allennlp_nef.qe.bitext.tmx import read_tmx
from allennlp_nef.qe.bitext.xliff import read_xliff

__all__ = ["Bitext", "SegmentPair", "read_bitext", "read_bitexts", "writer_of"]

_TABLES = (".tsv", ".csv")
_XLIFF = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")
_ENDINGS = (*_XLIFF, ".tmx", ".po", *_TABLES, ".jsonl")


def _ending(path: str) -> str:
    """The ending of a file of one of the formats, without `.gz`; empty for any other file."""
    name = path.lower().removesuffix(".gz")
    return next((ending for ending in _ENDINGS if name.endswith(ending)), "")


def read_bitexts(
    paths: Sequence[str],
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
) -> list[Bitext]:
    """Reads bitexts: see `read_bitext`. Of files in no format of bitexts, two are one: sources and translations."""
    bitexts, rest = [], list(paths)
    while rest:
        number = 1 if _ending(rest[0]) or len(rest) == 1 or _ending(rest[1]) else 2
        bitexts.append(read_bitext(rest[:number], source_language, target_language, skip_final))
        del rest[:number]
    return bitexts


def read_bitext(
    paths: Sequence[str],
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
) -> Bitext:
    """
    Reads a file in one of the formats, or two files of lines: sources and translations.

    Languages such as "en" choose two texts of TMX, and can name columns. `skip_final` leaves out XLIFF segments in the
    state final or signed-off, and approved units. Raises a `DataFormatError` for other files, and without segments.
    """
    path, ending, languages = paths[-1], _ending(paths[0]), (source_language, target_language)
    if len(paths) == 2:
        bitext = read_text_pair(*paths)
    elif ending in _XLIFF:
        bitext = read_xliff(path, skip_final)
    elif ending == ".tmx":
        bitext = read_tmx(path, *languages)
    elif ending == ".po":
        bitext = read_po(path)
    elif ending in _TABLES:
        bitext = read_table(path, *languages)
    elif ending == ".jsonl":
        bitext = read_json_lines(path, *languages)
    else:
        raise DataFormatError(f"{path}: expected one of {', '.join(_ENDINGS)}, or two text files")
    if not bitext.segments:
        raise DataFormatError(f"{path}: expected at least one segment, got none")
    bitext.path = path
    bitext.source_language = source_language or bitext.source_language
    bitext.target_language = target_language or bitext.target_language
    return bitext


def writer_of(bitext: Bitext, path: str) -> Write:
    """The function that writes a bitext with scores: in its own format, or as a table. Raises a `UserError` if two text
    files are to be written as anything but a table."""
    if _ending(path) in _TABLES and _ending(bitext.path) not in _TABLES:
        return partial(write_table, segments=bitext.segments)
    if bitext.write is None:
        raise UserError(f"{path}: expected the ending {' or '.join(_TABLES)} for two text files")
    return bitext.write
