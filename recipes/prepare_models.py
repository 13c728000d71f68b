"""Trains the models that come with the package, scores them, and writes them into the package.

    python recipes/prepare_models.py qe-multilingual --data FOLDER
    python recipes/prepare_models.py ner-multilingual --data FOLDER --run runs/models/ner-multilingual --check

FOLDER has the data; `allennlp-nef models NAME` has their sources and the commands that make them:

    qe-multilingual    MLQE-PE (CC0 1.0): mlqe-pe-en-de/, mlqe-pe-ro-en/ and so on, with train.*, dev.* and test20.*;
                       wmt22-en-cs/dev.* and so on; critical-errors/en-cs.train.tsv, en-cs.dev.tsv and so on;
                       errors/*/*.jsonl, the output of synthetic_errors.py and minimal_pairs.py; start.th
    ner-multilingual   Universal NER v1 (CC BY-SA 4.0): da_ddt-ud-dev.iob2, da_ddt-ud-test.iob2 and so on;
                       typed/*.iob2, the output of tagging_data.py
    pos-multilingual   treebanks of Universal Dependencies: dev/*.conllu, test/*.conllu and zero-shot/*.conllu, the
                       output of treebanks.py; typed/*/*.conllu, that of tagging_data.py

`ner-multilingual` is trained from the encoder alone. `pos-multilingual` starts from the adapters and the decoder of
`ner-multilingual`, and `qe-multilingual` from the weights in `start.th`. Each model takes one or two hours on a CPU
with matrix operations in bfloat16. A model is scored on test sets as it comes with the package. A finished training is
not repeated. `--check` compares the scores with those in the package and does not change the package.
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from allennlp.commands.evaluate import evaluate_from_archive
from torch import Tensor
from treebanks import TESTS, UNSEEN

import allennlp_nef
from allennlp_nef.archives import change_weights, copy_archive
from allennlp_nef.cli.calibrate import calibrate
from allennlp_nef.resources import trained_models

ROOT = Path(__file__).resolve().parent.parent
PAIRS = ["en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en"]
WMT22 = ["en-cs", "en-ja", "km-en", "ps-en"]
ENTITY_SETS = ["da_ddt", "hr_set", "pt_bosque", "sk_snk", "sr_set", "sv_talbanken", "zh_gsd"]
ENTITY_COLUMNS = {"word_column": 1, "tag_column": 2, "comment_prefix": "# "}
EMBEDDER = "model.text_field_embedder.token_embedders.transformer"
# Between trainings on two machines.
MAX_DIFFERENCE = 0.02


class Recipe(NamedTuple):
    """How a model is trained and scored. Paths are relative to the folder of the data."""

    options: dict[str, Any]
    """What the training changes in the config."""
    tests: dict[str, str]
    """The test sets, by name."""
    scores: dict[str, str]
    """The scores and their names in the metrics of AllenNLP."""


RECIPES = {
    "qe-multilingual": Recipe(
        {
            "train_data_path": [
                *(f"mlqe-pe-{pair}/train" for pair in PAIRS),
                "critical-errors/*.train.tsv",
                "errors/*/*.jsonl",
                *(f"wmt22-{pair}/dev" for pair in WMT22),
            ],
            "validation_data_path": [
                *(f"mlqe-pe-{pair}/dev" for pair in PAIRS),
                "critical-errors/*.dev.tsv",
            ],
            "model.initializer": {
                "regexes": [
                    ["(down|up)$|tag_head", {"type": "pretrained", "weights_file_path": "start.th"}]
                ]
            },
            "model.pair_embedder.precision": "bfloat16",
            "data_loader.batch_sampler.batch_size": 32,
            "trainer.optimizer.lr": 7e-4,
            "trainer.num_epochs": 2,
        },
        {pair: f"mlqe-pe-{pair}/test20" for pair in PAIRS},
        {"MCC": "mcc", "HTER r": "hter_pearson", "quality r": "quality_pearson"},
    ),
    "ner-multilingual": Recipe(
        {
            "train_data_path": "typed/*.iob2",
            "validation_data_path": [f"{name}-ud-dev.iob2" for name in ENTITY_SETS],
            **{
                f"{reader}.{key}": value
                for reader in ("dataset_reader", "validation_dataset_reader")
                for key, value in ENTITY_COLUMNS.items()
            },
            f"{EMBEDDER}.precision": "bfloat16",
            "data_loader.batch_sampler.batch_size": 32,
            "trainer.num_epochs": 2,
        },
        {name: f"{name}-ud-test.iob2" for name in ENTITY_SETS},
        {"F1": "f1-overall"},
    ),
    "pos-multilingual": Recipe(
        {
            "train_data_path": "typed/*/*.conllu",
            "validation_data_path": "dev/*.conllu",
            "model.initializer": {
                "regexes": [
                    ["(down|up)$|decoder", {"type": "trained_model", "archive": "ner-multilingual"}]
                ]
            },
            f"{EMBEDDER}.precision": "bfloat16",
            "data_loader.batch_sampler.batch_size": 32,
        },
        {
            **{name: f"test/{name}.conllu" for name in TESTS},
            **{name: f"zero-shot/{name}.conllu" for name in UNSEEN},
        },
        {"accuracy": "accuracy"},
    ),
}


def train(name: str, folder: Path, run: Path) -> Path:
    """Trains a model on the data of a folder and returns its archive. Finished trainings are not repeated.

    Relative paths keep the folder out of the archived config.
    """
    recipe, archive = RECIPES[name], run / "model.tar.gz"
    if not archive.exists():
        config = ROOT / "training_configs" / f"{name.replace('-', '_')}.jsonnet"
        command = [sys.executable, "-m", "allennlp_nef", "train", str(config)]
        command += ["-s", str(run), "-o", json.dumps(recipe.options)]
        subprocess.run(command, check=True, cwd=folder)
    return archive


def reader_options(name: str) -> dict[str, Any]:
    """The options of the dataset readers with which a model is trained and scored."""
    options = RECIPES[name].options.items()
    return {key: value for key, value in options if "dataset_reader." in key}


def packaged(name: str, archive: Path, output: Path) -> None:
    """Copies an archive for the package: with weights of 16 bits, which loading converts to 32 bits, with relative
    paths, and with the default columns of data files.
    """
    changes = {
        "config.json": partial(packaged_config, name),
        "weights.th": partial(change_weights, halves),
    }
    copy_archive(str(archive), output, changes)


def packaged_config(name: str, file: bytes) -> bytes:
    """Returns a config without what is true only where the model was trained."""
    config = json.loads(file)
    config["model"].pop("initializer", None)  # refers to other weights
    for key in ("train_data_path", "validation_data_path"):
        config[key] = RECIPES[name].options[key]  # without the folder
    for part in parts_of(config["model"]):
        part.pop("precision", None)  # bfloat16 is slow on other CPUs
    for key in reader_options(name):
        reader, _, option = key.partition(".")
        del config[reader][option]
    return json.dumps(config, indent=2).encode()


def halves(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns weights of 16 bits."""
    return {
        name: value.half() if value.is_floating_point() else value
        for name, value in weights.items()
    }


def parts_of(config: Any) -> Iterator[dict[str, Any]]:
    """Yields all objects in a config."""
    if isinstance(config, dict):
        yield config
        for each in config.values():
            yield from parts_of(each)


def scores_of(name: str, archive: Path, folder: Path) -> dict[str, dict[str, float]]:
    """The scores of each test set of a model, and their means under the name "mean"."""
    recipe, scores = RECIPES[name], {}
    overrides = json.dumps(reader_options(name))
    for test, path in recipe.tests.items():
        metrics = evaluate_from_archive(str(archive), str(folder / path), cmd_overrides=overrides)
        scores[test] = {score: round(metrics[key], 4) for score, key in recipe.scores.items()}
    seen = [values for test, values in scores.items() if test not in UNSEEN]
    means = {score: mean(values[score] for values in seen) for score in recipe.scores}
    return {**scores, "mean": {score: round(value, 4) for score, value in means.items()}}


def add_to_package(name: str, archive: Path, scores: dict[str, float]) -> None:
    """Writes the archive of a model and its scores in `models.json` into the package."""
    folder = Path(allennlp_nef.__file__).parent / "trained_models"
    file = folder / "models.json"
    models = json.loads(file.read_text("utf-8"))
    models[name]["scores"] = scores
    file.write_text(json.dumps(models, indent=2) + "\n", "utf-8")
    shutil.copyfile(archive, folder / f"{name}.tar.gz")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--run", type=Path, help="directory of the run (default: in runs/models)")
    parser.add_argument("--check", action="store_true", help="do not change the package")
    args = parser.parse_args()
    folder = args.data.resolve()
    run = (args.run or ROOT / "runs" / "models" / args.name).resolve()
    archive = run / f"{args.name}.tar.gz"
    full = train(args.name, folder, run)
    if args.name == "qe-multilingual":
        dev = [str(folder / path) for path in RECIPES[args.name].options["validation_data_path"]]
        calibrate(str(full), dev, output=str(run / "calibrated.tar.gz"))
        full = run / "calibrated.tar.gz"
    packaged(args.name, full, archive)
    scores = scores_of(args.name, archive, folder)
    print(json.dumps({"bytes": archive.stat().st_size, **scores}, indent=2))
    if not args.check:
        add_to_package(args.name, archive, scores["mean"])
        return
    for name, expected in trained_models()[args.name]["scores"].items():
        got = scores["mean"][name]
        if abs(got - expected) > MAX_DIFFERENCE:
            sys.exit(f"{name}: expected {expected} as in the package, got {got}")


if __name__ == "__main__":
    main()
