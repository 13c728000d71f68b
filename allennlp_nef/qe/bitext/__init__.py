"""
Bitexts: sentences with their translations, in translators' file formats. Scores can be written back into a file.

| format | names of files | what is added |
|---|---|---|
| XLIFF 1.2 and 2 | `.xlf`, `.xliff` | a note for each segment |
| TMX | `.tmx` | nothing |
| two columns | `.tsv`, `.csv` | the columns `allennlp_nef.qe.bitext.tables.ADDED` |
| two files with one sentence per line | any other | nothing |

The first row of a table may name its columns, with `source` and `target` among them. A `.tsv` file has no quotes.

The text of XML is what a reader sees: inline elements are left out, and the text in them stays unless it is code of
another format. An XLIFF segment without a translation has an empty target. Units with `translate="no"`, their own or
that of a group around them, are left out.
"""

from collections.abc import Sequence
from pathlib import Path

from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.bitext.base import Bitext, SegmentPair
from allennlp_nef.qe.bitext.tables import read_table, read_text_pair
from allennlp_nef.qe.bitext.tmx import read_tmx
from allennlp_nef.qe.bitext.xliff import read_xliff

__all__ = ["Bitext", "SegmentPair", "read_bitext"]


def read_bitext(
    paths: Sequence[str],
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
) -> Bitext:
    """
    Reads a bitext.

    # Parameters

    paths : `Sequence[str]`
        A file in one of the formats of this module, or two files of lines: sources and translations.
    source_language, target_language : `str`, optional (default = `None`)
        Codes such as "en". They choose two languages of a TMX file. For other files they are only passed on.
    skip_final : `bool`, optional (default = `False`)
        Whether to leave out XLIFF segments in the state final or signed-off, and approved units.

    # Raises

    `DataFormatError`: a file in another format, or without segments.
    """
    ending = Path(paths[0]).suffix.lower()
    if len(paths) == 2:
        bitext = read_text_pair(*paths)
    elif ending in (".tsv", ".csv"):
        bitext = read_table(paths[0], ending)
    elif ending in (".xlf", ".xliff"):
        bitext = read_xliff(paths[0], skip_final)
    elif ending == ".tmx":
        bitext = read_tmx(paths[0], source_language, target_language)
    else:
        raise DataFormatError(
            f"{paths[0]}: expected a .tsv, .csv, .xlf, .xliff or .tmx file, or two text files"
        )
    if not bitext.segments:
        raise DataFormatError(f"{paths[0]}: expected at least one segment, got none")
    bitext.source_language = source_language or bitext.source_language
    bitext.target_language = target_language or bitext.target_language
    return bitext
