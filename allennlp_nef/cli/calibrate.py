"""`allennlp-nef calibrate`: fits the temperature and threshold of a quality estimator to labeled data."""

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from allennlp_nef.cli.arguments import add_archive, add_batches, options_of
from allennlp_nef.cli.outputs import (
    check_outputs,
    files_of,
    is_stdout,
    table_text,
    writing,
)
from allennlp_nef.errors import UserError
from allennlp_nef.resources import archive_path

DETAILS = """
On labeled data (DEV; by default the config's validation data), finds the temperature that makes the probability of BAD
match the frequency of BAD, and the threshold on this probability with the highest MCC or F1-MULT. Writes a copy of the
archive with both values in its config; predict, evaluate and serve then use them.

    %(prog)s runs/qe_nef_f/model.tar.gz --output calibrated.tar.gz
    %(prog)s runs/qe_nef_f/model.tar.gz fixtures/qe/dev --output calibrated.tar.gz --maximize f1_mult

Prints the scores on DEV before and after. The cross-fitted scores estimate performance on similar new data: two fits,
each on half of the sentences and scored on the other half, then averaged. ECE is the expected calibration error of the
probability of BAD. If some of DEV are judgments of critical errors, and the model predicts these, their probability is
calibrated, too (Platt scaling), and gets its own threshold:

    %(prog)s qe-multilingual data/dev data/judgments.tsv --output calibrated.tar.gz
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_archive(parser)
    add = parser.add_argument
    add("data", metavar="DEV", nargs="*", help="labeled data that the model was not trained on")
    add("--output", metavar="FILE", required=True, help="the new archive")
    add("--maximize", choices=("mcc", "f1_mult"), default="mcc", help="score to maximize")
    add_batches(parser)


def run(args: argparse.Namespace) -> Iterator[str]:
    results = calibrate(**options_of(args, calibrate))
    if not is_stdout(args.output):
        yield as_text(results)
        yield f"wrote {args.output}"


def calibrate(
    archive: str,
    data: Any = None,
    *,
    output: str,
    maximize: str = "mcc",
    batch_size: int = 64,
    cuda_device: int = -1,
    trust: bool = False,
) -> dict[str, Any]:
    """Writes a copy of an archive with a temperature and a threshold that fit labeled data.

    The parameters are the options of `allennlp-nef calibrate`; `data` can be any data path of the model's reader.

    # Returns

    `dict[str, Any]`
        The fields of `allennlp_nef.qe.calibration.Calibration`: the `temperature`, the `threshold`, and the scores
        `before`, `after` and `cross_fitted`; and the arguments `archive`, `data` and `output`.

    # Raises

    `UserError`: an invalid option, an archive for another task, or data without gold tags of both kinds.
    """
    from allennlp.common.file_utils import cached_path

    from allennlp_nef.archives import change_weights, copy_archive, load_archive_safely
    from allennlp_nef.qe.answers import CRITICAL
    from allennlp_nef.qe.calibration import calibrate_model
    from allennlp_nef.qe.model import WordQeTagger
    from allennlp_nef.qe.predictor import WordQePredictor

    path = str(cached_path(archive_path(archive)))
    path = os.path.join(path, "model.tar.gz") if os.path.isdir(path) else path
    check_outputs([output], [path, *files_of(data or [])])
    with writing(Path(output)) as draft:
        loaded = load_archive_safely(path, cuda_device, trust=trust)
        model, config = loaded.model, loaded.config.as_dict(quiet=True)
        if not isinstance(model, WordQeTagger):
            raise UserError(f"{archive}: expected a model of type word_qe_tagger")
        data = data or config.get("validation_data_path")
        if not data:
            raise UserError(
                "expected labeled data (DEV), since the config has no validation_data_path"
            )
        reader: Any = loaded.validation_dataset_reader
        predictor = WordQePredictor(model.eval(), reader, batch_size=batch_size)
        calibration = calibrate_model(predictor, data, maximize)
        options: dict[str, Any] = {
            "temperature": calibration.temperature,
            "threshold": calibration.threshold,
        }
        critical, changes = calibration.critical, {}
        if critical is not None:
            head = model.sentence_heads[CRITICAL]
            head.rescale(critical["slope"], critical["intercept"])
            new = head.state_dict(prefix=f"sentence_heads.{CRITICAL}.")
            changes["weights.th"] = partial(change_weights, partial(_with_weights, new))
            heads = dict(config["model"]["sentence_heads"])
            heads[CRITICAL] = {**heads[CRITICAL], "threshold": critical["threshold"]}
            options["sentence_heads"] = heads
        changes["config.json"] = partial(_with_model, {**config["model"], **options})
        copy_archive(path, draft, changes)
    return {"archive": archive, "data": data, "output": output, **vars(calibration)}


def _with_model(model: dict[str, Any], config: bytes) -> bytes:
    """Returns a config with another model."""
    return json.dumps({**json.loads(config), "model": model}, indent=4).encode()


def _with_weights(new: dict[str, Any], weights: dict[str, Any]) -> dict[str, Any]:
    """Returns weights, some of them replaced, of the same types as before."""
    return weights | {name: tensor.to(weights[name]) for name, tensor in new.items()}


def as_text(results: Mapping[str, Any]) -> str:
    """Returns the report: a table of scores, the temperature and the threshold."""
    rows = [
        {
            "": name.replace("_", "-"),
            "ECE": results[name]["ece"],
            "MCC": results[name]["mcc"],
            "F1-MULT": results[name]["f1_mult"],
            "tagged BAD": results[name]["tagged_share"],
            "gold BAD": results[name]["gold_share"],
        }
        for name in ("before", "after", "cross_fitted")
    ]
    critical, report = results["critical"], ""
    if critical is not None:
        row = {"AUC": critical["auc"], "MCC": critical["mcc"], "ECE": critical["ece"]}
        report = (
            f"\n\n{critical['sentences']} sentences judged for critical errors (percentages)\n\n"
            f"{table_text([{**row, 'ECE before': critical['ece_before']}])}\n\n"
            f"threshold: {critical['threshold']:.4f}, for the highest MCC"
        )
    return (
        f"{results['num_sentences']} sentences, {results['num_words']} words (percentages)\n\n"
        f"{table_text(rows)}\n\n"
        f"temperature: {results['temperature']:.4f}\n"
        f"threshold: {results['threshold']:.4f}, for the highest {results['objective']}{report}"
    )
