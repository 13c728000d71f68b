"""Trains the models that come with the package, and writes their archives, cards and scores into it.

    python benchmarks/prepare_models.py qe-en-de --data FOLDER
    python benchmarks/prepare_models.py qe-en-de --data FOLDER --check

FOLDER has the data of MLQE-PE (CC0 1.0), as folders mlqe-pe-en-de and mlqe-pe-ro-en with the files train.*, dev.* and
test20.*. A model is trained with the config below, calibrated on dev, and scored on test20 once, with weights of 32
bits and of 16 bits; the archive in the package has the latter. That takes half an hour on one thread. A training that
is finished is not repeated. `--check` compares the scores with those of the package, and writes nothing into it.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from allennlp.commands.evaluate import evaluate_from_archive
from studies import ROOT

import allennlp_nef
from allennlp_nef.cli.archive_files import read_config, write_archive
from allennlp_nef.cli.calibrate import calibrate
from allennlp_nef.cli.card import card
from allennlp_nef.resources import trained_models

CONFIG = "qe_nef_f_sentences_small"
LANGUAGES = {"qe-en-de": ["en", "de"], "qe-ro-en": ["ro", "en"]}
SCORES = {"MCC": "mcc", "F1-MULT": "f1_mult", "Pearson": "pearson"}
MAX_DIFFERENCE = 0.02
"""Of a score, between trainings on two machines."""


def train(part: str, data: Path, run: Path) -> None:
    """Trains in the folder of the data, so that the config has no path of this machine."""
    paths = {"train_data_path": f"{part}/train", "validation_data_path": f"{part}/dev"}
    program = [sys.executable, "-m", "allennlp_nef_console", "train"]
    config = str(ROOT / "benchmarks" / "configs" / f"{CONFIG}.jsonnet")
    subprocess.run(
        [*program, config, "-s", str(run), "-o", json.dumps(paths)], check=True, cwd=data
    )


def in_half_precision(archive: Path, output: Path) -> None:
    """Writes a copy of an archive with weights of 16 bits. Loading gives them 32 bits again."""
    weights = allennlp_nef.load(str(archive))._model.state_dict()
    halves = {
        name: value.half() if value.is_floating_point() else value
        for name, value in weights.items()
    }
    write_archive(str(archive), output, read_config(str(archive))["model"], halves)


def scores_of(archive: Path, data: Path) -> dict[str, float]:
    metrics = evaluate_from_archive(str(archive), str(data))
    return {name: round(metrics[key], 4) for name, key in SCORES.items()}


def write(name: str, part: str, archive: Path, scores: dict[str, float]) -> None:
    """Writes a model into the package: its archive, its card, and what `allennlp-nef models` says of it."""
    folder = Path(allennlp_nef.__file__).parent / "trained_models"
    folder.mkdir(exist_ok=True)
    list_file = folder / "models.json"
    models = json.loads(list_file.read_text("utf-8")) if list_file.exists() else {}
    models[name] = {
        "task": "quality estimation",
        "languages": LANGUAGES[name],
        "data": f"MLQE-PE {part.removeprefix('mlqe-pe-')} (CC0 1.0): 7,000 sentences",
        "split": "test20",
        "license": "CC0-1.0",
        "scores": scores,
        "command": f"python benchmarks/prepare_models.py {name} --data FOLDER",
    }
    list_file.write_text(json.dumps(dict(sorted(models.items())), indent=2) + "\n", "utf-8")
    shutil.copyfile(archive, folder / f"{name}.tar.gz")
    card(name, output=str(folder / f"{name}.md"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=LANGUAGES)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data")
    parser.add_argument(
        "--runs", type=Path, default=ROOT / "runs" / "models", help="folder for the trainings"
    )
    parser.add_argument("--check", action="store_true", help="write nothing into the package")
    args = parser.parse_args()
    data, run = args.data.resolve(), args.runs.resolve() / args.name
    part = f"mlqe-pe-{'-'.join(LANGUAGES[args.name])}"
    if not (run / "model.tar.gz").exists():
        train(part, data, run)
    full, half = run / "calibrated.tar.gz", run / f"{args.name}.tar.gz"
    calibrate(str(run / "model.tar.gz"), str(data / part / "dev"), output=str(full))
    in_half_precision(full, half)
    scores = {
        bits: scores_of(archive, data / part / "test20")
        for bits, archive in (("32 bits", full), ("16 bits", half))
    }
    print(json.dumps({"bytes": half.stat().st_size, **scores}, indent=2))
    if not args.check:
        write(args.name, part, half, scores["16 bits"])
        return
    for score, expected in trained_models()[args.name]["scores"].items():
        got = scores["16 bits"][score]
        if abs(got - expected) > MAX_DIFFERENCE:
            sys.exit(f"{score}: expected {expected} as in the package, got {got}")


if __name__ == "__main__":
    main()
