"""What the processes of a distributed training do together before the first epoch."""

import atexit
import gc
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import cycle, islice

import torch
import torch.distributed as dist
from allennlp.common.checks import ConfigurationError
from allennlp.data import DataLoader
from allennlp.models import Model
from allennlp.models.archival import CONFIG_NAME
from allennlp.nn.parallel import TorchDdpAccelerator

from allennlp_nef.modules.input_representations import RareWords
from allennlp_nef.training.agreement import gather


def close_at_exit() -> None:
    """Closes the process group when the process ends, and its threads with it.

    Otherwise a thread of gloo may free the last tensor when the interpreter is gone, which is a SIGABRT.
    """
    atexit.register(close_group)


def close_group() -> None:
    """Closes the process group. Its threads end with it."""
    gc.collect()  # the `DistributedDataParallel` is part of a cycle, and the threads live as long as it does
    if dist.is_initialized():
        dist.destroy_process_group()


def refuse_test_data(serialization_dir: str) -> None:
    """Raises a `ConfigurationError` where the test data are to be scored after the training.

    A process has a part of them, and AllenNLP's first process would wait for the others, which have ended.
    """
    path = os.path.join(serialization_dir, CONFIG_NAME)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if json.load(file).get("evaluate_on_test"):
                raise ConfigurationError(
                    "evaluate_on_test: a process of several has a part of the test data; leave it out, and score the "
                    "archive with `allennlp evaluate`"
                )


def freeze(model: Model, patterns: Iterable[str]) -> None:
    """Freezes the parameters whose names some pattern matches. The others are those that `accelerator` waits for."""
    for name, parameter in model.named_parameters():
        if any(re.search(pattern, name) for pattern in patterns):
            parameter.requires_grad_(False)


def accelerator(device: int) -> TorchDdpAccelerator:
    """`DistributedDataParallel` with less to copy and to send.

    Gradients are computed where they are sent from. Buffers are not sent: those of this package are constants.
    """
    result = TorchDdpAccelerator(cuda_device=device)
    result._ddp_kwargs.update(gradient_as_bucket_view=True, broadcast_buffers=False)
    return result


def share_cores() -> None:
    """Divides the cores of the host by its processes, unless `OMP_NUM_THREADS` says how many threads each has."""
    if "OMP_NUM_THREADS" not in os.environ:
        processes = int(os.environ.get("ALLENNLP_PROCS_PER_NODE", "1"))
        torch.set_num_threads(max(1, torch.get_num_threads() // processes))


def share_evenly(data_loader: DataLoader) -> None:
    """Lets all processes have the same number of sentences, and of batches: those that have fewer repeat some.

    So does torch's `DistributedSampler` with sentences. The batches of the `max_tokens_sampler` can still
    differ: a process that has fewer begins its second pass in the first epoch. A loader that does not keep its
    sentences stays as it is.
    """
    instances = getattr(data_loader, "_instances", None)
    numbers = gather(None if instances is None else len(instances))
    if instances is None or None in numbers:
        return
    if 0 in numbers:
        raise ConfigurationError(
            f"train_data_path: expected at least a sentence for each of {len(numbers)} processes, got {sum(numbers)}"
        )
    instances += list(islice(cycle(instances[:]), max(numbers) - len(instances)))
    batches = gather(len(data_loader))
    if len(set(batches)) > 1:
        data_loader.batches_per_epoch = max(batches)  # type: ignore[attr-defined]


def count_rare_words(model: Model, data_loader: DataLoader) -> None:
    """Tells `rare_words` how often each word occurs in the data of all processes, which read the vocabulary from files.

    A model that has been trained before knows it.
    """
    modules = [
        module
        for module in model.modules()
        if isinstance(module, RareWords) and not module.is_counted
    ]
    if not modules:
        return
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for instance in data_loader.iter_instances():
        instance.count_vocab_items(counts)
    for module in modules:
        total: dict[str, int] = defaultdict(int)
        for part in gather(dict(counts[module.namespace])):
            for word, count in part.items():
                total[word] += count
        module.count(total, model.vocab.get_token_to_index_vocabulary(module.namespace))
