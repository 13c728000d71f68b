"""`allennlp-nef label-post-edits`: gold tags and HTER from post-edited translations."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from allennlp_nef.cli.arguments import options_of
from allennlp_nef.cli.outputs import check_outputs, percent, write_text
from allennlp_nef.data.files import split_fields
from allennlp_nef.errors import DataFormatError
from allennlp_nef.qe.files import read_parallel
from allennlp_nef.qe.layouts import BAD, EOS, split_tags
from allennlp_nef.qe.post_edits import hter_of, tags_of

DETAILS = """
MT and POST_EDIT are text files of tokenized sentences, one per line. Writes PREFIX.tags and PREFIX.hter, which,
together with the sources (PREFIX.src) and MT (PREFIX.mt), are training data for an estimator:

    %(prog)s train.mt train.pe --output train

The tags are for words and gaps (2n+1 for n words, as in WMT18 to 21) or, with --eos, for words and <EOS> (n+1, as in
WMT22). A word is BAD if the post-editor deleted or replaced it, a gap if words are missing there. HTER is the number
of edits, including shifts, per word of the post-edit, capped at 1. Needs the `ter` extra.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("translations", metavar="MT", help="file of translations")
    add("post_edits", metavar="POST_EDIT", help="file of their post-edits")
    add("--output", metavar="PREFIX", required=True, help="prefix of the output files")
    add("--eos", action="store_true", help="n+1 tags: of words and <EOS>, as in WMT22")


def run(args: argparse.Namespace) -> Iterator[str]:
    figures = label_post_edits(**options_of(args, label_post_edits))
    yield f"{figures['sentences']:,} sentences, {percent(figures['bad'])}% of the tags are BAD"
    yield f"mean HTER: {percent(figures['hter'])}%"
    yield f"wrote {args.output}.tags and {args.output}.hter"


def label_post_edits(
    translations: str, post_edits: str, *, output: str, eos: bool = False
) -> dict[str, Any]:
    """Writes the tags and the HTER of post-edited translations.

    The parameters are the options of `allennlp-nef label-post-edits`.

    # Returns

    `dict[str, Any]`
        The number of `sentences`, the share of tags that are `bad`, and the mean `hter`.

    # Raises

    `DataFormatError`: the files differ in length, a translation has no words. `UserError`: sacrebleu is missing.
    """
    from tqdm import tqdm  # type: ignore[import-untyped]

    paths = [f"{output}.{ending}" for ending in ("tags", "hter")]
    check_outputs(paths, [translations, post_edits])
    rows, scores = [], []
    pairs = read_parallel({"target": translations, "post-edit": post_edits})
    for lines, where in tqdm(pairs, desc="sentences"):
        words, edited = split_fields(lines["target"]), split_fields(lines["post-edit"])
        if not words:
            raise DataFormatError(f"{where['target']}: expected words, got none")
        tags = tags_of(words, edited)
        if eos:
            tags = split_tags([*tags], [*words, EOS], where["target"], eos=True)
        rows.append(tags)
        scores.append(hter_of(words, edited))
    if not rows:
        raise DataFormatError(f"{translations}:1: expected at least one sentence, got none")
    write_text(Path(paths[0]), "".join(f"{' '.join(tags)}\n" for tags in rows))
    write_text(Path(paths[1]), "".join(f"{score:.6f}\n" for score in scores))
    number = sum(map(len, rows))
    return {
        "sentences": len(rows),
        "bad": sum(tags.count(BAD) for tags in rows) / number,
        "hter": sum(scores) / len(scores),
    }
