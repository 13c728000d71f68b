"""`allennlp-nef review`: a report for reviewers of translations, and their files with scores and errors."""

import argparse
import hashlib
import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from allennlp_nef.cli.shared import (
    add_batches,
    add_trust,
    call_with,
    check_outputs,
    checking,
    percent,
    writing,
)
from allennlp_nef.data.formats.bitext import Annotation, Bitext, BitextSegment, read_bitext
from allennlp_nef.data.formats.characters import find_words, split_on_whitespace
from allennlp_nef.data.formats.error_spans import SEVERITIES, PredictedSpan, has_severities
from allennlp_nef.data.formats.text_files import is_number, parse_lines
from allennlp_nef.data.formats.wmt_layouts import EOS
from allennlp_nef.data.formats.word_alignments import check_alignments
from allennlp_nef.errors import DataFormatError, UserError, printable, quote

logger = logging.getLogger(__name__)

SUMMARY = "Write a report for reviewers of translations: one page, the riskiest sentences first."
DETAILS = """
The report is one HTML file, which opens in a browser without a server or network. It marks errors, and keeps what the
reviewer decides. INPUT is

    .tsv, .csv             two columns, or columns named source and target
    .xlf, .xliff, .tmx     XLIFF 1.2 and 2, TMX
    SOURCE TARGET          two text files, a sentence a line
    .jsonl                 JSON objects with source and target, one a line; or answers of `predict`

    %(prog)s translated.xlf --archive runs/qe/model.tar.gz --output report.html
    %(prog)s test.src test.mt --answers answers.jsonl --output report.html
    %(prog)s translated.xlf --archive runs/qe/model.tar.gz --annotated checked.xlf

The scores come from a model of quality estimation (--archive), from what it answered before (--answers), or from INPUT
itself, where it has answers. With --annotated the scores and errors are added to the file; all else in it stays as it
was. A sentence that cannot be scored is in the report, with the reason. Where the model decides which translations need
no reviewer (`calibrate --accept-share`), the report says so, and can hide these.

The exit status is 2 where INPUT, the archive or the answers cannot be used.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "inputs",
        metavar="INPUT",
        nargs="+",
        help="a file, or one of sources and one of translations",
    )
    add("--output", metavar="FILE", help="the report to write, in HTML")
    add(
        "--annotated",
        metavar="FILE",
        help="write INPUT with scores and errors: XLIFF, TMX, TSV, CSV",
    )
    add(
        "--archive",
        metavar="ARCHIVE",
        help="archive of a quality estimator, or the folder of a run",
    )
    add(
        "-o",
        "--overrides",
        default="",
        metavar="JSON",
        help="changes to its config, as for predict",
    )
    add("--answers", metavar="FILE", help="what `allennlp-nef predict` wrote: an answer a sentence")
    add("--title", help="title of the report (default: the name of INPUT)")
    add("--source-language", metavar="CODE", help="such as en (default: that of INPUT)")
    add("--target-language", metavar="CODE", help="such as de (default: that of INPUT)")
    add("--json", action="store_true", help="print the figures as JSON")
    add_batches(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    figures = call_with(review, args)
    if args.json:
        yield json.dumps(figures)
        return
    scored, words = figures["scored"], figures["words"]
    yield f"sentences: {figures['sentences']}, with a score: {scored}"
    for name, count, total in (
        ("sentences", figures["flagged_sentences"], scored),
        ("words", figures["flagged_words"], words),
    ):
        share = percent(count / total if total else None)
        yield f"{count} of {total} {name} are flagged: {share}%"
    accepted = figures["accepted"]
    if accepted is not None:
        yield f"{accepted} of {scored} sentences need no reviewer: {percent(accepted / scored)}%"
    for path in (args.output, args.annotated):
        if path is not None:
            yield f"wrote {path}"


@checking(add_arguments)
def review(
    inputs: Sequence[str],
    *,
    output: str | None = None,
    annotated: str | None = None,
    archive: str | None = None,
    overrides: str = "",
    answers: str | None = None,
    title: str | None = None,
    source_language: str | None = None,
    target_language: str | None = None,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> dict[str, Any]:
    """
    A report for reviewers of translations, and the file of the translations with scores and errors.

    The parameters are the options of `allennlp-nef review`. At least one of `output` and `annotated` is needed.

    # Returns

    `dict[str, Any]`
        What the command prints as JSON: `sentences`, and how many of them are `scored`; their `words`; the
        `threshold` of the probability of BAD (None where there is none); `flagged_sentences` and `flagged_words`, which
        have errors; `accepted`, how many sentences need no reviewer (None where no answer has `accept`); `mean_score`.

    # Raises

    `UserError`: a wrong option, or input, answers or an archive that cannot be used.
    """
    if output is None and annotated is None:
        raise UserError("expected --output or --annotated, got neither")
    if overrides and archive is None:
        raise UserError(
            "--overrides: expected --archive with it, whose config it changes, got none"
        )
    if archive is not None and answers is not None:
        raise UserError("--answers: expected one of --archive and --answers, got both")
    given = [Path(path) for path in (*inputs, *([answers] if answers else []))]
    if archive is not None:
        from allennlp_nef.cli.archive_files import local_path
        from allennlp_nef.cli.configs import overrides_of

        path = local_path(archive)
        given += [path, path / "model.tar.gz"]
    check_outputs({"output": output, "annotated": annotated}, given)
    bitext = read_bitext(inputs, source_language, target_language)
    if annotated is not None and bitext.insertions is None:
        raise UserError(f"--annotated: expected XLIFF, TMX, TSV or CSV, got {inputs[0]}")
    if annotated is not None and bitext.has_annotations:
        raise UserError(f"--annotated: expected a file without scores of before, got {inputs[0]}")
    if archive is not None:
        changes = overrides_of(overrides)
        results = list(_predicted(bitext, archive, changes, batch_size, cuda_device, trust))
    else:
        results = list(_read_answers(bitext, answers))
    judged = [result for result in results if result.error is None]
    failed = [result for result in results if result.error is not None]
    if not judged:
        raise UserError(
            f"{inputs[0]}: expected a sentence that can be scored, got none: {failed[0].error}"
        )
    if failed:
        logger.warning(
            "%s: %d of %d sentences have no score, the first of them as: %s",
            failed[0].segment.place,
            len(failed),
            len(results),
            failed[0].error,
        )
    if output is not None:
        from allennlp_nef.figures.display import REVIEW_SCRIPTS, document_of

        heading = printable(title or Path(inputs[-1]).name)
        page = document_of(heading, _content(heading, bitext, results), REVIEW_SCRIPTS)
        with writing(Path(output)) as draft:
            draft.write_text(page, encoding="utf-8")
    if annotated is not None:
        with writing(Path(annotated)) as draft:
            draft.write_bytes(bitext.annotated([result.annotation for result in results]))
    flagged = [sum(tag != "OK" for tag in result.tags) for result in judged]
    decisions = [result.accept for result in judged if result.accept is not None]
    return {
        "sentences": len(results),
        "scored": len(judged),
        "words": sum(len(result.tags) for result in judged),
        "threshold": judged[0].threshold,
        "flagged_sentences": sum(count > 0 for count in flagged),
        "flagged_words": sum(flagged),
        "accepted": sum(decisions) if decisions else None,
        "mean_score": sum(result.score for result in judged) / len(judged),
    }


class _Result(NamedTuple):
    """A segment with what the model says about it."""

    segment: BitextSegment
    error: str | None = None
    """Why there is no score."""
    score: float = math.nan
    threshold: float | None = None
    tags: Sequence[str] = ()
    """One a word."""
    probabilities: Sequence[float] = ()
    """Of BAD, one a word."""
    words: Sequence[tuple[int, int]] = ()
    """The start and the end of each word, in characters of the translation."""
    source_words: Sequence[tuple[int, int]] = ()
    links: Sequence[tuple[int, int]] = ()
    """Pairs (source word, word), from 0."""
    spans: Sequence[PredictedSpan] = ()
    error_free_probability: float | None = None
    accept: bool | None = None
    """Whether no reviewer needs to look; None where the model does not decide it, and has no probability."""

    @property
    def annotation(self) -> Annotation | None:
        if self.error is not None:
            return None
        return Annotation(self.score, self.spans, self.error_free_probability, self.accept)


def _predicted(
    bitext: Bitext,
    archive: str,
    overrides: dict[str, Any],
    batch_size: int,
    cuda_device: int,
    trust: bool,
) -> Iterator[_Result]:
    """What the model of an archive says."""
    from allennlp.common import Tqdm

    from allennlp_nef.predictors.archives import check_device, load_predictor

    check_device(cuda_device)
    options: dict[str, Any] = {"batch_size": batch_size, "on_error": "skip", "trust": trust}
    predictor = load_predictor(archive, cuda_device, "word_qe", overrides=overrides, **options)
    reader = predictor._dataset_reader
    if reader.tagged != "target":
        raise UserError(
            f"{archive}: expected a model that tags the words of translations, got one that tags {reader.tagged}"
        )
    requests: list[Any] = []
    for segment in bitext.segments:
        if _missing(segment):
            continue
        request = {"source": segment.source, "target": segment.target}
        links = (segment.fields or {}).get("alignments")
        if links is not None:
            request["alignments"] = links
        requests.append(predictor.load_line(json.dumps(request)))
    answers = predictor.iterate_answers(requests)
    with Tqdm.tqdm(bitext.segments, desc="sentences") as progress:
        for segment in progress:
            if _missing(segment):
                yield _Result(segment, f"there is no {_missing(segment)}")
                continue
            answer = next(answers)
            if "error" in answer:
                yield _Result(segment, answer["error"].partition(": ")[2])
            else:
                yield _result(segment, answer, reader.split_source(segment.source).offsets)


def _missing(segment: BitextSegment) -> str | None:
    """The side of a segment that has no words; None where both have some."""
    if not segment.source.strip():
        return "source"
    return None if segment.target.strip() else "translation"


def _read_answers(bitext: Bitext, path: str | None) -> Iterator[_Result]:
    """What a file of answers says, or the objects of the input."""
    if path is None:
        if not any("tags" in (segment.fields or {}) for segment in bitext.segments):
            raise UserError(
                f"{bitext.segments[0].place}: expected answers with tags in it, or --archive or --answers, got none"
            )
        pairs = [(segment, segment.place, segment.fields or {}) for segment in bitext.segments]
        if not any(segment.source for segment in bitext.segments):
            logger.warning(
                "%s: The answers have no source, so the report has none. Give the texts, and these as --answers.",
                bitext.segments[0].place,
            )
    else:
        objects = parse_lines(path, lambda number, line: (number, line), "answer, got none")
        lines = list(objects)
        if len(lines) != len(bitext.segments):
            raise DataFormatError(
                f"{path}: expected an answer for each of the {len(bitext.segments)} sentences, got {len(lines)}"
            )
        pairs = [
            (segment, f"{path}:{number}", _object(line, f"{path}:{number}"))
            for segment, (number, line) in zip(bitext.segments, lines)
        ]
    for segment, place, answer in pairs:
        if answer.get("error") is not None:
            yield _Result(segment, str(answer["error"]))
            continue
        words = answer.get("source")
        text = segment.source
        try:
            source_words = (
                find_words(text, words)
                if isinstance(words, list) and text
                else split_on_whitespace(text).offsets
            )
            yield _result(segment, answer, source_words)
        except DataFormatError as error:
            raise DataFormatError(f"{place}: {error}") from error


def _object(line: str, place: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise DataFormatError(f"{place}: expected a JSON object, got {quote(line)}")
    return value


def _result(
    segment: BitextSegment, answer: Mapping[str, Any], source_words: Sequence[tuple[int, int]]
) -> _Result:
    """The result of an answer. Raises a `DataFormatError` where it lacks a part, or is of another sentence."""
    if answer.get("tagged", "target") != "target":
        raise DataFormatError(
            f"tagged: expected tags of the words of translations, got those of {quote(answer['tagged'])}"
        )
    tokens = _list(answer, "tokens", str, None)
    count = len(tokens)
    tags = _list(answer, "tags", str, count)
    probabilities = _list(answer, "bad_probabilities", (int, float), count)
    for probability in probabilities:
        if not _is_probability(probability):
            raise DataFormatError(
                f"bad_probabilities: expected numbers from 0 to 1, got {quote(probability)}"
            )
    for tag in tags:
        if tag not in ("OK", "BAD", *SEVERITIES):
            raise DataFormatError(f"tags: expected OK, BAD, minor or major, got {quote(tag)}")
    text = segment.target
    added = tokens[-1:] == [EOS] and not text.endswith(EOS)
    words = find_words(text, tokens[: count - added]) + [(len(text), len(text))] * added
    for name in ("alignments", "spans"):
        if not isinstance(answer.get(name), list | None):
            raise DataFormatError(f"{name}: expected a list, got {quote(answer[name])}")
    pairs = answer.get("alignments") if segment.source else None
    links = check_alignments(pairs or (), len(source_words), count)
    score, threshold = answer.get("sentence_score"), answer.get("threshold")
    if not is_number(score):
        raise DataFormatError(f"sentence_score: expected a number, got {quote(score)}")
    if threshold is not None and not is_number(threshold):
        raise DataFormatError(f"threshold: expected a number or null, got {quote(threshold)}")
    spans = [_span(span, text) for span in answer.get("spans") or ()]
    return _Result(
        *(segment, None, score, threshold, tags, probabilities, words, source_words, links, spans),
        *_decision(answer),
    )


def _decision(answer: Mapping[str, Any]) -> tuple[float, bool] | tuple[None, None]:
    """The probability that a translation is free of errors, and whether no reviewer needs to look."""
    accept, probability = answer.get("accept"), answer.get("error_free_probability")
    if accept is None:
        return None, None
    if not isinstance(accept, bool):
        raise DataFormatError(f"accept: expected true or false, got {quote(accept)}")
    if not isinstance(probability, (int, float)) or not 0 <= probability <= 1:
        raise DataFormatError(
            f"error_free_probability: expected a number from 0 to 1, got {quote(probability)}"
        )
    return probability, accept


def _list(
    answer: Mapping[str, Any], name: str, kind: type | tuple[type, ...], count: int | None
) -> list[Any]:
    """A list of a field: not empty, or of so many items."""
    values: Any = answer.get(name)
    is_list = isinstance(values, list) and not any(isinstance(value, bool) for value in values)
    if not is_list or not all(isinstance(value, kind) for value in values):
        raise DataFormatError(f"{name}: expected a list, one item a word, got {quote(values)}")
    if not values or count not in (None, len(values)):
        raise DataFormatError(
            f"{name}: expected {count or 'at least one'} item(s), one a word, got {len(values)}"
        )
    return values


def _is_probability(value: float) -> bool:
    """Whether a number is a probability, to rounding. NaN is none."""
    return -1e-6 <= value <= 1 + 1e-6


def _span(span: Any, text: str) -> PredictedSpan:
    fields = ("start", "end", "severity", "probability")
    values: list[Any] = [span.get(name) if isinstance(span, dict) else None for name in fields]
    start, end, severity, probability = values
    is_within = type(start) is type(end) is int and 0 <= start <= end <= len(text)
    is_right = severity in SEVERITIES and is_number(probability) and _is_probability(probability)
    if not (is_within and is_right):
        raise DataFormatError(
            f"spans: expected a start and an end within {len(text)} characters, a severity and a probability, got "
            + quote(span)
        )
    return PredictedSpan(start, end, text[start:end], severity, probability)


def _content(title: str, bitext: Bitext, results: Sequence[_Result]) -> dict[str, Any]:
    """What the script of the report shows."""
    from allennlp_nef.predictors.tag_colors import tag_colors

    known = has_severities(tag for result in results for tag in result.tags)
    labels = ["OK", *SEVERITIES] if known else ["OK", "BAD"]
    sentences = [_item(result, labels) for result in results]
    texts = json.dumps([(item["source"], item["target"], item.get("score")) for item in sentences])
    judged = next(result for result in results if result.error is None)
    return {
        "title": title,
        "key": hashlib.sha256(texts.encode()).hexdigest()[:20],
        "source_language": bitext.source_language,
        "target_language": bitext.target_language,
        "labels": labels,
        "colors": tag_colors(labels),
        "threshold": judged.threshold,
        "sentences": sentences,
    }


def _item(result: _Result, labels: Sequence[str]) -> dict[str, Any]:
    """A sentence, with lists of pairs as lists of numbers."""
    segment = result.segment
    item: dict[str, Any] = {
        "name": segment.name,
        "source": segment.source,
        "target": segment.target,
    }
    if result.error is not None:
        return {**item, "error": result.error}
    severities = "BAD" not in labels
    if result.error_free_probability is not None:
        item["error_free_probability"] = round(result.error_free_probability, 4)
        item["accept"] = result.accept
    return {
        **item,
        "score": round(result.score, 4),
        "words": [place for word in result.words for place in word],
        "source_words": [place for word in result.source_words for place in word],
        "links": [index for link in result.links for index in link],
        "bad": [round(value, 4) for value in result.probabilities],
        "tags": [_index(tag, labels) for tag in result.tags],
        "spans": [
            [s.start, s.end, _index(s.severity if severities else "BAD", labels), round(s.probability, 4)]
            for s in result.spans
        ],
    }  # fmt: skip


def _index(tag: str, labels: Sequence[str]) -> int:
    """The number of a label. BAD, among severities, is the most severe one."""
    return labels.index(tag) if tag in labels else len(labels) - 1
