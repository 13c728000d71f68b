"""The work of `calibrate`, and its report."""

import argparse
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy
from allennlp.common import Params
from allennlp.data import Instance

from allennlp_nef.commands.archive_files import (
    check_output,
    local_path,
    read_config,
    write_archive,
)
from allennlp_nef.commands.calibration.fitting import (
    MIN_WORDS,
    Sentence,
    Words,
    adapt,
    bad_tags,
    check_labeled,
    confidences,
    fit,
    has_gold_spans,
    measures,
    sentences_of,
    span_parts,
)
from allennlp_nef.commands.calibration.halting import SCORES, chosen_halting, labeled_steps
from allennlp_nef.commands.output_files import FORMATS
from allennlp_nef.commands.request_files import holds_requests
from allennlp_nef.commands.sketched_sentences import instances_of
from allennlp_nef.data.formats.data_paths import DataPath, files_of, name_of
from allennlp_nef.errors import DataFormatError, UserError, printable
from allennlp_nef.metrics.thresholds import best_threshold
from allennlp_nef.models.nef_tagger import has_steps, learned_rate
from allennlp_nef.modules.calibration import Calibration
from allennlp_nef.modules.halting import Halting
from allennlp_nef.predictors.archives import check_device, load_predictor
from allennlp_nef.predictors.tagging_predictor import TaggingPredictor

_OBJECTIVES = {"mcc": "MCC", "f1_mult": "F1-MULT", "span_f1": "F1 of characters"}
# Names of figures, heads of their columns, and whether they are percentages.
_COLUMNS = (
    ("ece", "ECE %", True),
    ("span_ece", "ECE of spans %", True),
    ("brier", "Brier", False),
    ("nll", "NLL", False),
    ("mcc", "MCC %", True),
    ("f1_mult", "F1-MULT %", True),
    ("span_f1", "F1 of characters %", True),
    ("tagged_share", "tagged BAD %", True),
    ("gold_share", "gold BAD %", True),
)
_ROWS = {"before": "before", "after": "after", "cross_fitted": "cross-fitted"}


def as_text(results: Mapping[str, Any], plot: str | None) -> str:
    """The report of `calibrate`."""
    calibration, adapted = results["calibration"], results["adapted"]
    lines = [
        f"{results['archive']} on {results['data']}: {results['sentences']} sentences, {results['words']} words"
    ]
    if results["left_out_words"]:
        lines.append(
            f"{results['left_out_words']} words are left out of the fit and of NLL: the model cannot predict their tag"
        )
    lines += ["", *_table(results), ""]
    if results["halting"] is not None:
        lines += [*_halting(results["halting"]), ""]
    if adapted is not None:
        shares = adapted["base_rate"]
        lines.append(
            f"adapted to {adapted['data']}: {adapted['sentences']} sentences, {adapted['words']} words"
        )
        lines.append(f"estimated shares: {_listed(shares, lambda share: f'{100 * share:.2f}%')}")
    lines.append(f"temperature: {calibration['temperature']:.4f}")
    if calibration["biases"]:
        lines.append(f"biases: {_listed(calibration['biases'], lambda bias: f'{bias:+.4f}')}")
    if "threshold" in calibration:
        score = _OBJECTIVES[calibration["objective"]]
        kind = f"the highest {'expected ' if adapted else ''}{score}"
        lines.append(f"threshold: {calibration['threshold']:.4f}, for {kind}")
    if adapted is not None and "expected_score" in adapted:
        lines.append(
            f"expected there: {score} {100 * adapted['expected_score']:.2f}%, "
            f"{100 * adapted['tagged_share']:.2f}% of the words tagged BAD"
        )
    lines += [f"wrote {path}" for path in (results["output"], plot) if path]
    return "\n".join(lines)


def _halting(figures: Mapping[str, Any]) -> list[str]:
    """The chosen halting, and its figures."""
    options = [
        f"{name} {value:.6g}" for name, value in figures["options"].items() if name != "type"
    ]
    rows = [
        ("all steps", figures["without"]),
        ("halting", figures["chosen"]),
        ("cross-fitted", figures["cross_fitted"]),
    ]
    score = SCORES[figures["score"]]
    return [
        f"halting: {figures['options']['type']}, {', '.join(options)}",
        *(
            f"{name.ljust(12)}  {row['mean_steps']:5.2f} steps, {score} {100 * row['score']:.2f}%"
            for name, row in rows
        ),
    ]


def _table(results: Mapping[str, Any]) -> list[str]:
    columns = [column for column in _COLUMNS if column[0] in results["before"]]
    cells = [["", *(head for _, head, _ in columns)]]
    for row, name in _ROWS.items():
        figures: dict[str, float | None] = results[row]
        cells.append([name, *(_number(figures[each], share) for each, _, share in columns)])
    widths = [max(map(len, column)) for column in zip(*cells)]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip()
        for row in cells
    ]


def _number(value: float | None, is_share: bool) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.2f}" if is_share else f"{value:.4f}"


def _listed(values: Mapping[str, float], write: Any) -> str:
    """At most 10 labels with their values; of more, the lowest and the highest 5."""
    names = list(values)
    if len(names) > 10:
        names = sorted(names, key=values.__getitem__)
        return f"{_listed({name: values[name] for name in names[:5]}, write)}, ..., " + _listed(
            {name: values[name] for name in names[-5:]}, write
        )
    return ", ".join(f"{printable(name)} {write(values[name])}" for name in names)


logger = logging.getLogger(__name__)


def calibrate(args: argparse.Namespace) -> Iterator[str]:
    """Writes the archive and the plot, and yields what to print."""
    _check(args)
    predictor = load_predictor(args.archive, args.cuda_device, trust=args.trust)
    decoder = predictor._model.tag_decoder
    if len(decoder.labels) < 2:
        raise UserError(
            f"{args.archive}: expected a model of two labels or more, got {decoder.labels}"
        )
    old = decoder.calibration or Calibration()
    decoder.calibrate(None)
    config = read_config(args.archive)
    data = config.get("validation_data_path") if args.data is None else args.data
    if not isinstance(data, (str, dict)):
        raise UserError("DEV: expected labeled data, since the config has no validation_data_path")
    _check_inputs_stay(args, data)
    path = name_of(data)
    halting = _choose_halting(args, predictor, data) if args.halting else None
    sentences = _read(args, predictor, data, False)
    check_labeled(sentences, decoder, path)
    words = Words(sentences, decoder)
    halves = words.halves()
    if not all(half.is_possible.any() for half in halves):
        raise DataFormatError(f"{path}: expected tags among {', '.join(decoder.labels)}, got none")
    if args.maximize == "span_f1" and not has_gold_spans(words):
        raise DataFormatError(
            f"{path}: expected gold error spans (--maximize span_f1), got a file of tags"
        )
    options = args.maximize, args.temperature_only
    calibration = calibration_of(words, *options)
    crossed = [
        measures(half, calibration_of(other, *options))
        for half, other in zip(halves, reversed(halves))
    ]
    results: dict[str, Any] = {
        "archive": args.archive,
        "data": path,
        "sentences": len(sentences),
        "words": len(words.gold),
        "left_out_words": int((~words.is_possible).sum()),
        "before": measures(words, old),
        "after": measures(words, calibration),
        "cross_fitted": {name: _mean([each[name] for each in crossed]) for name in crossed[0]},
        "adapted": None,
        "halting": halting,
    }
    plain = measures(words, Calibration())["nll"]  # an old calibration may be of the same words
    if results["cross_fitted"]["nll"] > plain:
        logger.warning(
            "%s: %d words are too few for this fit: cross-fitted, NLL is %.4f, and uncalibrated it is %.4f. Calibrate "
            "on more data, or with --temperature-only.",
            path,
            len(words.gold),
            results["cross_fitted"]["nll"],
            plain,
        )
    crossed_score = results["cross_fitted"].get(args.maximize)
    old_score = results["before"].get(args.maximize)
    if crossed_score is not None and old_score is not None and crossed_score < old_score:
        logger.warning(
            "%s: the threshold does not hold for other sentences: cross-fitted, %s is %.2f%%, and before it is %.2f%%. "
            "Calibrate on more data, or keep the old threshold with the predictor's option threshold.",
            path,
            args.maximize,
            100 * crossed_score,
            100 * old_score,
        )
    if args.plot:
        from allennlp_nef.commands.plots.reliability import write_plot

        write_plot(
            Path(args.plot),
            f"{predictor.description()['title']} on {path}",
            [confidences(words, each) for each in (old, calibration)],
            calibration.threshold,
            decoder.is_word_qe,
        )
    if args.adapt_to:
        unlabeled = _read(args, predictor, args.adapt_to, holds_requests(args.adapt_to))
        calibration, results["adapted"] = _adapt(args, words, calibration, unlabeled)
    results["calibration"] = calibration.to_json()
    results["output"] = args.output
    model = {**config["model"], "calibration": calibration.to_json()}
    if halting is not None:
        model["halting"] = halting["options"]
    write_archive(args.archive, Path(args.output), model)
    yield json.dumps(results, indent=2) if args.json else as_text(results, args.plot)


def _check(args: argparse.Namespace) -> None:
    """Finds mistakes in the options before the model is loaded."""
    check_device(args.cuda_device)
    if args.tolerance is not None and args.halting is None:
        raise UserError(f"--tolerance: expected --halting with it, got {args.tolerance:g} alone")
    if args.adapt_to and args.maximize == "span_f1":
        raise UserError(
            "--maximize: expected mcc or f1_mult with --adapt-to, whose data have no spans, got span_f1"
        )
    check_output(args.output, args.archive)
    if args.plot is not None:
        from allennlp_nef.figures.style import check_installed

        if not args.plot.endswith(tuple(f".{ending}" for ending in FORMATS)):
            raise UserError(f"--plot: expected a .png or .svg file, got {args.plot!r}")
        if Path(args.plot).resolve() in (Path(args.output).resolve(), local_path(args.archive)):
            raise UserError(
                f"--plot: expected another file than --output and ARCHIVE, got {args.plot}"
            )
        check_installed()
    for name in filter(None, (args.output, args.plot)):
        Path(name).parent.mkdir(parents=True, exist_ok=True)


def _check_inputs_stay(args: argparse.Namespace, data: DataPath) -> None:
    """Raises a `UserError` where a file that is written over belongs to the data, whose path may be a prefix."""
    inputs = [
        str(Path(each).resolve())
        for path in (data, args.adapt_to)
        if path
        for each in files_of(path)
    ]
    for option in ("output", "plot"):
        name = getattr(args, option)
        if name is None or not Path(name).is_file():
            continue
        path = str(Path(name).resolve())
        if any(path == each or path.startswith(f"{each}.") for each in inputs):
            raise UserError(f"--{option}: expected another file than those of the data, got {name}")


def _choose_halting(
    args: argparse.Namespace, predictor: TaggingPredictor, data: DataPath
) -> dict[str, Any]:
    """The figures of the halting; the model has it from now on."""
    model = predictor._model
    if not has_steps(getattr(model, "decoder", None)):
        raise UserError(
            f"--halting: expected a model with the decoder neural_easy_first, got {args.archive}"
        )
    if args.halting == "learned" and learned_rate(model.decoder) is None:
        raise UserError(
            f"--halting learned: expected a decoder trained with halting_rate, got one without it in {args.archive}"
        )
    table = labeled_steps(
        predictor, _instances(predictor, data, False), name_of(data), args.batch_size
    )
    tolerance = 0.1 if args.tolerance is None else args.tolerance
    figures = chosen_halting(args.halting, table, tolerance / 100)
    model.halting = Halting.from_params(Params(dict(figures["options"])))
    return figures


def _read(
    args: argparse.Namespace, predictor: TaggingPredictor, data: DataPath, is_requests: bool
) -> list[Sentence]:
    instances = _instances(predictor, data, is_requests)
    return sentences_of(predictor, instances, name_of(data), args.batch_size)


def _instances(predictor: TaggingPredictor, data: DataPath, is_requests: bool) -> list[Instance]:
    instances = list(instances_of(predictor, data, is_requests))
    if not instances:
        raise DataFormatError(f"{name_of(data)}: expected at least one sentence, got none")
    return instances


def calibration_of(words: Words, maximize: str, temperature_only: bool = False) -> Calibration:
    """The calibration with the highest likelihood of the words, and the threshold that is best for them."""
    labels, kept = words.decoder.labels, words.is_possible
    temperature, biases = fit(words.table[kept], words.gold[kept], temperature_only)
    named = {} if temperature_only else dict(zip(labels, biases.tolist()))
    calibration = Calibration(temperature, named)
    if not words.decoder.is_word_qe:
        return calibration
    found = confidences(words, calibration)
    share = float(found.is_right.mean())
    if maximize == "span_f1":
        parts = span_parts(words, found.values, bad_tags(words, calibration))
        threshold = parts.best_threshold()
        tagged = float((found.values >= threshold).mean())
        return Calibration(temperature, named, threshold, maximize, share, tagged)
    best = best_threshold(found.values, found.is_right, maximize)
    return Calibration(temperature, named, best.value, maximize, share, best.tagged_share)


def _adapt(
    args: argparse.Namespace, words: Words, calibration: Calibration, unlabeled: list[Sentence]
) -> tuple[Calibration, dict[str, Any]]:
    """The calibration, adapted to unlabeled sentences, and its figures."""
    labels = words.decoder.labels
    others = Words(unlabeled, words.decoder)
    if len(others.tags) < MIN_WORDS:
        raise DataFormatError(
            f"{args.adapt_to}: expected at least {MIN_WORDS} words to estimate shares from, got {len(others.tags)}"
        )
    # On the labeled data, the means of the probabilities are the shares that they suppose.
    old = words.calibrated(calibration).astype(numpy.float64).mean(0)
    new = adapt(others.calibrated(calibration).astype(numpy.float64), old)
    shift = numpy.log(new / old.clip(min=1e-12))
    biases = {
        label: calibration.biases.get(label, 0.0) + float(each)
        for label, each in zip(labels, shift)
    }
    base_rate = dict(zip(labels, new.tolist()))
    figures: dict[str, Any] = {
        "data": args.adapt_to,
        "sentences": len(unlabeled),
        "words": len(others.tags),
        "base_rate": base_rate,
    }
    adapted = Calibration(calibration.temperature, biases, base_rate=base_rate)
    if not words.decoder.is_word_qe:
        return adapted, figures
    values = confidences(others, adapted).values
    best = best_threshold(values, values, args.maximize)
    figures.update(expected_score=best.score, tagged_share=best.tagged_share)
    share = sum(base_rate[labels[i]] for i in words.decoder.bad_ids)
    return (
        Calibration(
            calibration.temperature,
            biases,
            best.value,
            args.maximize,
            share,
            best.tagged_share,
            base_rate,
        ),
        figures,
    )


def _mean(values: list[Any]) -> Any:
    return None if None in values else sum(values) / len(values)
