"""`allennlp-nef calibrate`: probabilities that are right, a threshold, and a halting, fitted to labeled data."""

import argparse
import glob
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allennlp_nef.cli.shared import (
    FORMATS,
    Column,
    add_batches,
    add_trust,
    add_with_encoder,
    call_with,
    check_outputs,
    checking,
    decimals,
    number,
    percent,
    save_figure,
    table_text,
)
from allennlp_nef.errors import DataFormatError, UserError, printable

if TYPE_CHECKING:
    from allennlp.data import Instance

    from allennlp_nef.data.formats.data_paths import DataPath
    from allennlp_nef.predictors.base import TaggingPredictor

logger = logging.getLogger(__name__)

SUMMARY = (
    "Calibrate the probabilities of a tagger, and choose the threshold of a quality estimator."
)
DETAILS = """
Finds on labeled data (DEV, by default the validation data of the config) the temperature and the bias of each label
that make the probabilities right, and for word-level quality estimation the threshold of the probability of BAD with
the highest MCC or F1-MULT, or where DEV has error spans with the highest F1 of characters. Writes a new archive that
holds them, for predict, serve and evaluate. All other files of the archive stay as they are.

    %(prog)s runs/qe_nef_f/model.tar.gz --output calibrated.tar.gz
    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/dev --output calibrated.tar.gz --plot reliability.png
    %(prog)s runs/qe_nef_f/model.tar.gz --output adapted.tar.gz --adapt-to fixtures/qe/test
    %(prog)s runs/anytime/model.tar.gz --output faster.tar.gz --halting settled --tolerance 0.1

Prints how good probabilities and tags are before, after, and cross-fitted: fitted on one half of the sentences and
measured on the other, both ways. Only that says what to expect on other data of the same kind. ECE is the expected
calibration error, Brier the Brier score, NLL the mean negative log-likelihood of the gold tags.

With --adapt-to, the share of each label in DATA is estimated from the probabilities (by the EM algorithm of Saerens,
Latinne & Decaestecker, Neural Computation 2002), the probabilities are adapted to it, and the threshold is the one with
the highest expected score on DATA. Tags in DATA are not used. It holds where DATA have other shares of the labels than
DEV, and are like it otherwise.

With --accept-share or --accept-precision, the new archive also decides which translations need no reviewer: answers say
`accept`, and the probability that the translation is free of errors. The report says how many translations that
accepts, how many of these are free of errors, and within which intervals (95%%, by a bootstrap of documents, where DEV
names 10 or more, else of sentences) both are to be expected on as many other sentences like DEV.

    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/dev --output accept.tar.gz --accept-precision 0.9

With --halting, sentences of the new archive halt before their last step. The tags after each step are those before
the calibration, and probabilities are then fitted to the last step of each sentence.

The exit status is 2 where the data or the archive cannot be used.
"""


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(
            f"expected a number above 0 and at most 1, such as 0.9, got {text!r}"
        )
    return value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("archive", metavar="ARCHIVE", help="archive of a trained tagger, or the folder of a run")
    add(
        "data",
        metavar="DEV",
        nargs="?",
        help="labeled data for the model's reader, not those that it was trained on (default = validation_data_path "
        "of the config)",
    )
    add("--output", metavar="FILE", required=True, help="the new archive; a file is overwritten")
    add(
        "--maximize",
        choices=("mcc", "f1_mult", "span_f1", "mpp"),
        default="mcc",
        help="the score of the threshold, for quality estimation; span_f1, the F1 of characters, and mpp, the match of "
        "spans, need error spans",
    )
    add("--temperature-only", action="store_true", help="no biases")
    add(
        "--halting",
        choices=("fixed", "confident", "settled", "learned"),
        help="also choose when sentences halt, for a model with the decoder neural_easy_first: the halting of this "
        "kind with the fewest steps",
    )
    add(
        "--tolerance",
        type=number(0),
        metavar="POINTS",
        help="with --halting: what it may cost at most on DEV, in percentage points of accuracy, of F1 for chunks, or "
        "of MCC for quality estimation (default = 0.1)",
    )
    add(
        "--adapt-to",
        metavar="DATA",
        help="data without tags, for the model's reader or as requests (.jsonl), to whose shares of the labels the "
        "model is adapted",
    )
    add(
        "--accept-share",
        type=_share,
        metavar="SHARE",
        help="for quality estimation: accept this share of the translations without a review, such as 0.3",
    )
    add(
        "--accept-precision",
        type=_share,
        metavar="SHARE",
        help="for quality estimation: accept as many translations as possible of which this share is free of errors, "
        "such as 0.9",
    )
    add(
        "--plot",
        metavar="FILE",
        help="write a reliability plot, and of accepted translations one of risk against coverage; a .png or .svg "
        "file, which is overwritten",
    )
    add("--json", action="store_true", help="print the numbers as JSON, fractions of 1")
    add_with_encoder(parser)
    add_batches(parser)
    add_trust(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    results = call_with(calibrate, args)
    yield json.dumps(results, indent=2) if args.json else as_text(results, args.plot)


@checking(add_arguments)
def calibrate(
    archive: str,
    data: "DataPath | None" = None,
    *,
    output: str,
    maximize: str = "mcc",
    temperature_only: bool = False,
    halting: str | None = None,
    tolerance: float | None = None,
    adapt_to: str | None = None,
    accept_share: float | None = None,
    accept_precision: float | None = None,
    plot: str | None = None,
    with_encoder: bool = False,
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> dict[str, Any]:
    """
    Writes a copy of an archive whose probabilities are calibrated.

    The parameters are the options of `allennlp-nef calibrate`.

    # Returns

    `dict[str, Any]`
        What the command prints as JSON: the numbers `before`, `after` and `cross_fitted`, the `calibration`, and more.

    # Raises

    `UserError`: a wrong option, or data or an archive that cannot be used.
    """
    from allennlp_nef.calibration import fitting
    from allennlp_nef.calibration.acceptance import acceptance_of
    from allennlp_nef.cli.archive_files import encoder_of, files_of, read_config, write_archive
    from allennlp_nef.cli.inputs import holds_requests, read_instances
    from allennlp_nef.data.formats import data_paths
    from allennlp_nef.figures.style import check_installed
    from allennlp_nef.modules.calibration import Calibration
    from allennlp_nef.predictors.archives import check_device, load_predictor

    # Mistakes in the options, before the model is loaded.
    check_device(cuda_device)
    if tolerance is not None and halting is None:
        raise UserError(f"--tolerance: expected --halting with it, got {tolerance:g} alone")
    needs_spans = maximize in ("span_f1", "mpp")
    if adapt_to and needs_spans:
        raise UserError(
            f"--maximize: expected mcc or f1_mult with --adapt-to, whose data have no spans, got {maximize}"
        )
    wishes = [("share", accept_share), ("precision", accept_precision)]
    wish = next(((name, value) for name, value in wishes if value is not None), None)
    if accept_share is not None and accept_precision is not None:
        raise UserError(
            f"--accept-share: expected no --accept-precision with it, got {accept_share:g} and {accept_precision:g}"
        )
    if wish is not None and adapt_to:
        raise UserError(
            f"--accept-{wish[0]}: expected no --adapt-to with it, whose data have no tags to count errors in, got both"
        )
    outputs = {"output": output, "plot": plot}
    check_outputs(outputs, files_of(archive))
    if plot is not None:
        if not plot.endswith(tuple(f".{ending}" for ending in FORMATS)):
            raise UserError(f"--plot: expected a .png or .svg file, got {plot!r}")
        check_installed()

    predictor = load_predictor(archive, cuda_device, trust=trust)
    encoder = encoder_of(archive, predictor._model) if with_encoder else None
    decoder = predictor._model.tag_decoder
    if len(decoder.labels) < 2:
        raise UserError(f"{archive}: expected a model of two labels or more, got {decoder.labels}")
    if wish is not None and not decoder.is_word_qe:
        raise UserError(
            f"--accept-{wish[0]}: expected a model of quality estimation, got one of {', '.join(decoder.labels[:5])}"
        )
    old = decoder.calibration or Calibration()
    decoder.calibrate(None)
    config = read_config(archive)
    data = config.get("validation_data_path") if data is None else data
    if not isinstance(data, (str, dict)):
        raise UserError("DEV: expected labeled data, since the config has no validation_data_path")
    named = [*data_paths.files_of(data), *(data_paths.files_of(adapt_to) if adapt_to else ())]
    for file in map(Path, named):  # or prefixes of files
        check_outputs(outputs, [file, *file.parent.glob(f"{glob.escape(file.name)}.*")])
    path = data_paths.name_of(data)
    instances = read_instances(predictor, data)
    steps = None
    if halting is not None:
        points = 0.1 if tolerance is None else tolerance
        steps = _choose_halting(
            archive, predictor, halting, points / 100, instances, path, batch_size
        )
    sentences = fitting.sentences_of(predictor, instances, path, batch_size)
    fitting.check_labeled(sentences, decoder, path)
    words = fitting.Words(sentences, decoder)
    halves = words.halves()
    if not all(half.is_possible.any() for half in halves):
        raise DataFormatError(f"{path}: expected tags among {', '.join(decoder.labels)}, got none")
    if needs_spans and not fitting.has_gold_spans(words):
        raise DataFormatError(
            f"{path}: expected gold error spans (--maximize {maximize}), got a file of tags"
        )
    calibration, *half_calibrations = (
        fitting.calibration_of(part, maximize, temperature_only) for part in (words, *halves)
    )
    one, other = (fitting.measures(*pair) for pair in zip(halves, reversed(half_calibrations)))
    cross_fitted: dict[str, float | None] = dict.fromkeys(one)
    for name, value in one.items():
        other_value = other[name]
        if value is not None and other_value is not None:
            cross_fitted[name] = (value + other_value) / 2
    results: dict[str, Any] = {
        "archive": archive,
        "data": path,
        "sentences": len(sentences),
        "words": len(words.gold),
        "left_out_words": int((~words.is_possible).sum()),
        "before": fitting.measures(words, old),
        "after": fitting.measures(words, calibration),
        "cross_fitted": cross_fitted,
        "adapted": None,
        "halting": steps,
        "acceptance": None,
    }
    if wish is not None:
        calibration.acceptance, results["acceptance"] = acceptance_of(
            words, calibration, path, wish
        )
    # An old calibration may be of the same words.
    plain = fitting.measures(words, Calibration())["nll"]
    _warn(results, path, plain, maximize)
    if plot:
        from allennlp_nef.figures.reliability import reliability_plot
        from allennlp_nef.figures.style import drawing

        shown = [fitting.confidences(words, fitted) for fitted in (old, calibration)]
        with drawing():
            figure = reliability_plot(
                f"{predictor.description()['title']} on {path}",
                [(pairs.bins(), pairs.ece()) for pairs in shown],
                calibration.threshold,
                decoder.is_word_qe,
                results["acceptance"],
            )
            save_figure(figure, Path(plot).with_suffix(""), [Path(plot).suffix[1:]])
    if adapt_to:
        instances = read_instances(predictor, adapt_to, holds_requests(adapt_to))
        unlabeled = fitting.sentences_of(predictor, instances, adapt_to, batch_size)
        calibration, results["adapted"] = fitting.adapted_to(
            unlabeled, adapt_to, words, calibration, maximize
        )
    results["calibration"] = calibration.to_json()
    results["output"] = output
    model = {**config["model"], "calibration": calibration.to_json()}
    if steps is not None:
        model["halting"] = steps["options"]
    write_archive(archive, Path(output), model, encoder=encoder)
    return results


def _choose_halting(
    archive: str,
    predictor: "TaggingPredictor",
    kind: str,
    tolerance: float,
    instances: "Sequence[Instance]",
    path: str,
    batch_size: int,
) -> dict[str, Any]:
    """The numbers of the halting rule; the model has it from now on."""
    from allennlp_nef.calibration.halting import chosen_halting, halting_of, labeled_steps
    from allennlp_nef.models.nef_tagger import has_steps, learned_rate

    model = predictor._model
    if not has_steps(getattr(model, "decoder", None)):
        raise UserError(
            f"--halting: expected a model with the decoder neural_easy_first, got {archive}"
        )
    if kind == "learned" and learned_rate(model.decoder) is None:
        raise UserError(
            f"--halting learned: expected a decoder trained with halting_rate, got one without it in {archive}"
        )
    table = labeled_steps(predictor, instances, path, batch_size)
    figures = chosen_halting(kind, table, tolerance)
    model.halting = halting_of(figures["options"])
    return figures


def _warn(results: Mapping[str, Any], path: str, plain: float | None, maximize: str) -> None:
    """Warns where numbers get worse on sentences that the fit has not seen."""
    crossed = results["cross_fitted"]
    if crossed["nll"] > plain:
        logger.warning(
            "%s: %d words are too few for this fit: cross-fitted, NLL is %.4f, and uncalibrated it is %.4f. Calibrate "
            "on more data, or with --temperature-only.",
            *(path, results["words"], crossed["nll"], plain),
        )
    score, old_score = crossed.get(maximize), results["before"].get(maximize)
    if score is not None and old_score is not None and score < old_score:
        logger.warning(
            "%s: the threshold does not hold for other sentences: cross-fitted, %s is %.2f%%, and before it is %.2f%%. "
            "Calibrate on more data, or keep the old threshold with the predictor's option threshold.",
            *(path, maximize, 100 * score, 100 * old_score),
        )


_COLUMNS: tuple[Column, ...] = (
    ("ECE %", "ece", percent),
    ("ECE of spans %", "span_ece", percent),
    ("Brier", "brier", decimals),
    ("NLL", "nll", decimals),
    ("MCC %", "mcc", percent),
    ("F1-MULT %", "f1_mult", percent),
    ("F1 of characters %", "span_f1", percent),
    ("MPP %", "mpp", percent),
    ("tagged BAD %", "tagged_share", percent),
    ("gold BAD %", "gold_share", percent),
)


def as_text(results: Mapping[str, Any], plot: str | None) -> str:
    """The report of `calibrate`."""
    from allennlp_nef.modules.calibration import OBJECTIVES

    calibration, adapted = results["calibration"], results["adapted"]
    lines = [
        f"{results['archive']} on {results['data']}: {results['sentences']} sentences, {results['words']} words"
    ]
    if results["left_out_words"]:
        lines.append(
            f"{results['left_out_words']} words are left out of the fit and of NLL: the model cannot predict their tag"
        )
    columns: list[Column] = [("", "name", str)]
    columns += [column for column in _COLUMNS if column[1] in results["before"]]
    names = {"before": "before", "after": "after", "cross_fitted": "cross-fitted"}
    rows = [{"name": name, **results[row]} for row, name in names.items()]
    lines += ["", table_text(columns, rows), ""]
    if results["halting"] is not None:
        lines += [*_halting(results["halting"]), ""]
    if adapted is not None:
        shares = _listed(adapted["base_rate"], lambda share: f"{percent(share)}%")
        lines += [
            f"adapted to {adapted['data']}: {adapted['sentences']} sentences, {adapted['words']} words",
            f"estimated shares: {shares}",
        ]
    lines.append(f"temperature: {calibration['temperature']:.4f}")
    if calibration["biases"]:
        lines.append(f"biases: {_listed(calibration['biases'], '{:+.4f}'.format)}")
    if "threshold" in calibration:
        score = OBJECTIVES[calibration["objective"]]
        kind = f"the highest {'expected ' if adapted else ''}{score}"
        lines.append(f"threshold: {calibration['threshold']:.4f}, for {kind}")
    if adapted is not None and "expected_score" in adapted:
        lines.append(
            f"expected there: {score} {percent(adapted['expected_score'])}%, "
            f"{percent(adapted['tagged_share'])}% of the words tagged BAD"
        )
    if results["acceptance"] is not None:
        lines += ["", *_acceptance(results["acceptance"]), ""]
    lines += [f"wrote {path}" for path in (results["output"], plot) if path]
    return "\n".join(lines)


def _halting(figures: Mapping[str, Any]) -> Iterator[str]:
    """The chosen halting rule, and its numbers."""
    from allennlp_nef.calibration.halting import SCORES

    options = dict(figures["options"])
    kind = options.pop("type")
    yield f"halting: {kind}, {', '.join(f'{name} {value:.6g}' for name, value in options.items())}"
    titles = {"without": "all steps", "chosen": "halting", "cross_fitted": "cross-fitted"}
    for name, title in titles.items():
        row, score = figures[name], SCORES[figures["score"]]
        yield f"{title:<12}  {row['mean_steps']:5.2f} steps, {score} {percent(row['score'])}%"


def _acceptance(figures: Mapping[str, Any]) -> Iterator[str]:
    """The decision that translations need no reviewer, and what it promises."""
    ((name, wish),) = figures["wish"].items()
    yield (
        f"accept: translations that are free of errors with a probability of {figures['threshold']:.4f} or more, for a "
        f"{name} of {wish:g}"
    )
    yield (
        f"accepted: {percent(figures['share'])}% of the translations, on other data "
        f"{_between(figures['share_interval'])}%"
    )
    yield (
        f"free of errors: {percent(figures['precision'])}% of these, on other data "
        f"{_between(figures['precision_interval'])}%; of all translations {percent(figures['error_free_share'])}%"
    )
    drawn = figures["documents"], "documents"
    if figures["documents"] is None:
        drawn = figures["segments"], "translations"
    yield f"intervals of 95%, for as many other translations like these, by a bootstrap of {drawn[0]} {drawn[1]}"
    yield f"ECE of the probability, cross-fitted: {percent(figures['ece'])}%"
    yield ""
    columns: tuple[Column, ...] = (
        ("accepted %", "share", percent),
        ("free of errors %", "precision", percent),
        ("on other data", "precision_interval", _between),
    )
    yield table_text(columns, figures["coverage"][1::2])


def _between(interval: Sequence[float]) -> str:
    return " to ".join(map(percent, interval))


def _listed(values: Mapping[str, float], write: Callable[[float], str]) -> str:
    """At most 10 labels with their values; of more, the lowest and the highest 5."""
    names = list(values)
    if len(names) > 10:
        names = sorted(names, key=values.__getitem__)
        return f"{_listed({name: values[name] for name in names[:5]}, write)}, ..., " + _listed(
            {name: values[name] for name in names[-5:]}, write
        )
    return ", ".join(f"{printable(name)} {write(values[name])}" for name in names)
