"""Reads bitexts of all formats, and chooses how their copies are written."""

from collections.abc import Sequence
from functools import partial

from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.qe.bitext.languages import is_code, language_of
from allennlp_nef.qe.bitext.po import read_po
from allennlp_nef.qe.bitext.segments import Bitext, Write
from allennlp_nef.qe.bitext.tables import read_json_lines, read_table, read_text_pair, write_table
from allennlp_nef.qe.bitext.tmx import read_tmx
from allennlp_nef.qe.bitext.xliff import read_xliff

_TABLES = (".tsv", ".csv")
_XLIFF = (".xlf", ".xliff", ".sdlxliff", ".mqxliff", ".mxliff")
# Formats in which the languages can be chosen.
_READERS = {".tmx": read_tmx, **dict.fromkeys(_TABLES, read_table), ".jsonl": read_json_lines}
_ENDINGS = (*_XLIFF, ".po", *_READERS)


def _ending(path: str) -> str:
    """Returns the extension of a bitext, without `.gz`, or "" if it is not a known format."""
    name = path.removesuffix(".gz").lower()
    return next((ending for ending in _ENDINGS if name.endswith(ending)), "")


def read_bitexts(
    paths: Sequence[str],
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
    skip_fuzzy: bool = False,
) -> list[Bitext]:
    """Reads bitexts (see `read_bitext`). Two plain text files form one bitext."""
    endings = {_ending(path) for path in paths}
    if skip_final and endings.isdisjoint(_XLIFF):
        raise UserError("--skip-final: expected a file in XLIFF")
    if skip_fuzzy and ".po" not in endings:
        raise UserError("--skip-fuzzy: expected a PO file")
    languages = (
        _given_language("--source-language", source_language),
        _given_language("--target-language", target_language),
    )
    bitexts, rest = [], list(paths)
    while rest:
        number = 1 if _ending(rest[0]) or len(rest) == 1 or _ending(rest[1]) else 2
        bitexts.append(read_bitext(rest[:number], *languages, skip_final, skip_fuzzy))
        del rest[:number]
    return bitexts


def _given_language(option: str, text: str | None) -> str | None:
    """Returns the language code in an option, which can also be a name."""
    code = text if not text or is_code(text) else language_of(text)
    if text and not code:
        raise UserError(
            f"{option}: expected a language code, such as en or pt-BR, got {quote(text)}"
        )
    return code


def read_bitext(
    paths: Sequence[str],
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
    skip_fuzzy: bool = False,
) -> Bitext:
    """
    Reads a file in one of the formats, or two files of lines: sources and translations.

    Language codes such as "en" select the two languages of a TMX file, and can be column names. `skip_final` skips
    approved XLIFF units and segments in the state final or signed-off, and `skip_fuzzy` fuzzy messages of PO. Raises a
    `DataFormatError` if the file has another format or no segments.
    """
    path, ending, languages = paths[-1], _ending(paths[0]), (source_language, target_language)
    if len(paths) == 2:
        bitext = read_text_pair(*paths)
    elif ending in _XLIFF:
        bitext = read_xliff(path, skip_final)
    elif ending == ".po":
        bitext = read_po(path, skip_fuzzy)
    elif ending in _READERS:
        bitext = _READERS[ending](path, *languages)
    else:
        raise DataFormatError(f"{path}: expected one of {', '.join(_ENDINGS)}, or two text files")
    if not bitext.segments:
        raise DataFormatError(f"{path}: expected at least one segment, got none")
    bitext.path = path
    bitext.source_language = source_language or bitext.source_language
    bitext.target_language = target_language or bitext.target_language
    return bitext


def writer_of(bitext: Bitext, path: str) -> Write:
    """Returns the function that writes a bitext with scores, in its own format or as a table. Raises a `UserError` if
    the path has the ending of another format, or no table is given for two text files."""
    ending, own = _ending(path), _ending(bitext.path)
    if ending in _TABLES and ending != own:
        return partial(write_table, segments=bitext.segments)
    is_own = ending in ("", own) or {ending, own} <= {*_XLIFF}
    if bitext.write is None or not is_own:
        endings = dict.fromkeys([*([own] if bitext.write else []), *_TABLES])
        raise UserError(f"{path}: expected the ending {' or '.join(endings)} for {bitext.path}")
    return bitext.write
