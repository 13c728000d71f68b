"""Measures what an epoch costs with a pretrained encoder, against transformers' own Trainer on the same batches.

    python benchmarks/encoder_costs.py --data esp.train --encoder intfloat/multilingual-e5-small --json FILE

A tagger of entities with a linear layer above the encoder is trained for an epoch: ours from `ner_transformer`, and
`AutoModelForTokenClassification`. Both read the first sentences of a CoNLL file, ordered by their pieces, in the same
batches, on one CPU thread, with AdamW and clipped gradients. Each training is a process of its own; the kinds take
turns in each round. The table has the seconds of an epoch (of CPU time, since other programs may run), the peak of the
memory of the process, and the median ratio of the seconds of a round. With --cuda the trainings are on a GPU: the
seconds are of the clock, and the memory is that of the GPU.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BATCH = 16
RATE = 1e-4
KINDS: dict[str, dict[str, Any]] = {
    "full": {"frozen_layers": None},
    "full, transformers": {"theirs": True, "frozen": "nothing"},
    "embeddings frozen": {"frozen_layers": 0},
    "embeddings frozen, transformers": {"theirs": True, "frozen": "embeddings"},
    "NEF-F, embeddings frozen": {"frozen_layers": 0, "decoder": True},
    "bfloat16": {"frozen_layers": 0, "precision": "bfloat16"},
    "bfloat16, transformers": {"theirs": True, "frozen": "embeddings", "bf16": True},
    "LoRA": {"lora": {"r": 8, "lora_alpha": 16, "target_modules": ["query", "value"]}},
    "LoRA, transformers": {"theirs": True, "frozen": "lora"},
    "6 layers frozen, kept states": {"frozen_layers": 6, "state_cache": True},
    "all layers frozen, kept states": {"train_parameters": False, "state_cache": True},
}
"""The knobs of each kind of training."""
BASELINES = {kind: f"{kind}, transformers" for kind in ("LoRA", "full", "bfloat16")}
"""What a kind is compared with; where it has none, with "embeddings frozen, transformers"."""


def sentences_of(path: str, count: int, encoder: str) -> list[list[str]]:
    """The first sentences of a CoNLL file with at most 510 pieces, as lines of words and tags; the shortest first."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(encoder)
    text = Path(path).read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n") if block.strip()]
    blocks = [block for block in blocks if not block[0].startswith("-DOCSTART-")]
    lines = [[f"{line.split()[0]} {line.split()[-1]}" for line in block] for block in blocks]

    def size(block: list[str]) -> int:
        words = [line.split()[0] for line in block]
        return len(tokenizer(words, is_split_into_words=True)["input_ids"])

    chosen = [block for block in lines[: 2 * count] if size(block) <= 512][:count]
    return sorted(chosen, key=size)


def now(cuda: bool) -> float:
    """The CPU seconds of the process; on a GPU those of the clock, once it has done its work."""
    if not cuda:
        return time.process_time()
    import torch

    torch.cuda.synchronize()
    return time.perf_counter()


def cost(begin: float, cuda: bool) -> dict[str, float]:
    """The seconds since `begin`, and the peak of the memory of the process or of the GPU so far, in GB."""
    import torch

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "seconds": now(cuda) - begin,
        "peak": (torch.cuda.max_memory_allocated() if cuda else peak) / 1e9,
    }


def run_ours(data: Path, encoder: str, options: dict[str, Any], cuda: bool) -> dict[str, float]:
    """The cost of an epoch; of the second one where states are kept, and on a GPU, which has to warm up."""
    import _jsonnet
    from allennlp.commands.train import TrainModel
    from allennlp.common import Params

    import allennlp_nef  # noqa: F401  # registers the components

    knobs = {
        "transformer_model": encoder,
        "batch_size": BATCH,
        "transformer_lr": RATE,
        "num_epochs": 2 if options.get("state_cache") or cuda else 1,
        **{name: value for name, value in options.items() if name != "decoder"},
    }
    cache = data.parent / "states"
    if knobs.get("state_cache"):
        knobs["state_cache"] = str(cache)
    fields = [f"{name}:: {json.dumps(value)}" for name, value in knobs.items()]
    fields += ["tag_head:: { type: 'softmax' }", f"train_data_path: '{data}'"]
    fields += ["decoder:: self.neural_easy_first('full', 5)"] if options.get("decoder") else []
    config = f"(import '{ROOT}/training_configs/ner_transformer.jsonnet') {{ {', '.join(fields)} }}"
    params = Params(json.loads(_jsonnet.evaluate_snippet("config", config)))
    for name in ("include_in_archive", "evaluation", "validation_data_path"):
        params.pop(name)
    params["data_loader"] = {"batch_size": BATCH, "shuffle": False}
    for name in ("callbacks", "checkpointer", "validation_metric"):
        params["trainer"].pop(name)
    params["trainer"]["cuda_device"] = 0 if cuda else -1
    with tempfile.TemporaryDirectory() as folder:
        trainer = TrainModel.from_params(
            params=params, serialization_dir=folder, local_rank=0, batch_weight_key=""
        ).trainer
        trainer._checkpointer = None  # which would write gigabytes
        epochs: list[dict[str, float]] = []

        def timed(epoch: int, train_epoch: Callable[[int], Any] = trainer._train_epoch) -> Any:
            begin = now(cuda)
            metrics = train_epoch(epoch)
            epochs.append(cost(begin, cuda))
            return metrics

        trainer._train_epoch = timed
        trainer.train()
    return epochs[-1]


def run_theirs(data: Path, encoder: str, options: dict[str, Any], cuda: bool) -> dict[str, float]:
    """The cost of an epoch of `Trainer`; of the second one on a GPU."""
    import torch
    from torch.utils.data import SequentialSampler
    from transformers import (
        AutoModelForTokenClassification,
        AutoTokenizer,
        DataCollatorForTokenClassification,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    blocks = [block.splitlines() for block in data.read_text(encoding="utf-8").split("\n\n")]
    blocks = [block for block in blocks if block]
    labels = sorted({line.split()[1] for block in blocks for line in block})
    tokenizer = AutoTokenizer.from_pretrained(encoder)
    examples = []
    for block in blocks:
        words, tags = zip(*(line.split() for line in block))
        encoded = tokenizer(list(words), is_split_into_words=True)
        places, before = [], None
        for word in encoded.word_ids():
            places.append(labels.index(tags[word]) if word not in (None, before) else -100)
            before = word
        examples.append({**encoded, "labels": places})
    model = AutoModelForTokenClassification.from_pretrained(encoder, num_labels=len(labels))
    if options["frozen"] == "embeddings":
        model.get_input_embeddings().weight.requires_grad_(False)
        model.base_model.embeddings.requires_grad_(False)
    elif options["frozen"] == "lora":
        from peft import LoraConfig, get_peft_model

        model = get_peft_model(model, LoraConfig(**KINDS["LoRA"]["lora"], task_type="TOKEN_CLS"))

    class InOrder(Trainer):
        def _get_train_sampler(self, *_: Any, **__: Any) -> SequentialSampler:
            return SequentialSampler(examples)

    class Clock(TrainerCallback):
        def on_epoch_begin(self, *_: Any, **__: Any) -> None:
            self.begin = now(cuda)

        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            self.cost = cost(self.begin, cuda)

    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=BATCH,
            learning_rate=RATE,
            weight_decay=0.01,
            max_grad_norm=1.0,
            warmup_steps=10,
            num_train_epochs=2 if cuda else 1,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            use_cpu=not cuda,
            bf16="bf16" in options,
            disable_tqdm=True,
        )
        torch.set_num_threads(1)
        clock = Clock()
        trainer = InOrder(
            model=model,
            args=arguments,
            train_dataset=examples,
            data_collator=DataCollatorForTokenClassification(tokenizer),
            callbacks=[clock],
        )
        trainer.train()
        return clock.cost


def measure(kind: str, data: Path, encoder: str, cuda: bool) -> dict[str, float]:
    """The cost of an epoch of a training in a process of its own."""
    command = [sys.executable, __file__, "--data", str(data), "--encoder", encoder, "--run", kind]
    command += ["--cuda"] * cuda
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{kind}: {done.stderr}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", required=True, help="a file of columns, with words first and tags last")
    add("--encoder", default="intfloat/multilingual-e5-small")
    add("--sentences", type=int, default=600)
    add("--rounds", type=int, default=3)
    add("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    add("--cuda", action="store_true", help="train on a GPU")
    add("--json", metavar="FILE")
    add("--run", choices=KINDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        options = {**KINDS[args.run]}
        run = run_theirs if options.pop("theirs", False) else run_ours
        print(json.dumps(run(Path(args.data), args.encoder, options, args.cuda)))
        return
    encoder = os.path.abspath(args.encoder) if os.path.isdir(args.encoder) else args.encoder
    runs: dict[str, list[dict[str, float]]] = {kind: [] for kind in args.kinds}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.conll")
        blocks = sentences_of(args.data, args.sentences, encoder)
        data.write_text("\n\n".join(map("\n".join, blocks)) + "\n", encoding="utf-8")
        for number in range(args.rounds):
            for kind in args.kinds:
                runs[kind].append(measure(kind, data, encoder, args.cuda))
                print(f"round {number + 1}: {kind}: {runs[kind][-1]}", file=sys.stderr, flush=True)
    print("| an epoch | seconds | memory, GB | times transformers |\n|---|---:|---:|---:|")
    for kind, results in runs.items():
        seconds, peak = (
            statistics.median(result[name] for result in results) for name in ("seconds", "peak")
        )
        baseline = runs.get(BASELINES.get(kind, "embeddings frozen, transformers"), [])
        ratios = [ours["seconds"] / theirs["seconds"] for ours, theirs in zip(results, baseline)]
        ratio = f"{statistics.median(ratios):.2f}" if ratios and "transformers" not in kind else ""
        print(f"| {kind} | {seconds:.3g} | {peak:.1f} | {ratio} |")
    if args.json:
        Path(args.json).write_text(json.dumps(runs, indent=2))


if __name__ == "__main__":
    main()
