"""`allennlp-nef review`: an HTML report for reviewers of translations, and annotated copies of their files."""

import argparse
import json
import logging
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy

from allennlp_nef.cli.arguments import (
    ARCHIVE_HELP,
    add_batches,
    add_threshold,
    add_trust,
    options_of,
)
from allennlp_nef.cli.outputs import check_outputs, is_stdout, table_text, writing
from allennlp_nef.errors import UserError
from allennlp_nef.pretrained import multilingual_e5
from allennlp_nef.qe.answers import ESTIMATES, REQUIRED, findings_of
from allennlp_nef.qe.bitext.languages import base_language
from allennlp_nef.qe.bitext.reading import read_bitexts, writer_of
from allennlp_nef.qe.bitext.segments import Answer, Bitext
from allennlp_nef.qe.checks import CHECKS
from allennlp_nef.qe.review.answers import read_answers
from allennlp_nef.qe.review.decisions import apply_decisions, read_decisions
from allennlp_nef.qe.review.report import report_page
from allennlp_nef.qe.review.summary import row_of, summary_of
from allennlp_nef.qe.translated_sentence import TranslatedSentence

logger = logging.getLogger(__name__)


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


_FILES: list[tuple[str, str, Callable[[Any], str]]] = [
    ("file", "file", str),
    *((name, name, str) for name in ("sentences", "scored", "words")),
    ("flagged", "flagged_words", str),
    ("critical", "critical_sentences", lambda value: "-" if value is None else str(value)),
    ("HTER", "mean_hter", _score),
    ("BAD share", "mean_expected_bad_share", _score),
    ("with findings", "sentences_with_findings", str),
]

DETAILS = """
The report is an HTML file that opens in a browser without a server or network. It marks likely errors and saves the
reviewer's decisions. INPUT is one or more of:

    .xlf, .xliff, .sdlxliff, .mqxliff, .mxliff    XLIFF 1.2 and 2
    .tmx, .po                                     TMX, gettext
    .tsv, .csv, .jsonl                            two columns, or named ones (source, target, ...)
    SOURCE TARGET                                 two text files, one sentence per line

The scores come from a quality estimation model (--archive) or from its answers (--answers), one JSON object per line as
written by `predict`. --annotated FILE writes a copy of INPUT with scores and errors, or a table if FILE ends in .tsv or
.csv; with several inputs, FILE is a folder. Segments that cannot be scored are listed in the report with the reason.

--decisions copies a reviewer's decisions, exported from an earlier report, to the annotated copy or to a new report.
A decision is skipped, and listed as outdated, if its segment's id or text has changed.

    %(prog)s translated.xlf --archive runs/qe/model.tar.gz --output report.html --annotated checked.xlf
    %(prog)s test.src test.mt --archive qe-multilingual --annotated scores.tsv
    %(prog)s translated.xlf --decisions report.decisions.jsonl --annotated reviewed.xlf
    %(prog)s test.src test.mt --answers answers.jsonl --output report.html
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "inputs",
        metavar="INPUT",
        nargs="+",
        help="a bitext, or a file of source sentences and a file of translations (.gz is allowed)",
    )
    add("--output", metavar="FILE", help="the report to write (HTML)")
    add(
        "--annotated",
        metavar="FILE",
        help="copy of INPUT with scores and errors, or a .tsv or .csv table; with several inputs, a folder",
    )
    scores = parser.add_mutually_exclusive_group()
    scores.add_argument("--archive", metavar="ARCHIVE", help=ARCHIVE_HELP)
    scores.add_argument("--answers", metavar="FILE", help="a model's answers, one per line")
    add("-o", "--overrides", default="", metavar="JSON", help="changes to the archive's config")
    add(
        "--decisions",
        metavar="FILE",
        help="decisions exported from a report: --annotated writes them (no model needed), and a new report "
        "starts with them",
    )
    add_threshold(parser)
    add("--no-checks", action="store_false", dest="checks", help="skip the rule-based checks")
    add(
        "--order-by",
        choices=ESTIMATES,
        help="order of the report, the worst segments first (default = critical_error_probability; for models without "
        "it, hter or the expected share of BAD words)",
    )
    add("--title", help="title of the report (default = the name of INPUT)")
    add("--source-language", metavar="CODE", help="such as en (default = the language in INPUT)")
    add("--target-language", metavar="CODE", help="such as de (default = the language in INPUT)")
    add("--skip-final", action="store_true", help="skip final or locked translations in XLIFF")
    add("--skip-fuzzy", action="store_true", help="skip fuzzy translations in PO")
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
    if "files" in figures:
        rows = figures["files"]
        yield table_text([{name: write(row[key]) for name, key, write in _FILES} for row in rows])
    elif args.archive or args.answers:
        yield f"{_number(figures['sentences'], 'segment')}, {figures['scored']} scored"
        for noun, total in (("segment", figures["scored"]), ("word", figures["words"])):
            flagged = figures["flagged_sentences" if noun == "segment" else "flagged_words"]
            yield f"{flagged} of {_number(total, noun)} flagged ({100 * flagged / max(total, 1):.3g}%)"
        if figures["critical_sentences"] is not None:
            number = _number(figures["critical_sentences"], "segment")
            yield f"{number} flagged for critical errors"
    if args.checks and (args.archive or args.answers):
        kinds = [f"{kind} {count}" for kind in CHECKS if (count := figures[f"{kind}_findings"])]
        counts = f" ({', '.join(kinds)})" if kinds else ""
        yield f"{_number(figures['sentences_with_findings'], 'segment')} with findings of checks{counts}"
    if args.decisions:
        outdated = figures["outdated"]
        names = f": {', '.join(outdated)}" if outdated else ""
        rest = f"; {figures['other_files']} for other files" if figures["other_files"] else ""
        yield f"{_number(figures['decisions'], 'decision')}, {len(outdated)} outdated{names}{rest}"
    for path in paths:
        yield f"wrote {path}"


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def review(
    inputs: Sequence[str],
    *,
    output: str | None = None,
    annotated: str | None = None,
    archive: str | None = None,
    answers: str | None = None,
    decisions: str | None = None,
    checks: bool = True,
    overrides: str | dict[str, Any] = "",
    threshold: float | str | None = None,
    order_by: str | None = None,
    title: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    skip_final: bool = False,
    skip_fuzzy: bool = False,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> dict[str, Any]:
    """
    Writes a report for reviewers of translations, annotated copies of their files, or both.

    The parameters are the options of `allennlp-nef review`. Requires `archive` or `answers`, unless
    `decisions` and `annotated` are given alone, and at least one of `output` and `annotated`. Either all outputs are
    written or none.

    # Returns

    `dict[str, Any]`
        The statistics of `allennlp_nef.qe.review.summary.summary_of`. For several inputs, also a list `files` with the
        `file` and statistics of each. With `decisions`, also the number of `decisions`, the names of `outdated` ones,
        whose segments have changed, and the number of those for `other_files`.

    # Raises

    `UserError`: an invalid option, or an input, answers or an archive that cannot be used.
    """
    has_scores = archive is not None or answers is not None
    of_model = (threshold, overrides or "", batch_size, cuda_device, trust)
    if output is None and annotated is None:
        raise UserError("expected --output or --annotated, got none of them")
    if (archive and answers) or not (has_scores or (decisions and output is None)):
        raise UserError("expected one of --archive and --answers")
    if archive is None and of_model != (None, "", 64, -1, False):
        options = "--threshold, --overrides, --batch-size, --cuda-device and --trust"
        raise UserError(f"{options} are for a model: expected --archive")
    if not has_scores and not checks:
        raise UserError("--no-checks: expected --archive or --answers")
    for option, value in (("title", title), ("order-by", order_by)):
        if value is not None and output is None:
            raise UserError(f"--{option}: expected --output")
    bitexts = read_bitexts(inputs, source_language, target_language, skip_final, skip_fuzzy)
    segments = [segment for bitext in bitexts for segment in bitext.segments]
    for bitext in bitexts:
        for each in bitext.segments:
            each.source_language = each.source_language or bitext.source_language
            each.target_language = each.target_language or bitext.target_language
    copies = _copies(annotated, bitexts)
    check_outputs(
        (output, *copies),
        filter(None, (*inputs, answers, decisions, archive)),
    )
    writers = [writer_of(*each) for each in zip(bitexts, copies)]
    made = read_decisions(decisions) if decisions is not None else []
    outdated, others = apply_decisions(made, bitexts)
    results: Iterator[Any] = repeat(None, len(segments))
    if archive is not None:
        model: dict[str, Any] = {"trust": trust, "overrides": overrides, "checks": False}
        model |= {"threshold": threshold, "batch_size": batch_size, "cuda_device": cuda_device}
        results = _predict(segments, archive, order_by, model)
    elif answers is not None:
        results = read_answers(answers, segments, order_by)
    if has_scores and checks:
        results = map(_checked, results, segments)
    tables: list[numpy.ndarray] = []
    failed: list[str] = []
    kept: list[Answer] = []
    with ExitStack() as stack:  # outputs are written only if it exits without an error
        page = stack.enter_context(writing(Path(output))) if output is not None else None
        for i, bitext in enumerate(bitexts):
            rows = array("d")
            recorded: Iterable[Any] = _recorded(bitext.segments, results, rows, failed)
            if page:
                recorded = list(recorded)
                kept += recorded
            if copies:
                writers[i](stack.enter_context(writing(Path(copies[i]))), recorded)
            tables.append(numpy.array(rows).reshape(len(bitext.segments), -1))
        deque(results, maxlen=0)  # more answers than segments are an error
        if len(failed) == len(segments):
            raise UserError(f"{failed[0]} (no segment can be scored)")
        if page:
            heading = title or ", ".join(Path(bitext.path).name for bitext in bitexts)
            model_name = _name_of(archive) if archive else ""
            text = report_page(heading, bitexts, kept, model_name, order_by)
            page.write_text(text, encoding="utf-8", errors="backslashreplace")
    if failed:
        message = "%d of %d segments have no score, the first one at %s"
        logger.warning(message, len(failed), len(segments), failed[0])
    figures = summary_of(numpy.concatenate(tables))
    if decisions is not None:
        figures |= {"decisions": len(made), "other_files": len(others)}
        figures["outdated"] = [
            each.name if len(bitexts) == 1 else f"{each.target.path} {each.name}".strip()
            for each in outdated
        ]
    if len(bitexts) > 1:
        figures["files"] = [
            {"file": bitext.path, **summary_of(table)} for bitext, table in zip(bitexts, tables)
        ]
    return figures


def _name_of(archive: str) -> str:
    """Returns the name of a model: that of its run folder, or of its archive if it is not called `model.tar.gz`."""
    path = Path(archive).absolute()
    return path.parent.name if path.name == "model.tar.gz" else path.name.removesuffix(".tar.gz")


def _copies(annotated: str | None, bitexts: Sequence[Bitext]) -> list[str]:
    """Returns the path of each input's annotated copy: `annotated` or, for several inputs, a file in that folder."""
    if annotated is None:
        return []
    if len(bitexts) == 1:
        return [annotated]
    names = [Path(each.path).name + ("" if each.write else ".tsv") for each in bitexts]
    return [str(Path(annotated) / name) for name in names]


def _recorded(
    segments: Sequence[TranslatedSentence],
    answers: Iterator[Any],
    rows: "array[float]",
    failed: list[str],
) -> Iterator[Any]:
    """Yields the answers. Adds their numbers to `rows`, and the location and reason of each error to `failed`."""
    for segment, answer in zip(segments, answers):
        rows.extend(row_of(answer))
        if answer is not None and "error" in answer:
            failed.append(f"{segment.place}: {answer['error']}")
        yield answer


def _checked(answer: Answer, segment: TranslatedSentence) -> Answer:
    """Adds the findings of checks to an answer. They know the languages, plural forms and inline codes of files."""
    return answer if "error" in answer else {**answer, "checks": findings_of(segment)}


def _predict(
    segments: Sequence[TranslatedSentence],
    archive: str,
    order_by: str | None,
    options: dict[str, Any],
) -> Iterator[Answer]:
    """Yields the model's answer for each segment; `{"error": ...}` if it cannot be scored."""
    from allennlp.common import Tqdm

    from allennlp_nef.archives import load_predictor

    predictor = load_predictor(archive, name="word_qe", on_error="skip", **options)
    if order_by is not None and order_by not in predictor._model.outputs:
        raise UserError(f"--order-by: {archive} does not predict {order_by}")
    if predictor._dataset_reader.tagged != "target":
        raise UserError(f"{archive}: expected a model that tags the words of translations")
    if getattr(predictor._model.pair_embedder, "model_name", None) == multilingual_e5.NAME:
        codes = {code for each in segments for code in (each.source_language, each.target_language)}
        for code in sorted(filter(None, codes)):
            if base_language(code) not in multilingual_e5.LANGUAGES:
                logger.warning("%s does not know the language %r", archive, code)
    requests: Iterator[tuple[str, Any]] = (
        ("", UserError(each.error) if each.error else dict(zip(REQUIRED, each.texts)))
        for each in segments
    )
    yield from Tqdm.tqdm(predictor.stream(requests), total=len(segments), desc="segments")
