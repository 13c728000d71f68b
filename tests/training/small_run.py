"""Small trainings of AllenNLP's `simple_tagger`, with random batches and dropout."""

import json
import os
import signal
from copy import deepcopy
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from unittest.mock import patch

import torch
from allennlp.commands import train
from allennlp.common import Params

import allennlp_nef  # noqa: F401  # registers the components

KILLED = -signal.SIGKILL
TAGS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "sees": "V", "hears": "V"}
SENTENCES = [
    f"{first} {noun} {verb} {second} {other}"
    for first, second in (("the", "a"), ("a", "the"))
    for noun, other in (("dog", "cat"), ("cat", "dog"))
    for verb in ("sees", "hears")
] + ["dog", "a cat sees", "the dog"]
EMBEDDER = {"tokens": {"type": "embedding", "embedding_dim": 4}}
ENCODER = {"type": "lstm", "input_size": 4, "hidden_size": 4, "num_layers": 2, "dropout": 0.5}
PROCESSES = {"distributed": {"cuda_devices": [-1, -1]}}


def config(folder, **overrides):
    """The config of a training; `overrides` replace its top-level keys, and update its trainer."""
    data = folder / "data.txt"
    data.write_text(
        "".join(" ".join(f"{w}###{TAGS[w]}" for w in s.split()) + "\n" for s in SENTENCES)
    )
    trainer = {
        "type": "nef",
        "num_epochs": 4,
        "cuda_device": -1,
        "validation_metric": "-loss",
        "optimizer": {"type": "adam", "lr": 0.05},
        "run_confidence_checks": False,
        **overrides.pop("trainer", {}),
    }
    return {
        "dataset_reader": {"type": "sequence_tagging"},
        "train_data_path": str(data),
        "validation_data_path": str(data),
        "model": {
            "type": "simple_tagger",
            "text_field_embedder": {"token_embedders": EMBEDDER},
            "encoder": ENCODER,
        },
        "data_loader": {"batch_sampler": {"type": "bucket", "batch_size": 3}},
        "trainer": trainer,
        **overrides,
    }


def run(values, folder, recover=False):
    """Trains in this process, or in forks of it if the config is distributed."""
    fork = partial(torch.multiprocessing.start_processes, start_method="fork")
    with patch.object(train.mp, "spawn", fork):
        train.train_model(
            Params(deepcopy(values)), str(folder), recover=recover, return_model=False
        )


def run_in_child(values, folder, prepare=None, recover=False):
    """Trains in a fork of this process, after a call of `prepare`; its exit status."""

    def child():
        torch.set_num_threads(1)  # a fork has none of the threads of its parent
        if prepare is not None:
            prepare()
        run(values, folder, recover)

    if "distributed" in values:  # what each process would import again
        import_module("torch._dynamo")
        train.import_plugins()
    process = get_context("fork").Process(target=child)
    process.start()
    process.join()
    return process.exitcode


def kill_before_call(owner, name, number=1):
    """Kills the process instead of the call of a function with this number."""
    original, calls = getattr(owner, name), []

    def counted(*arguments, **options):
        calls.append(name)
        if len(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **options)

    setattr(owner, name, counted)


def weights_of(folder):
    """The weights of the best epoch and of all checkpoints."""
    paths = [folder / "best.th", *sorted(folder.glob("model_state_e*.th"))]
    return [torch.load(path) for path in paths]


def metrics_of(folder):
    """The metrics of each epoch, without times and sizes of memory."""
    files = sorted(folder.glob("metrics_epoch_*.json"))
    metrics = [json.loads(path.read_text()) for path in files]
    return [
        {name: v for name, v in each.items() if not name.endswith(("duration", "_MB"))}
        for each in metrics
    ]
