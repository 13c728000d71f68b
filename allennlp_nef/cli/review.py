"""`allennlp-nef review`: a report for reviewers of translations, and their files with scores and errors."""

import argparse
import json
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from allennlp_nef.cli.shared import (
    ARCHIVE_HELP,
    add_batches,
    add_threshold,
    add_trust,
    check_outputs,
    is_stdout,
    options_of,
    percent,
    write_text,
    writing,
)
from allennlp_nef.data.text_files import read_objects
from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.pretrained import multilingual_e5
from allennlp_nef.qe.bitext import SegmentPair, read_bitext
from allennlp_nef.qe.report import report_page, summary_of

logger = logging.getLogger(__name__)

_NUMBER = int | float
_ANSWER: dict[str, Any] = {
    **dict.fromkeys(("source", "tokens", "tags"), [str]),
    "bad_probabilities": [_NUMBER],
    "threshold": _NUMBER,
    "expected_bad_share": _NUMBER,
    "alignments": [[int]],
    "spans": [{"start": int, "end": int, "text": str, "probability": _NUMBER}],
}
"""The fields of an answer that the report and the annotated file need, with their types."""

SUMMARY = "Write a report for reviewers of translations: one page, the riskiest sentences first."
DETAILS = """
The report is an HTML file that opens in a browser without a server or network. It marks likely errors and saves the
reviewer's decisions. INPUT is one of:

    .tsv, .csv             two columns, or columns named source and target
    .xlf, .xliff, .tmx     XLIFF 1.2 and 2, TMX
    SOURCE TARGET          two text files, one sentence per line

The scores come from a quality estimation model (--archive) or from its answers (--answers), one JSON object per line as
written by `predict`. --annotated writes a copy of INPUT with scores and errors. The report lists segments that cannot
be scored with the reason.

    %(prog)s translated.xlf --archive runs/qe/model.tar.gz --output report.html --annotated checked.xlf
    %(prog)s test.src test.mt --answers answers.jsonl --output report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "inputs",
        metavar="INPUT",
        nargs="+",
        help="a bitext, or a file of source sentences and a file of translations",
    )
    add("--output", metavar="FILE", help="the report to write (HTML)")
    add("--annotated", metavar="FILE", help="INPUT with scores and errors (XLIFF, TSV, CSV)")
    scores = parser.add_mutually_exclusive_group(required=True)
    scores.add_argument("--archive", metavar="ARCHIVE", help=ARCHIVE_HELP)
    scores.add_argument("--answers", metavar="FILE", help="the answers of a model, one per line")
    add(
        "-o", "--overrides", default="", metavar="JSON", help="changes to the config of the archive"
    )
    add_threshold(parser)
    add("--title", help="title of the report (default = the name of INPUT)")
    add("--source-language", metavar="CODE", help="such as en (default = the language in INPUT)")
    add("--target-language", metavar="CODE", help="such as de (default = the language in INPUT)")
    add("--skip-final", action="store_true", help="leave out XLIFF translations that are final")
    add("--json", action="store_true", help="print the numbers as JSON")
    add_batches(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    figures = review(**options_of(args, review))
    paths = list(filter(None, (args.output, args.annotated)))
    if any(map(is_stdout, paths)):
        return
    if args.json:
        yield json.dumps(figures)
        return
    yield f"{figures['sentences']} sentences, {figures['scored']} with a score"
    for name, total in (("sentences", figures["scored"]), ("words", figures["words"])):
        flagged = figures[f"flagged_{name}"]
        yield f"{flagged} of {total} {name} flagged ({percent(flagged / max(total, 1))}%)"
    for path in paths:
        yield f"wrote {path}"


def review(
    inputs: Sequence[str],
    *,
    output: str | None = None,
    annotated: str | None = None,
    archive: str | None = None,
    answers: str | None = None,
    overrides: str | dict[str, Any] = "",
    threshold: float | str | None = None,
    title: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> dict[str, Any]:
    """
    Writes a report for reviewers of translations, or the translations with scores and errors, or both.

    The parameters are the options of `allennlp-nef review`. Needs one of `archive` and `answers`, and at least one of
    `output` and `annotated`.

    # Returns

    `dict[str, Any]`
        The output of `allennlp_nef.qe.report.summary_of`.

    # Raises

    `UserError`: an invalid option, or an input, answers or an archive that cannot be used.
    """
    if output is None and annotated is None:
        raise UserError("expected --output or --annotated, got neither")
    if (archive is None) == (answers is None):
        raise UserError("expected one of --archive and --answers")
    if len(inputs) > 2:
        raise UserError(
            f"expected one file, or one of sources and one of translations, got {len(inputs)}"
        )
    check_outputs((output, annotated), inputs if answers is None else (*inputs, answers))
    bitext = read_bitext(inputs, source_language, target_language, skip_final)
    if annotated is not None and bitext.write is None:
        raise UserError(f"--annotated: expected XLIFF, TSV or CSV, got {inputs[0]}")
    pairs = bitext.segments
    if archive is not None:
        options = {
            "trust": trust,
            "overrides": overrides,
            "threshold": threshold,
            "batch_size": batch_size,
        }
        complete = [pair for pair in pairs if pair.missing is None]
        languages = (bitext.source_language, bitext.target_language)
        scored = iter(_predict(complete, archive, cuda_device, languages, options))
        results = [{} if pair.missing else next(scored) for pair in pairs]
    else:
        results = _read_answers(str(answers), len(pairs))
    for i, pair in enumerate(pairs):
        if pair.missing:
            results[i] = {"error": f"there is no {pair.missing}"}
    failed = [i for i, result in enumerate(results) if "error" in result]
    if failed:
        place, reason = pairs[failed[0]].place, results[failed[0]]["error"]
        if len(failed) == len(results):
            raise UserError(f"{place}: no segment can be scored ({reason})")
        message = "%d of %d segments have no score, the first one at %s: %s"
        logger.warning(message, len(failed), len(results), place, reason)
    heading = title or Path(inputs[-1]).name
    model = Path((archive or "").removesuffix("model.tar.gz")).name
    page = report_page(heading, bitext, results, model)  # checks the words of the answers
    if output is not None:
        write_text(Path(output), page)
    if annotated is not None and bitext.write is not None:
        with writing(Path(annotated)) as draft:
            bitext.write(draft, results)
    return summary_of(results)


def _predict(
    pairs: Sequence[SegmentPair],
    archive: str,
    cuda_device: int,
    languages: Sequence[str | None],
    options: dict[str, Any],
) -> list[dict[str, Any]]:
    """The answer of a model to each segment; `{"error": ...}` if it cannot be scored."""
    from allennlp.common import Tqdm

    from allennlp_nef.predictors.archives import load_predictor

    predictor = load_predictor(archive, cuda_device, "word_qe", on_error="skip", **options)
    if predictor._dataset_reader.tagged != "target":
        raise UserError(f"{archive}: expected a model that tags the words of translations")
    if getattr(predictor._model.pair_embedder, "model_name", None) == multilingual_e5.NAME:
        for code in filter(None, languages):
            if re.split("[-_]", code)[0].lower() not in multilingual_e5.LANGUAGES:
                logger.warning("%s does not know the language %r", archive, code)
    requests = ((pair.place, {"source": pair.source, "target": pair.target}) for pair in pairs)
    return list(Tqdm.tqdm(predictor.stream(requests), total=len(pairs), desc="segments"))


def _read_answers(path: str, count: int) -> list[dict[str, Any]]:
    """The answers in a file, one per segment."""
    answers = list(read_objects(path))
    for number, answer in answers:
        if "error" in answer:
            continue
        expected = f"{path}:{number}: expected an answer about the words of a translation"
        for name, types in _ANSWER.items():
            if not _has_types(answer.get(name), types):
                raise DataFormatError(f"{expected}, got {name}: {quote(answer.get(name))}")
        if not len(answer["tokens"]) == len(answer["tags"]) == len(answer["bad_probabilities"]):
            raise DataFormatError(f"{expected}, with a tag and a probability for each token")
    if len(answers) != count:
        raise DataFormatError(
            f"{path}: expected {count} answers, one per segment, got {len(answers)}"
        )
    return [answer for _, answer in answers]


def _has_types(value: Any, types: Any) -> bool:
    """Whether a JSON value is of a type, a list of `[types]`, or an object with `{name: types}`."""
    if isinstance(types, list):
        return isinstance(value, list) and all(_has_types(each, types[0]) for each in value)
    if isinstance(types, dict):
        return isinstance(value, dict) and all(
            _has_types(value.get(name), each) for name, each in types.items()
        )
    return isinstance(value, types)
