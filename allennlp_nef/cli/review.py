"""`allennlp-nef review`: an HTML report for reviewers of translations, and annotated copies of their files."""

import argparse
import json
import logging
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, repeat, zip_longest
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
from allennlp_nef.cli.outputs import Column, check_outputs, is_stdout, percent, table_text, writing
from allennlp_nef.data.files import read_objects
from allennlp_nef.errors import DataFormatError, UserError, quote
from allennlp_nef.pretrained import multilingual_e5
from allennlp_nef.qe.bitext import Bitext, SegmentPair, read_bitexts, writer_of
from allennlp_nef.qe.bitext.segments import UNSCORED, Answer, base_language
from allennlp_nef.qe.file_figures import compare_systems, figures_of, row_of
from allennlp_nef.qe.layouts import BAD, OK, SEVERITIES, check_tags
from allennlp_nef.qe.report import report_page, words_of
from allennlp_nef.qe.review_decisions import Decision, match_decisions, read_decisions

logger = logging.getLogger(__name__)


def _is_rate(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1e6


def _is_share(value: Any) -> bool:
    return _is_rate(value) and value <= 1


_ANSWER: dict[str, Any] = {
    **dict.fromkeys(("source", "tokens", "tags"), [str]),
    "bad_probabilities": [_is_share],
    "threshold": _is_share,
    "expected_bad_share": _is_share,
    "hter": _is_rate,
    "alignments": [[int]],
    "spans": [{"start": int, "end": int, "text": str, "probability": _is_share}],
    "checks": [{"kind": str, "start": int, "end": int, "message": str}],
}
"""The answer fields that the report and the annotated file need, with their types or tests."""
_OPTIONAL = {"hter": 0, "checks": []}
"""Fields that may be missing, with values that pass."""


def _score(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


_FILES: list[Column] = [
    ("file", "file", str),
    *((name, name, str) for name in ("sentences", "scored", "words")),
    ("flagged", "flagged_words", str),
    ("HTER", "mean_hter", _score),
    ("BAD share", "mean_expected_bad_share", _score),
]
_SYSTEMS: list[Column] = [
    ("file", "file", str),
    ("score", "score", str),
    ("sentences", "compared", str),
    *((name, name, _score) for name in ("mean", "low", "high")),
    ("p", "p_value", _score),
]

SUMMARY = "Write an HTML report for reviewers of translations, riskiest sentences first."
DETAILS = """
The report is an HTML file that opens in a browser without a server or network. It marks likely errors and saves the
reviewer's decisions. INPUT is one or more of:

    .xlf, .xliff, .sdlxliff, .mqxliff, .mxliff    XLIFF 1.2 and 2
    .tmx, .po                                     TMX, gettext
    .tsv, .csv, .jsonl                            two columns, or named ones (source, target, ...)
    SOURCE TARGET                                 two text files, one sentence per line

The scores come from a quality estimation model (--archive) or from its answers (--answers), one JSON object per line as
written by `predict`. --annotated FILE writes a copy of INPUT with scores and errors, or a table if FILE ends in .tsv or
.csv; for several inputs, it names a folder for the copies. --compare treats the inputs as translations of the same
sources by different systems. It prints the mean score of each system with its 95%% bootstrap interval, and the p-value
of its difference from the best system. Segments that cannot be scored are listed in the report with the reason.

--decisions copies a reviewer's decisions, exported from an earlier report, to the annotated copy or to a new report.
Decisions about segments whose name or text has changed are listed as outdated.

    %(prog)s translated.xlf --archive runs/qe/model.tar.gz --output report.html --annotated checked.xlf
    %(prog)s test.src test.mt --archive qe-multilingual --annotated scores.tsv
    %(prog)s translated.xlf --decisions report.decisions.jsonl --annotated reviewed.xlf
    %(prog)s a.xlf b.xlf --archive qe-multilingual --compare
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
        help="copy of INPUT with scores and errors, or a .tsv or .csv table; a folder for several inputs",
    )
    add(
        "--compare",
        action="store_true",
        help="compare the inputs as translations by different systems",
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
    add("--title", help="title of the report (default = the name of INPUT)")
    add("--source-language", metavar="CODE", help="such as en (default = the language in INPUT)")
    add("--target-language", metavar="CODE", help="such as de (default = the language in INPUT)")
    add("--skip-final", action="store_true", help="skip XLIFF translations that are final")
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
        yield table_text(_SYSTEMS if args.compare else _FILES, figures["files"])
    elif args.archive or args.answers:
        yield f"{figures['sentences']} sentences, {figures['scored']} with a score"
        for name, total in (("sentences", figures["scored"]), ("words", figures["words"])):
            flagged = figures[f"flagged_{name}"]
            yield f"{flagged} of {total} {name} flagged ({percent(flagged / max(total, 1))}%)"
    if args.decisions:
        outdated = figures["outdated"]
        yield f"{figures['decisions']} decisions, {len(outdated)} outdated{': ' * bool(outdated)}{', '.join(outdated)}"
    for path in paths:
        yield f"wrote {path}"


def review(
    inputs: Sequence[str],
    *,
    output: str | None = None,
    annotated: str | None = None,
    compare: bool = False,
    archive: str | None = None,
    answers: str | None = None,
    decisions: str | None = None,
    checks: bool = True,
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
    Writes a report for reviewers of translations, annotated copies of their files, or both.

    The parameters are the options of `allennlp-nef review`. Requires `archive` or `answers`, unless
    `decisions` and `annotated` are given alone, and at least one of `output`, `annotated` and `compare`. Either all
    outputs are written or none.

    # Returns

    `dict[str, Any]`
        The figures of `allennlp_nef.qe.file_figures.figures_of`. For several inputs, also a list `files` with the
        `file` and figures of each and, with `compare`, those of `compare_systems` in the same module. With `decisions`,
        also the number of `decisions`, and the names of `outdated` ones, whose segments have changed.

    # Raises

    `UserError`: an invalid option, or an input, answers or an archive that cannot be used.
    """
    if output is None and annotated is None and not compare:
        raise UserError("expected --output, --annotated or --compare, got none of them")
    only_decisions = decisions is not None and output is None and not compare
    if (archive is None) == (answers is None) and not (only_decisions and archive is None):
        raise UserError("expected one of --archive and --answers")
    bitexts = read_bitexts(inputs, source_language, target_language, skip_final)
    if compare:
        _check_sources(bitexts)
    copies = _copies(annotated, bitexts)
    check_outputs((output, *copies), filter(None, (*inputs, answers, decisions)))
    writers = [writer_of(*each) for each in zip(bitexts, copies)]
    if archive is not None:
        options = {
            "trust": trust,
            "overrides": overrides,
            "threshold": threshold,
            "batch_size": batch_size,
            "checks": checks,
        }
        results = _predict(bitexts, archive, cuda_device, options)
    elif answers is not None:
        results = _read_answers(answers, bitexts, checks)
    else:
        results = iter([UNSCORED] * sum(len(bitext.segments) for bitext in bitexts))
    made = read_decisions(decisions) if decisions is not None else []
    outdated: list[Decision] = []
    if made:
        matched, outdated = match_decisions(made, _joined(bitexts).segments)
        results = (
            review.add_to(answer) if review else answer
            for answer, review in zip(results, chain(matched, repeat(None)))
        )
    rows = [array("d") for _ in bitexts]
    kept: list[list[Answer]] = []
    failed: list[tuple[str, str]] = []
    with ExitStack() as stack:  # outputs are written only if it exits without an error
        page = stack.enter_context(writing(Path(output))) if output is not None else None
        for i, bitext in enumerate(bitexts):
            counted = _count(bitext.segments, results, rows[i], failed)
            if page:
                kept.append(list(counted))
                counted = iter(kept[-1])
            if copies:
                writers[i](stack.enter_context(writing(Path(copies[i]))), counted)
            deque(counted, maxlen=0)
        deque(results, maxlen=0)  # more answers than segments are an error
        total = sum(len(bitext.segments) for bitext in bitexts)
        is_scored = archive is not None or answers is not None
        if is_scored and len(failed) == total:
            raise UserError("{}: no segment can be scored ({})".format(*failed[0]))
        if page:
            heading = title or ", ".join(Path(bitext.path).name for bitext in bitexts)
            model = Path((archive or "").removesuffix("model.tar.gz")).name
            text = report_page(heading, _joined(bitexts), list(chain(*kept)), model)
            page.write_text(text, encoding="utf-8", errors="backslashreplace")
    if failed and is_scored:
        message = "%d of %d segments have no score, the first one at %s: %s"
        logger.warning(message, len(failed), total, *failed[0])
    tables = [numpy.array(values).reshape(len(b.segments), -1) for values, b in zip(rows, bitexts)]
    figures = figures_of(numpy.concatenate(tables))
    if decisions is not None:
        figures |= {"decisions": len(made), "outdated": [review.key[0] for review in outdated]}
    if len(bitexts) > 1:
        figures["files"] = [
            {"file": bitext.path, **figures_of(table)} for bitext, table in zip(bitexts, tables)
        ]
        for each, compared in zip(figures["files"], compare_systems(tables) if compare else ()):
            each |= compared
    return figures


def _joined(bitexts: Sequence[Bitext]) -> Bitext:
    """Joins bitexts into one. Segment names are unique and, for several files, start with the file name. A language is
    None if the files have different ones.
    """
    names = ("source_language", "target_language")
    counts: Counter[str] = Counter()
    segments = []
    for bitext in bitexts:
        file = f"{Path(bitext.path).name}, " if len(bitexts) > 1 else ""
        for segment in bitext.segments:
            name = file + segment.name
            counts[name] += 1
            name += f" (number {counts[name]})" if counts[name] > 1 else ""
            own = {each: getattr(segment, each) or getattr(bitext, each) for each in names}
            segments.append(
                replace(segment, name=name, **own) if file or name != segment.name else segment
            )
    codes = [{getattr(bitext, name) for bitext in bitexts} for name in names]
    source, target = (each.pop() if len(each) == 1 else None for each in codes)
    return Bitext(segments, source, target)


def _copies(annotated: str | None, bitexts: Sequence[Bitext]) -> list[str]:
    """Returns the path of each input's annotated copy: `annotated` or, for several inputs, a file in that folder."""
    if annotated is None:
        return []
    if len(bitexts) == 1:
        return [annotated]
    names = [Path(each.path).name + ("" if each.write else ".tsv") for each in bitexts]
    return [str(Path(annotated) / name) for name in names]


def _check_sources(bitexts: Sequence[Bitext]) -> None:
    """Raises a `UserError` unless there are several bitexts with the same sources."""
    if len(bitexts) < 2:
        raise UserError("--compare: expected several inputs, one for each system, got one")
    for bitext in bitexts[1:]:
        for first, other in zip_longest(bitexts[0].segments, bitext.segments):
            if first is None or other is None or first.source != other.source:
                places = (each.place if each else "the end of the file" for each in (first, other))
                raise DataFormatError("{1}: expected the source of {0}".format(*places))


def _count(
    segments: Sequence[SegmentPair],
    answers: Iterator[Answer],
    rows: "array[float]",
    failed: list[tuple[str, str]],
) -> Iterator[Answer]:
    """Yields the answers. Adds their figures to `rows`, and the location and reason of each error to `failed`."""
    for segment, answer in zip(segments, answers):
        rows.extend(row_of(answer))
        if "error" in answer:
            failed.append((segment.place, answer["error"].removeprefix(f"{segment.place}: ")))
        yield answer


def _predict(
    bitexts: Sequence[Bitext], archive: str, cuda_device: int, options: dict[str, Any]
) -> Iterator[Answer]:
    """Yields the model's answer for each segment; `{"error": ...}` if it cannot be scored."""
    from allennlp.common import Tqdm

    from allennlp_nef.archives import load_predictor

    predictor = load_predictor(archive, cuda_device, "word_qe", on_error="skip", **options)
    if predictor._dataset_reader.tagged != "target":
        raise UserError(f"{archive}: expected a model that tags the words of translations")
    if getattr(predictor._model.pair_embedder, "model_name", None) == multilingual_e5.NAME:
        named: Iterator[Bitext | SegmentPair] = chain(
            bitexts, *(bitext.segments for bitext in bitexts)
        )
        codes = chain.from_iterable((each.source_language, each.target_language) for each in named)
        for code in dict.fromkeys(filter(None, codes)):
            if base_language(code) not in multilingual_e5.LANGUAGES:
                logger.warning("%s does not know the language %r", archive, code)
    segments = [segment for bitext in bitexts for segment in bitext.segments]
    requests = (
        (segment.place, {"source": segment.source, "target": segment.target})
        for segment in segments
        if segment.problem is None
    )
    scored = predictor.stream(requests)
    for segment in Tqdm.tqdm(segments, desc="segments"):
        yield {"error": segment.problem} if segment.problem else next(scored)


def _read_answers(path: str, bitexts: Sequence[Bitext], checks: bool) -> Iterator[Answer]:
    """Yields the answers in a file, one per segment, with or without their checks."""
    answers = read_objects(path)
    segments = [segment for bitext in bitexts for segment in bitext.segments]
    for count, segment in enumerate(segments):
        number, answer = next(answers, (0, None))
        if answer is None:
            raise DataFormatError(f"{path}: expected {len(segments)} answers, got {count}")
        if segment.problem or "error" in answer:
            yield {"error": segment.problem or answer["error"]}
            continue
        expected = f"{path}:{number}: expected an answer about the words of a translation"
        for name, types in _ANSWER.items():
            if not _has_types(answer.get(name, _OPTIONAL.get(name)), types):
                raise DataFormatError(f"{expected}, got {name}: {quote(answer.get(name))}")
        if not len(answer["tokens"]) == len(answer["tags"]) == len(answer["bad_probabilities"]):
            raise DataFormatError(f"{expected}, with a tag and a probability for each token")
        check_tags(answer["tags"], f"{path}:{number}", (OK, BAD, *SEVERITIES))
        length = len(segment.target if "offsets" in answer else " ".join(answer["tokens"]))
        for each in (*answer["spans"], *answer.get("checks", ())):
            if not 0 <= each["start"] <= each["end"] <= length:
                raise DataFormatError(f"{expected}, with spans within its {length} characters")
            if each.get("severity", SEVERITIES[0]) not in SEVERITIES:
                raise DataFormatError(f"{expected}, got the severity {quote(each['severity'])}")
        words_of(segment, answer)
        yield answer if checks else {**answer, "checks": []}
    for number, _ in answers:
        raise DataFormatError(f"{path}:{number}: expected {len(segments)} answers, got more")


def _has_types(value: Any, types: Any) -> bool:
    """Returns whether a JSON value has a type or passes a test, or matches `[types]` or `{name: types}`."""
    if isinstance(types, list):
        return isinstance(value, list) and all(_has_types(each, types[0]) for each in value)
    if isinstance(types, dict):
        return isinstance(value, dict) and all(
            _has_types(value.get(name), each) for name, each in types.items()
        )
    return isinstance(value, types) if isinstance(types, type) else types(value)
