"""Recovery: what the trainer `nef` keeps of a training, so that another process goes on as if it had not stopped."""

import logging
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy
import torch
import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric
from tqdm import tqdm  # type: ignore[import-untyped]

logger = logging.getLogger(__name__)


def gather(value: Any) -> list[Any]:
    """The values of all processes, in their order."""
    if not is_distributed():
        return [value]
    values: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


class Recovery:
    """What a training needs to go on as if it had not stopped, and AllenNLP's trainer does not keep.

    AllenNLP recovers a training by reading the batches of all finished epochs again. Here each epoch starts with the
    random states that it had, so that its batches are the same. After the last batch that was done come the random
    states of the checkpoint. Of an epoch that is continued, the losses and the counts of the metrics are kept, too.

    # Parameters

    trainer
        A `NefTrainer`. It reads its batches by `batches`, and its checkpoints have `state`.
    """

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._epoch_starts: list[dict[str, Any]] = []
        # The state of this process, until it is reached.
        self._pending: dict[str, Any] | None = None
        self.termination = Termination()

    def state(self) -> dict[str, Any]:
        """The states of all processes, which all have to call this."""
        trainer = self._trainer
        process = {
            "epoch_starts": self._epoch_starts,
            "random_states": random_states(),
            "total_batches": trainer._total_batches_completed,
            "losses": trainer._losses,
            "counts": counts_of(trainer.model) if trainer._batches_in_epoch_completed else {},
        }
        scaler = trainer._scaler and trainer._scaler.state_dict()
        return {"processes": gather(process), "scaler": scaler}

    def restore(self, state: dict[str, Any]) -> None:
        """Makes the training continue from a checkpoint with a state."""
        trainer = self._trainer
        rank, count = 0, 1
        if is_distributed():
            rank, count = torch.distributed.get_rank(), torch.distributed.get_world_size()
        if len(state["processes"]) != count:
            raise ConfigurationError(
                f"--recover: expected {len(state['processes'])} process(es), as before, got {count}"
            )
        self._pending = state["processes"][rank]
        self._epoch_starts = self._pending["epoch_starts"]
        if state["scaler"] and trainer._scaler:
            trainer._scaler.load_state_dict(state["scaler"])
        if trainer._metric_tracker.should_stop_early():
            # AllenNLP would train for one more epoch before it asks again.
            trainer._num_epochs = trainer._start_after_epochs_completed

    def batches(self, loader: Any) -> Iterator[Any]:
        """The batches of the epoch that the trainer is in."""
        trainer = self._trainer
        epoch = trainer._epochs_completed
        is_next = self._pending is not None and epoch == trainer._start_after_epochs_completed
        skipped = trainer._start_after_batches_in_epoch_completed
        skipped *= trainer._num_gradient_accumulation_steps
        if is_next and not skipped:
            self._go_on()
        if self._pending is None:
            self.termination.start()
        if epoch < len(self._epoch_starts):
            set_random_states(self._epoch_starts[epoch])
        else:
            self._epoch_starts.append(random_states())
        number = 0
        for number, batch in enumerate(loader, 1):
            yield batch
            if is_next and number == skipped:
                self._go_on()
        if is_next and number < skipped:
            # The last update was one of fewer batches. It is skipped as it would be with all of them.
            yield from [None] * (skipped - number)
            self._go_on()

    def _go_on(self) -> None:
        """All that was done is skipped: what follows is new."""
        trainer, state = self._trainer, self._pending or {}
        self._pending = None
        self.termination.start()
        set_random_states(state["random_states"])
        trainer._total_batches_completed = state["total_batches"]
        if trainer._start_after_batches_in_epoch_completed:
            trainer._losses = state["losses"]
            set_counts(trainer.model, state["counts"])
            # AllenNLP leaves out the scores of the epoch where this is the number of its batches.
            trainer._start_after_batches_in_epoch_completed = 0


def random_states() -> dict[str, Any]:
    """The states of this process, with those of all GPUs if it uses any, as `torch.load` takes them by default."""
    state: Any = numpy.random.get_state(legacy=True)
    kind, keys, *others = state
    states: dict[str, Any] = {
        "python": random.getstate(),
        "numpy": (kind, torch.from_numpy(keys.view("int32")), *others),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def set_random_states(states: dict[str, Any]) -> None:
    """Sets what `random_states` returned. The states of GPUs that are not there any more are ignored."""
    random.setstate(states["python"])
    kind, keys, *others = states["numpy"]
    numpy.random.set_state((kind, keys.numpy().view("uint32"), *others))
    torch.set_rng_state(states["torch"])
    for device, state in enumerate(states.get("cuda", ())[: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, device)


def counts_of(model: torch.nn.Module) -> dict[str, dict[str, Any]]:
    """What the metrics of a model have counted: by the name of the metric, its attributes that are data."""
    counts: dict[str, dict[str, Any]] = {}
    for name, metric in _named_metrics(model):
        counts[name] = {}
        for attribute, value in vars(metric).items():
            with suppress(TypeError):
                counts[name][attribute] = encode(value)
    return counts


def set_counts(model: torch.nn.Module, counts: dict[str, dict[str, Any]]) -> None:
    """Sets what `counts_of` returned."""
    for name, metric in _named_metrics(model):
        for attribute, encoded in counts.get(name, {}).items():
            value = decode(encoded)
            if isinstance(value, dict):  # it may be a `defaultdict`
                getattr(metric, attribute).clear()
                getattr(metric, attribute).update(value)
            else:
                setattr(metric, attribute, value)


def _named_metrics(model: torch.nn.Module) -> Iterator[tuple[str, Metric]]:
    """The metrics that the modules of a model have as attributes, also in a list or a dictionary, with their names.

    Objects that count something for a model are a `Metric`, too, so that they are among these.
    """
    for prefix, module in model.named_modules():
        for name, value in vars(module).items():
            items: dict[Any, Any] = {None: value}
            if isinstance(value, dict):
                items = value
            elif isinstance(value, (list, tuple)):
                items = dict(enumerate(value))
            for key, item in items.items():
                if isinstance(item, Metric):
                    yield f"{prefix}.{name}.{key}", item


_CONTAINERS = (list, tuple, set)
_ARRAY = "numpy.ndarray"


def encode(value: Any) -> Any:
    """A copy of data that `torch.load` takes by default. Raises `TypeError` for objects that are no data."""
    if isinstance(value, numpy.generic):  # its float64 is a float, too
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return (_ARRAY, torch.from_numpy(value.copy()))
    if isinstance(value, dict):
        return {encode(key): encode(item) for key, item in value.items()}
    if type(value) in _CONTAINERS:
        return type(value)(map(encode, value))
    raise TypeError(f"expected data, got {type(value)}")


def decode(value: Any) -> Any:
    """What was encoded."""
    if isinstance(value, tuple) and value[:1] == (_ARRAY,):
        return value[1].numpy()
    if isinstance(value, dict):
        return {decode(key): decode(item) for key, item in value.items()}
    return type(value)(map(decode, value)) if type(value) in _CONTAINERS else value


class Termination:
    """Between `start` and `stop`, SIGTERM does not end the process: `is_requested` says that it came.

    Processes that are forked in between, such as those that read data, do end.
    """

    status = 128 + signal.SIGTERM  # as shells count

    def __init__(self) -> None:
        self.is_requested = False
        self._process: int | None = None
        self._previous: Any = None

    def start(self) -> None:
        """Outside the main thread, where signals cannot be handled, this does nothing."""
        if self._process is None and threading.current_thread() is threading.main_thread():
            self._process = os.getpid()
            self._previous = signal.signal(signal.SIGTERM, self._note)

    def stop(self) -> None:
        """SIGTERM has the effect again that it had before `start`; also one that came after the last checkpoint."""
        if self._process is not None:
            signal.signal(signal.SIGTERM, self._previous)
            self._process = None
            if self.is_requested:
                os.kill(os.getpid(), signal.SIGTERM)

    def exit(self, path: str, is_primary: bool) -> None:
        """Ends the process after a checkpoint, the file of which is named. All processes have to call this."""
        self.is_requested = False
        if is_primary:
            for bar in list(getattr(tqdm, "_instances", ())):
                bar.close()  # or it would be drawn again below the last line
            logger.error(
                "terminated: %s is written, and the same command with --recover goes on from there",
                path,
            )
        gather(None)  # the program ends all processes when the first one has ended
        raise SystemExit(self.status)

    def _note(self, *args: Any) -> None:
        if os.getpid() == self._process:
            self.is_requested = True
        else:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
