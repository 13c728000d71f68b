"""Trains the models that come with the package, and writes their archives, cards and scores into it.

    python benchmarks/prepare_models.py qe-multilingual --data FOLDER
    python benchmarks/prepare_models.py qe-en-de --data FOLDER --run runs/models/qe-en-de --check

FOLDER has the data of MLQE-PE (CC0 1.0) in the folders mlqe-pe-en-de, mlqe-pe-ro-en and so on, with the files train.*,
dev.* and test20.*. The models of one language pair are trained with the config `qe_nef_f_sentences_small`, which takes
half an hour on one thread, and qe-multilingual with `qe_multilingual` in two rounds, which take two and a half hours. A
model is calibrated on dev, and scored on the test20 of each of its pairs, with weights of 32 and of 16 bits. The
package gets the one with 16 bits.

A run directory with a finished training is used as it is. `--check` compares the scores with those in the package and
does not change the package.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from allennlp.commands.evaluate import evaluate_from_archive

import allennlp_nef
from allennlp_nef.cli.calibrate import calibrate
from allennlp_nef.cli.card import card
from allennlp_nef.cli.shared import writing
from allennlp_nef.predictors.archives import copy_archive, unpack
from allennlp_nef.resources import trained_models

ROOT = Path(__file__).resolve().parent.parent
SMALL = "benchmarks/configs/qe_nef_f_sentences_small.jsonnet"
MULTILINGUAL = "training_configs/qe_multilingual.jsonnet"
CONFIGS = {"qe-en-de": SMALL, "qe-ro-en": SMALL, "qe-multilingual": MULTILINGUAL}
ALL_PAIRS = ["en-de", "en-zh", "et-en", "ne-en", "ro-en", "ru-en", "si-en"]
PAIRS = {"qe-en-de": ["en-de"], "qe-ro-en": ["ro-en"], "qe-multilingual": ALL_PAIRS}
SCORES = {"MCC": "mcc", "F1-MULT": "f1_mult", "Pearson": "hter_pearson"}
# The one with the highest mean MCC on the dev sets of eleven language pairs, four of them without training data.
MULTILINGUAL_THRESHOLD = 0.38
# `qe-multilingual` is trained for an epoch without aligned source words, and its adapters for another one with them.
FIRST_ROUND = {
    "model.pair_embedder.aligned_source": False,
    "model.pair_embedder.alignment_layer": None,
    "model.pair_embedder.sub_token_mode": "first",
}
# Between trainings on two machines.
MAX_DIFFERENCE = 0.02


def train(name: str, folder: Path, run: Path, overrides: dict[str, Any]) -> None:
    """Trains a model on the data of a folder. Relative paths keep the folder out of the archived config."""
    changes = overrides | {
        f"{part}_data_path": [f"mlqe-pe-{pair}/{file}" for pair in PAIRS[name]]
        for part, file in (("train", "train"), ("validation", "dev"))
    }
    command = [sys.executable, "-m", "allennlp", "train", str(ROOT / CONFIGS[name]), "-s", str(run)]
    options = ["-o", json.dumps(changes), "--include-package", "allennlp_nef", "--recover"]
    subprocess.run([*command, *options], check=True, cwd=folder)


def train_twice(name: str, folder: Path, run: Path) -> None:
    """Trains a model in two rounds; the second one begins with the adapters of the first one."""
    first = run.with_name(f"{run.name}-first")
    train(name, folder, first, FIRST_ROUND)
    weights = {"type": "pretrained", "weights_file_path": str(first / "model.tar.gz")}
    initializer = {"regexes": [[r"(down|up)\.weight", weights]]}
    train(name, folder, run, {"model.initializer": initializer, "trainer.optimizer.lr": 5e-4})


def set_threshold(archive: Path, threshold: float) -> None:
    """Changes the threshold of an archive, and drops an initializer, which refers to another one."""
    with tarfile.open(archive) as members:
        model = json.load(members.extractfile("config.json"))["model"]
    model.pop("initializer", None)
    with writing(archive) as draft:
        copy_archive(str(archive), draft, {**model, "threshold": threshold})


def halve_weights(archive: Path, output: Path) -> None:
    """Copies an archive, with weights of 16 bits. Loading converts them to 32 bits."""
    with tempfile.TemporaryDirectory() as folder:
        unpack(str(archive), folder)
        file = Path(folder) / "weights.th"
        weights = torch.load(file, map_location="cpu", weights_only=True)
        halves = {
            name: value.half() if value.is_floating_point() else value
            for name, value in weights.items()
        }
        torch.save(halves, file)
        with tarfile.open(output, "w:gz") as new:
            for path in sorted(Path(folder).iterdir()):
                new.add(path, path.name)


def scores_of(archive: Path, folder: Path, name: str) -> dict[str, dict[str, float]]:
    """The scores of each language pair of a model, and their means under the name "mean"."""
    scores = {}
    for pair in PAIRS[name]:
        metrics = evaluate_from_archive(str(archive), str(folder / f"mlqe-pe-{pair}" / "test20"))
        scores[pair] = {score: round(metrics[key], 4) for score, key in SCORES.items()}
    means = {score: mean(each[score] for each in scores.values()) for score in SCORES}
    return {**scores, "mean": {score: round(value, 4) for score, value in means.items()}}


def add_to_package(name: str, archive: Path, scores: dict[str, float]) -> None:
    """Writes the archive of a model into the package, its entry in `models.json`, and its card."""
    folder = Path(allennlp_nef.__file__).parent / "trained_models"
    file = folder / "models.json"
    models = json.loads(file.read_text("utf-8"))
    models[name] = {
        "task": "quality estimation",
        "languages": sorted({code for pair in PAIRS[name] for code in pair.split("-")}),
        "data": f"MLQE-PE {', '.join(PAIRS[name])}",
        "split": "test20",
        "license": "CC0-1.0",
        "scores": scores,
        "command": f"python benchmarks/prepare_models.py {name} --data FOLDER",
    }
    file.write_text(json.dumps(dict(sorted(models.items())), indent=2) + "\n", "utf-8")
    shutil.copyfile(archive, folder / f"{name}.tar.gz")
    (folder / f"{name}.md").write_text(card(name), "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=CONFIGS)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument("--run", type=Path, help="directory of the run (default: in runs/models)")
    parser.add_argument("--check", action="store_true", help="do not change the package")
    args = parser.parse_args()
    folder = args.data.resolve()
    run = (args.run or ROOT / "runs" / "models" / args.name).resolve()
    if not (run / "model.tar.gz").exists():
        if args.name == "qe-multilingual":
            train_twice(args.name, folder, run)
        else:
            train(args.name, folder, run, {})
    full, half = run / "calibrated.tar.gz", run / f"{args.name}.tar.gz"
    dev = [str(folder / f"mlqe-pe-{pair}" / "dev") for pair in PAIRS[args.name]]
    calibration = calibrate(str(run / "model.tar.gz"), dev, output=str(full))
    if args.name == "qe-multilingual":
        set_threshold(full, MULTILINGUAL_THRESHOLD)
    halve_weights(full, half)
    scores = {
        bits: scores_of(archive, folder, args.name)
        for bits, archive in (("32 bits", full), ("16 bits", half))
    }
    report = {
        "dev": calibration["after"],
        "cross-fitted": calibration["cross_fitted"],
        "test20": scores,
    }
    print(json.dumps({"bytes": half.stat().st_size, **report}, indent=2))
    if not args.check:
        add_to_package(args.name, half, scores["16 bits"]["mean"])
        return
    for name, expected in trained_models()[args.name]["scores"].items():
        got = scores["16 bits"]["mean"][name]
        if abs(got - expected) > MAX_DIFFERENCE:
            sys.exit(f"{name}: expected {expected} as in the package, got {got}")


if __name__ == "__main__":
    main()
