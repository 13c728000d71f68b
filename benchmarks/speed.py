"""Compares the speed of the taggers with AllenNLP's `simple_tagger`, which has the same embedders and the same BiLSTM.

    python benchmarks/speed.py                                  all parts, on one CPU thread
    python benchmarks/speed.py --only step decoder --json FILE  some parts; FILE keeps the times
    python benchmarks/speed.py --only step inference --device cuda

- `step`: a training step with 32 sentences of 25 random words: forward and backward pass, clipping, Adagrad.
- `inference`: the forward pass without gold tags, with the probabilities.
- `decoder`: the decoder alone, compared with the BiLSTM alone, on sentences of 15 to 35 words.
- `commands`: `allennlp train`, one epoch, and `allennlp predict`, both of 5,000 sentences, as programs.

Both sides run in turn, after a warm-up, so a busy machine slows both down. A row of the table has the ratio of the
median times; 2 means twice the time. Times are CPU time, on a GPU wall-clock time.
"""

import argparse
import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import _jsonnet
import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.training.optimizers import Optimizer
from torch.utils.benchmark import Measurement, Timer

import allennlp_nef  # noqa: F401  # registers the components
from allennlp_nef.data.conllu import read_conllu
from allennlp_nef.training.trainer import fuse_steps

ROOT = Path(__file__).resolve().parent.parent
SENTENCES, TOKENS, LABELS = 32, 25, 17
# Words, and prefixes and suffixes of 1 to 4 characters, seen twice in UD French-Sequoia. The time of the optimizer and
# of the gradient norm depends on them.
SIZES = {
    "tokens": 3143,
    **{f"affixes_prefix_{i}": size for i, size in enumerate((94, 567, 1381, 1928), 1)},
    **{f"affixes_suffix_{i}": size for i, size in enumerate((87, 443, 917, 1632), 1)},
    "labels": LABELS,
}
BASELINE = "simple_tagger"
Function = Callable[[], Any]
Batch = dict[str, Any]


@dataclass
class Settings:
    folder: Path
    device: torch.device = torch.device("cpu")
    quick: bool = False
    """Whether to measure everything once, which only tests the program."""


class Decoder(NamedTuple):
    """The options of a decoder, and the highest ratio that its training step may have."""

    sketch_update: str
    num_steps: int | str
    at_most: float | None = None

    @property
    def title(self) -> str:
        form = {"full": "NEF-F", "single": "NEF-S"}[self.sketch_update]
        return f"{form}, N = {'L' if self.num_steps == 'length' else self.num_steps}"


DECODERS = [
    Decoder("full", 5, at_most=2.14),
    Decoder("full", 10),
    Decoder("full", "length"),
    Decoder("single", 5, at_most=1.75),
    Decoder("single", 10),
    Decoder("single", "length"),
]


@dataclass
class Row:
    """The median times of two functions, in seconds."""

    part: str
    what: str
    over: str
    ours: float
    theirs: float
    at_most: float | None = None
    """The highest ratio that is good enough."""

    def __str__(self) -> str:
        ratio = self.ours / self.theirs
        aim = "" if self.at_most is None else f"{self.at_most:g}"
        if self.at_most is not None and ratio > self.at_most:
            aim += ", missed"
        times = f"{1000 * self.ours:,.1f} / {1000 * self.theirs:,.1f}"
        return f"| {self.part} | {self.what} | {self.over} | {ratio:.2f} | {times} | {aim} |"


@cache
def experiment() -> dict[str, Any]:
    """The config from which all models are made."""
    path = ROOT / "training_configs" / "pos_nef_f_csoftmax.jsonnet"
    return json.loads(_jsonnet.evaluate_file(str(path)))


def nef_tagger(decoder: Decoder | None, dropout: float = 0.0) -> dict[str, Any]:
    """The config of a `nef_tagger`. `simple_tagger` does not have dropout, so ours does not either by default."""
    model = deepcopy(experiment()["model"])
    model["dropout"] = dropout
    options = model.pop("decoder")
    if decoder is not None:
        steps = {"sketch_update": decoder.sketch_update, "num_steps": decoder.num_steps}
        model["decoder"] = {**options, **steps, "dropout": dropout}
    return model


def simple_tagger() -> dict[str, Any]:
    model = experiment()["model"]
    parts = {name: model[name] for name in ("text_field_embedder", "encoder")}
    return {"type": BASELINE, **deepcopy(parts)}


@cache
def vocabulary() -> Vocabulary:
    vocab = Vocabulary()
    for namespace, size in SIZES.items():
        for i in range(size - vocab.get_vocab_size(namespace)):
            vocab.add_token_to_namespace(str(i), namespace)
    return vocab


def random_batch(device: torch.device) -> Batch:
    """A batch of words with affixes. The tags can be learned."""

    def draw(*namespaces: str) -> torch.Tensor:
        columns = [torch.randint(2, SIZES[name], (SENTENCES, TOKENS)) for name in namespaces]
        return torch.stack(columns, -1).to(device)

    words = draw("tokens").squeeze(-1)
    affixes = {
        f"{side}es": draw(*(f"affixes_{side}_{i}" for i in range(1, 5)))
        for side in ("prefix", "suffix")
    }
    return {"tokens": {"tokens": {"tokens": words}, "affixes": affixes}, "tags": words % LABELS}


class Run:
    """A model in training, with its optimizer and with batches that repeat."""

    def __init__(self, settings: Settings, model: dict[str, Any]) -> None:
        torch.manual_seed(0)
        self.batches = cycle([random_batch(settings.device) for _ in range(8)])
        is_baseline = model["type"] == BASELINE
        self.model = Model.from_params(Params(model), vocab=vocabulary()).to(settings.device)
        trainer = deepcopy(experiment()["trainer"])
        self.grad_norm = trainer["grad_norm"]
        named = list(self.model.named_parameters())
        self.optimizer = Optimizer.from_params(Params(trainer["optimizer"]), model_parameters=named)
        if not is_baseline:  # as the trainer `nef` does, but not AllenNLP's
            fuse_steps(self.optimizer, self.model)
        for _ in range(1 if settings.quick else 10):  # the attention is almost uniform at first
            self.train()

    def train(self) -> None:
        """A training step, as in the trainer."""
        self.optimizer.zero_grad()
        self.model(**next(self.batches))["loss"].backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.grad_norm)
        self.optimizer.step()

    @torch.no_grad()
    def infer(self) -> None:
        self.model(tokens=next(self.batches)["tokens"])


def keep_memory() -> None:
    """Keeps glibc from returning memory to the system after each step: to request it again takes varying time."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
        library.mallopt(-3, 2**25)  # M_MMAP_THRESHOLD, its maximum


def medians(settings: Settings, *functions: Function) -> list[float]:
    """The median seconds of a call of each function. The functions run in turn."""
    clock = {} if settings.device.type == "cuda" else {"timer": time.process_time}
    timers = [Timer("run()", globals={"run": run}, **clock) for run in functions]
    if settings.quick:
        return [timer.timeit(1).median for timer in timers]
    rounds = [[timer.blocked_autorange(min_run_time=0.5) for timer in timers] for _ in range(5)]
    return [Measurement.merge(each)[0].median for each in zip(*rounds)]


def models(settings: Settings, part: str) -> Iterator[Row]:
    """The parts `step` and `inference`."""
    dropout = experiment()["model"]["dropout"]
    rows = [(each.title, each.at_most, nef_tagger(each)) for each in DECODERS]
    rows.insert(0, ("no decoder", None, nef_tagger(None)))
    if part == "step":
        rows.append((f"{DECODERS[0].title}, with dropout", None, nef_tagger(DECODERS[0], dropout)))
    for title, at_most, model in rows:
        runs = [Run(settings, each) for each in (model, simple_tagger())]
        if part == "step":
            yield Row(
                part, title, BASELINE, *medians(settings, *(run.train for run in runs)), at_most
            )
        else:
            for run in runs:
                run.model.eval()
            yield Row(part, title, BASELINE, *medians(settings, *(run.infer for run in runs)))


def decoders(settings: Settings, part: str) -> Iterator[Row]:
    """The decoder alone, compared with the BiLSTM alone, in training and in inference."""
    device = settings.device
    lengths = torch.linspace(15, 35, SENTENCES).long()
    mask = (torch.arange(35) < lengths.unsqueeze(-1)).to(device)

    def functions(options: dict[str, Any], dim: int) -> tuple[Function, Function]:
        torch.manual_seed(0)
        module = Seq2SeqEncoder.from_params(Params(deepcopy(options))).to(device).eval()
        inputs = torch.randn(*mask.shape, dim, device=device, requires_grad=True)
        return (
            lambda: module(inputs, mask).sum().backward(),
            torch.no_grad()(lambda: module(inputs, mask)),
        )

    model = experiment()["model"]
    theirs = functions(model["encoder"], model["encoder"]["input_size"])
    for decoder in DECODERS:
        options = nef_tagger(decoder)["decoder"]
        ours = functions(options, options["input_dim"])
        for kind, first, second in zip(("training", "inference"), ours, theirs):
            title = f"{decoder.title}, {kind}"
            yield Row(part, title, "BiLSTM", *medians(settings, first, second))


def write_experiments(settings: Settings) -> int:
    """Writes the configs and data of the part `commands`; returns the number of sentences."""
    number = 60 if settings.quick else 5000
    sentences = list(read_conllu(str(ROOT / "fixtures" / "pos" / "train.conllu")))
    sentences = list(islice(cycle(sentences), number))
    for name, some in (("all", sentences), ("dev", sentences[: number // 10])):
        texts = ("".join(sentence.text) for sentence in some)
        (settings.folder / f"{name}.conllu").write_text("".join(texts), "utf-8")
        pairs = (zip(sentence.column("form"), sentence.column("upos")) for sentence in some)
        lines = ("\t".join(f"{word}###{tag}" for word, tag in each) + "\n" for each in pairs)
        (settings.folder / f"{name}.txt").write_text("".join(lines), "utf-8")
    ours = deepcopy(experiment())
    ours["model"] = nef_tagger(DECODERS[0], ours["model"]["dropout"])
    ours["trainer"]["num_epochs"] = 1
    del ours["dataset_reader"]["max_tokens"]
    indexers = ours["dataset_reader"]["token_indexers"]
    reader = {"type": "sequence_tagging", "token_delimiter": "\t", "token_indexers": indexers}
    readers = {"dataset_reader": reader, "validation_dataset_reader": reader}
    theirs = {**ours, "model": simple_tagger(), **readers}
    for name, config, ending in (("ours", ours, "conllu"), ("theirs", theirs, "txt")):
        for key, data in (("train_data_path", "all"), ("validation_data_path", "dev")):
            config[key] = str(settings.folder / f"{data}.{ending}")
        (settings.folder / f"{name}.json").write_text(json.dumps(config))
    return number


def allennlp(settings: Settings, *arguments: str) -> float:
    """Runs an AllenNLP command on one thread; returns its CPU time in seconds."""
    command = [sys.executable, "-m", "allennlp", *arguments, "--include-package", "allennlp_nef"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=ROOT, env=environment, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(settings: Settings, part: str) -> Iterator[Row]:
    """Whole programs. `simple_tagger` reads the same words and tags with AllenNLP's `sequence_tagging`."""
    number = write_experiments(settings)
    folder = settings.folder

    def train(name: str) -> float:
        config, run = str(folder / f"{name}.json"), str(folder / name)
        return allennlp(settings, "train", config, "-s", run, "--force")

    def predict(name: str) -> float:
        """The plain `Predictor` writes the baseline's answers, since its default predictor needs a spaCy model."""
        data = folder / ("all.conllu" if name == "ours" else "all.txt")
        options = ["--use-dataset-reader", "--batch-size", "64", "--silent"]
        if name == "theirs":
            options += ["--predictor", "allennlp.predictors.predictor.Predictor"]
        output = ["--output-file", str(folder / f"{name}.jsonl")]
        archive = str(folder / name / "model.tar.gz")
        return allennlp(settings, "predict", archive, str(data), *output, *options)

    for what, command, at_most in (("train, one epoch", train, 1.29), ("predict", predict, 0.75)):
        rounds = 1 if settings.quick else 4
        pairs = [(command("ours"), command("theirs")) for _ in range(rounds)]
        title = f"allennlp {what}, {number:,} sentences, {DECODERS[0].title}"
        # The first round warms the caches of the files.
        yield Row(part, title, BASELINE, *map(median, zip(*(pairs[1:] or pairs))), at_most)


PARTS = {
    "step": models,
    "inference": models,
    "decoder": decoders,
    "commands": commands,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts (default: all)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda; `commands` needs cpu")
    parser.add_argument("--json", type=Path, help="file for all measurements")
    parser.add_argument("--quick", action="store_true", help="measure once, to test the program")
    args = parser.parse_args()
    torch.set_num_threads(1)
    keep_memory()
    rows = []
    print("| part | | over | ratio | ms | at most |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(Path(folder), torch.device(args.device), quick=args.quick)
        for part in args.only or PARTS:
            for row in PARTS[part](settings, part):
                print(row, flush=True)
                rows.append(asdict(row))
                if args.json:
                    args.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
