"""Part 6 of `speed.py`: `allennlp train` and `allennlp predict` as programs, `nef_tagger` against `simple_tagger`.

`nef_tagger` reads CoNLL-U and has the dropout of its config. `simple_tagger` reads the same words and tags with
AllenNLP's `sequence_tagging` and has the same embedders and BiLSTM. AllenNLP's plain `Predictor` writes its answers,
because its default predictor loads a spaCy model. Everything else is the same.
"""

import json
import resource
import time
from copy import deepcopy
from functools import partial
from itertools import cycle, islice
from typing import Any

from speed_models import BASELINE, Decoder, config, nef_tagger, simple_tagger
from timing import ROOT, Case, Row, Settings, Target, allennlp, paired

from allennlp_nef.data.formats.conllu import UNKNOWN, read_conllu

SENTENCES = 5000
PAIRS = 3
DECODER = Decoder("full", 5, "csoftmax")
PREDICT_TARGET = Target(1.3, 1.2)
BASE_PREDICTOR = "allennlp.predictors.predictor.Predictor"
COLUMN = "upos"


def write_data(settings: Settings) -> tuple[int, int]:
    """Writes the repeated sentences of a file in both formats; returns the numbers of sentences and words.

    The first tenth is also written to a file for validation.
    """
    path = settings.data or ROOT / "fixtures" / "pos" / "train.conllu"
    sentences = [
        sentence for sentence in read_conllu(str(path)) if UNKNOWN not in sentence.column(COLUMN)
    ]
    if not sentences:
        raise ValueError(f"{path}: expected sentences with tags in {COLUMN}, got none")
    wanted = 50 if settings.quick else SENTENCES
    sentences = list(islice(cycle(sentences), wanted))
    for name, some in (("all", sentences), ("dev", sentences[: wanted // 10])):
        conllu = "".join(
            sentence.with_columns({COLUMN: sentence.column(COLUMN)}) for sentence in some
        )
        (settings.folder / f"{name}.conllu").write_text(conllu, encoding="utf-8")
        lines = [
            "\t".join(map("###".join, zip(sentence.column("form"), sentence.column(COLUMN)))) + "\n"
            for sentence in some
        ]
        (settings.folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    return len(sentences), sum(len(sentence.words) for sentence in sentences)


def write_configs(settings: Settings) -> None:
    """Writes `ours.json` and `theirs.json`: one epoch over all sentences."""
    ours = deepcopy(config())
    ours["model"] = nef_tagger(DECODER, dropout=ours["model"]["dropout"])
    ours["trainer"]["num_epochs"] = 1
    ours["dataset_reader"]["max_tokens"] = None
    theirs = deepcopy(ours)
    theirs["model"] = simple_tagger()
    for reader in ("dataset_reader", "validation_dataset_reader"):
        indexers = theirs[reader]["token_indexers"]
        theirs[reader] = {
            "type": "sequence_tagging",
            "token_delimiter": "\t",
            "token_indexers": indexers,
        }
    for name, experiment, ending in (("ours", ours, "conllu"), ("theirs", theirs, "txt")):
        for key, data in (("train_data_path", "all"), ("validation_data_path", "dev")):
            experiment[key] = str(settings.folder / f"{data}.{ending}")
        (settings.folder / f"{name}.json").write_text(json.dumps(experiment))


def run(settings: Settings, name: str, *arguments: str) -> float:
    """Runs an `allennlp` command, with its output in a log; returns its seconds."""
    begin, used = time.perf_counter(), _cpu_time_of_children()
    allennlp(settings.folder / f"{name}.log", *arguments, threads=settings.threads)
    return _cpu_time_of_children() - used if settings.cpu_time else time.perf_counter() - begin


def _cpu_time_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def train(settings: Settings, name: str) -> float:
    folder = settings.folder
    return run(
        settings, name, "train", str(folder / f"{name}.json"), "-f", "-s", str(folder / name)
    )


def predict(settings: Settings, name: str) -> float:
    folder = settings.folder
    arguments = ["--use-dataset-reader", "--batch-size", "64", "--silent"]
    arguments += ["--output-file", str(folder / f"{name}.jsonl")]
    if name == "theirs":
        arguments += ["--predictor", BASE_PREDICTOR]
    data = folder / ("all.conllu" if name == "ours" else "all.txt")
    return run(
        settings, name, "predict", str(folder / name / "model.tar.gz"), str(data), *arguments
    )


def commands(settings: Settings) -> list[Case]:
    """Part 6: one epoch of training, then prediction with the trained model; NEF-F, N = 5."""
    counts: dict[str, Any] = {}

    def case(what: str, command: Any, *target: Target) -> list[Row]:
        if not counts:
            write_configs(settings)
            counts["sentences"], counts["words"] = write_data(settings)
        pairs = [
            (command(settings, "ours"), command(settings, "theirs"))
            for _ in range(settings.rounds(PAIRS))
        ]
        title = f"{what} {counts['sentences']:,} sentences, NEF-F N=5"
        row = paired(title, BASELINE, pairs, *target)
        return [row._replace(details={**(row.details or {}), **counts})]

    return [
        partial(case, "allennlp train, one epoch of", train),
        partial(case, "allennlp predict of", predict, PREDICT_TARGET),
    ]
