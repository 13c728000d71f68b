"""Recovery: what a training writes, and how another one goes on from it."""

import errno
import glob
import inspect
import logging
import os
import random
import re
import shutil
import signal
import threading
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, BinaryIO

import numpy
import torch
import torch.distributed
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import dump_metrics, is_distributed
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import GradientDescentTrainer, TrainerCallback
from allennlp.training.metrics import Metric
from overrides import overrides
from tqdm import tqdm  # type: ignore[import-untyped]

from allennlp_nef.errors import UserError


def gather(value: Any) -> list[Any]:
    """The values of all processes, in their order."""
    if not is_distributed():
        return [value]
    values: list[Any] = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def in_any_process(value: bool) -> bool:
    """Whether it is true in any process."""
    return dist_reduce_sum(int(value)) > 0


def rank() -> int:
    """The number of this process, from 0."""
    return torch.distributed.get_rank() if is_distributed() else 0


TEMPORARY = ".tmp"
"""The ending of files that are being written."""


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` once it is on the disk. Where that fails, `path` is as before.

    # Raises

    `UserError`: the file cannot be written, such as on a full disk.
    """
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put(temporary, path)
    except (OSError, RuntimeError) as error:
        reason = _system_error(error)
        if reason is None:
            raise
        with suppress(FileNotFoundError):
            os.remove(temporary)
        free = shutil.disk_usage(os.path.dirname(path)).free / 2**20
        raise UserError(
            f"{path}: the file could not be written: {os.strerror(reason)} ({free:,.0f} MB are free); the checkpoints "
            "before it are kept, and the same command with --recover goes on from the last one"
        ) from error


def link(source: str, path: str) -> None:
    """Makes `path` a hard link to a file, or a copy where the file system has no links."""
    if os.path.exists(path) and os.path.samefile(source, path):
        return  # the temporary link would not be renamed
    temporary = _temporary(path)
    try:
        os.link(source, temporary)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            raise
        with open(source, "rb") as original, replacing(path) as copy:
            shutil.copyfileobj(original, copy)
    else:
        _put(temporary, path)


def damage_of(path: str) -> str | None:
    """What is wrong with a file of `torch.save`: it is missing, or not what was written. None where it is whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            return None if archive.testzip() is None else "is damaged"
    except FileNotFoundError:
        return "is missing"
    except zipfile.BadZipFile:
        return "is incomplete"


def _temporary(path: str) -> str:
    return f"{path}.{uuid.uuid4().hex}{TEMPORARY}"  # another host may write the same file


def _put(temporary: str, path: str) -> None:
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _system_error(error: BaseException | None) -> int | None:
    """The number of the system's error; `torch.save` raises a `RuntimeError` of its own after it."""
    while error is not None and not (isinstance(error, OSError) and error.errno):
        error = error.__context__
    return error.errno if isinstance(error, OSError) else None


logger = logging.getLogger(__name__)

Point = tuple[int, int]
"""When a checkpoint was written: the epochs that were finished, and the batches of the next one."""
MODEL, BEST, TRAINING = KINDS = ("model", "best", "training")
UNUSABLE = ".unusable"
"""The ending of files that were set aside."""
_FILE = re.compile(rf"(?:{'|'.join(KINDS)})_state_e(\d+)_b(\d+)\.th$")


class CheckpointFiles:
    """The files of the checkpoints in the folder of a run.

    A checkpoint has the weights (`MODEL`), those of the best epoch so far, if there is one (`BEST`), and last the state
    of the training (`TRAINING`), which makes it complete.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, kind: str, point: Point) -> str:
        """As AllenNLP names them."""
        return os.path.join(self._folder, f"{kind}_state_e{point[0]}_b{point[1]}.th")

    def points(self) -> list[Point]:
        """Those of all files, the newest one first."""
        found = map(_FILE.match, os.listdir(self._folder))
        return sorted({(int(match[1]), int(match[2])) for match in found if match}, reverse=True)

    def newest(self) -> Point | None:
        """The newest checkpoint that is whole. Newer ones are set aside; what was being written is removed."""
        for path in glob.iglob(os.path.join(glob.escape(self._folder), f"*.th.*{TEMPORARY}")):
            with suppress(FileNotFoundError):
                os.remove(path)
        for point in self.points():
            problem = self._problem_of(point)
            if problem is None:
                return point
            self.set_aside(point, problem)
        return None

    def set_aside(self, point: Point, problem: str) -> None:
        """Renames the files of a checkpoint that is not used, and warns."""
        logger.warning(
            "The checkpoint %s is not used: %s. Its files are renamed to end in %s, and the checkpoint before it, if "
            "there is one, is used.",
            *(self.path(TRAINING, point), problem, UNUSABLE),
        )
        for path in self._existing(point):
            with suppress(FileNotFoundError):  # another host may do the same
                os.replace(path, path + UNUSABLE)

    def remove(self, point: Point) -> None:
        for path in self._existing(point):
            with suppress(FileNotFoundError):
                os.remove(path)

    def age_of(self, point: Point) -> float:
        """In seconds."""
        return time.time() - max(map(os.path.getmtime, self._existing(point)))

    def _existing(self, point: Point) -> list[str]:
        paths = (self.path(kind, point) for kind in KINDS)
        return [path for path in paths if os.path.exists(path)]

    def _problem_of(self, point: Point) -> str | None:
        needed = [self.path(MODEL, point), self.path(TRAINING, point)]
        for path in dict.fromkeys([*needed, *self._existing(point)]):
            damage = damage_of(path)
            if damage is not None:
                return f"{os.path.basename(path)} {damage}"
        return None


RandomStates = dict[str, Any]
"""As `torch.load` takes them by default: tensors, numbers, strings and tuples."""


def random_states() -> RandomStates:
    """The states of this process, with those of all GPUs if it uses any."""
    state: Any = numpy.random.get_state(legacy=True)
    kind, keys, *rest = state
    states: RandomStates = {
        "python": random.getstate(),
        "numpy": (kind, torch.from_numpy(keys.view("int32")), *rest),
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def set_random_states(states: RandomStates) -> None:
    """Sets what `random_states` returned. The states of GPUs that are not there any more are ignored."""
    random.setstate(states["python"])
    kind, keys, *rest = states["numpy"]
    numpy.random.set_state((kind, keys.numpy().view("uint32"), *rest))
    torch.set_rng_state(states["torch"])
    for device, state in enumerate(states.get("cuda", ())[: torch.cuda.device_count()]):
        torch.cuda.set_rng_state(state, device)


Counts = list[dict[str, Any]]
"""Of each metric, its attributes, encoded."""
_CONTAINERS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "dict": dict}


def counts_of(model: torch.nn.Module) -> Counts:
    """What the metrics have counted. Attributes that `encode` refuses are no counts, and left out."""
    counts: Counts = []
    for owner in _owners(model):
        counts.append({})
        for name, value in vars(owner).items():
            with suppress(TypeError):
                counts[-1][name] = encode(value)
    return counts


def set_counts(model: torch.nn.Module, counts: Counts) -> None:
    """Sets what `counts_of` returned."""
    for owner, attributes in zip(_owners(model), counts):
        for name, encoded in attributes.items():
            value = decode(encoded)
            if isinstance(value, dict):  # it may be a `defaultdict`
                getattr(owner, name).clear()
                getattr(owner, name).update(value)
            else:
                setattr(owner, name, value)


def encode(value: Any) -> Any:
    """A copy that `torch.load` takes by default. Raises `TypeError` for objects that are no data."""
    if isinstance(value, numpy.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, numpy.ndarray):
        return ("array", torch.from_numpy(value.copy()))
    if isinstance(value, dict):
        return ("dict", [(encode(key), encode(each)) for key, each in value.items()])
    for name, kind in _CONTAINERS.items():
        if type(value) is kind:
            return (name, [encode(each) for each in value])
    raise TypeError(f"expected data, got {type(value)}")


def decode(value: Any) -> Any:
    """What was encoded."""
    if not isinstance(value, tuple):
        return value
    name, content = value
    if name == "array":
        return content.numpy()
    if name == "dict":
        return {decode(key): decode(each) for key, each in content}
    return _CONTAINERS[name](map(decode, content))


def _owners(model: torch.nn.Module) -> list[Any]:
    """The metrics of a model, and the objects that hold metrics for it."""
    owners: dict[int, Any] = {}
    for module in model.modules():
        for value in _attributes(module):
            held = [] if isinstance(value, torch.nn.Module) else _attributes(value)
            metrics = [each for each in [value, *held] if isinstance(each, Metric)]
            owners.update((id(each), each) for each in [value, *metrics] if metrics)
    return list(owners.values())


def _attributes(owner: Any) -> Iterator[Any]:
    """The attributes of an object, and the elements of those that are containers."""
    for value in getattr(owner, "__dict__", {}).values():
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


STATUS = 128 + signal.SIGTERM  # as shells count


class Termination:
    """Between `start` and `stop`, SIGTERM does not end the process: `requested` says that it came.

    Processes that are forked in between, such as those that read data, do end.
    """

    def __init__(self) -> None:
        self.requested = False
        self._process: int | None = None
        self._previous: Any = None

    def start(self) -> None:
        """Outside the main thread, where signals cannot be handled, this does nothing."""
        if self._process is None and threading.current_thread() is threading.main_thread():
            self._process = os.getpid()
            self._previous = signal.signal(signal.SIGTERM, self._note)

    def stop(self) -> None:
        """SIGTERM has the effect again that it had before `start`."""
        if self._process is not None:
            signal.signal(signal.SIGTERM, self._previous)
            self._process = None

    def _note(self, *args: Any) -> None:
        if os.getpid() == self._process:
            self.requested = True
        else:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)


def exit_terminated(is_primary: bool, path: str) -> None:
    """Ends the process after a checkpoint, the file of which is named. All processes have to call this."""
    if is_primary:
        for bar in list(getattr(tqdm, "_instances", ())):
            bar.close()  # or it would be drawn again below the last line
        logger.error(
            "terminated: %s is written, and the same command with --recover goes on from there",
            path,
        )
    gather(None)  # the program ends all processes when the first one has ended
    raise SystemExit(STATUS)


class Resumption(TrainerCallback):
    """What a training needs to go on as if it had not stopped, and AllenNLP's trainer does not keep.

    `ResumableCheckpointer` attaches it to its trainer. Checkpoints have its state.

    AllenNLP recovers a training by reading the batches of all finished epochs again. Here each epoch starts with the
    random states that it had, so that its batches are the same. After the last batch that was done come the random
    states of the checkpoint. Of an epoch that is continued, the losses and the counts of the metrics are kept, too.
    """

    def __init__(self, serialization_dir: str) -> None:
        super().__init__(serialization_dir)
        self.termination = Termination()
        self._epoch_starts: list[RandomStates] = []
        self._processes: list[dict[str, Any]] = []
        self._scaler: dict[str, Any] | None = None
        self._metrics: dict[str, Any] = {}  # of the last epoch that was finished
        self._losses = [
            0.0,
            0.0,
        ]  # the epoch so far: the sums of losses and regularization penalties
        self._pending: dict[str, Any] | None = (
            None  # the state of this process, until it is reached
        )
        self._is_continued = False  # whether another run began the epoch

    def attach(self, trainer: Any) -> None:
        """Makes the trainer call this, before its other callbacks, and read its batches from here."""
        trainer._callbacks.insert(0, self)
        loader = trainer.data_loader
        trainer.data_loader = _Loader(loader, partial(self._batches, trainer, loader))

    def collect(self, trainer: Any) -> None:
        """Collects the states of all processes, which all have to call it before one calls `state`."""
        state = {
            "epoch_starts": self._epoch_starts,
            "random_states": random_states(),
            "total_batches": trainer._total_batches_completed,
            "losses": self._losses,
            "losses_of_nef": getattr(trainer, "_losses", None),
            "counts": counts_of(trainer.model) if trainer._batches_in_epoch_completed else [],
        }
        self._processes = gather(state)
        self._scaler = trainer._scaler and trainer._scaler.state_dict()

    def state(self) -> dict[str, Any]:
        """What was collected, for a checkpoint."""
        metrics = encode(self._metrics)
        return {"processes": self._processes, "scaler": self._scaler, "metrics": metrics}

    def restore(self, state: dict[str, Any]) -> None:
        """Makes the training continue from a checkpoint; before `on_start`."""
        self._pending = state["processes"][rank()]
        self._epoch_starts = self._pending["epoch_starts"]
        self._scaler = state["scaler"]
        self._metrics = decode(state["metrics"])

    @overrides(check_signature=False)
    def on_start(self, trainer: Any, *args: Any, **kwargs: Any) -> None:
        if self._scaler:
            trainer._scaler.load_state_dict(self._scaler)
        if self._pending and trainer._metric_tracker.should_stop_early():
            # AllenNLP would train for one more epoch before it asks again.
            trainer._num_epochs = trainer._start_after_epochs_completed

    def _batches(self, trainer: Any, loader: Any) -> Iterator[Any]:
        """The batches of the epoch that the trainer is in."""
        epoch = trainer._epochs_completed
        is_next = self._pending is not None and epoch == trainer._start_after_epochs_completed
        skipped = trainer._start_after_batches_in_epoch_completed
        skipped *= trainer._num_gradient_accumulation_steps
        self._losses, self._is_continued = [0.0, 0.0], False
        if is_next and not skipped:
            self._go_on(trainer)
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
                self._go_on(trainer)
        if is_next and number < skipped:
            # The last update was one of fewer batches. It is skipped as it would be with all of them.
            yield from [None] * (skipped - number)
            self._go_on(trainer)

    def _go_on(self, trainer: Any) -> None:
        """All that was done is skipped: what follows is new."""
        state, self._pending = self._pending or {}, None
        self.termination.start()
        set_random_states(state["random_states"])
        trainer._total_batches_completed = state["total_batches"]
        if trainer._start_after_batches_in_epoch_completed:
            self._losses, self._is_continued = state["losses"], True
            if state["losses_of_nef"] is not None:
                trainer._losses = state["losses_of_nef"]
            set_counts(trainer.model, state["counts"])
            # AllenNLP leaves out the scores of the epoch where this is the number of its batches.
            trainer._start_after_batches_in_epoch_completed = 0

    @overrides(check_signature=False)
    def on_batch(
        self,
        trainer: Any,
        batch_inputs: Any,
        batch_outputs: list[Any],
        batch_metrics: dict[str, Any],
        epoch: int,
        batch_number: int,
        is_training: bool,
        **kwargs: Any,
    ) -> None:
        if is_training:
            self._losses[0] += batch_metrics["batch_loss"]
            for _ in batch_outputs:
                self._losses[1] += batch_metrics.get("batch_reg_loss", 0.0)

    @overrides(check_signature=False)
    def on_epoch(
        self,
        trainer: Any,
        metrics: dict[str, Any],
        epoch: int,
        is_primary: bool = True,
        **kwargs: Any,
    ) -> None:
        self._metrics = metrics
        if not self._is_continued:
            return
        # The trainer's own sums are those of the batches since the recovery, but for the losses of the trainer `nef`.
        batches = dist_reduce_sum(trainer._batches_in_epoch_completed)
        loss, penalty = (float(dist_reduce_sum(total) / batches) for total in self._losses)
        if not hasattr(trainer, "_losses"):
            metrics["training_loss"] = loss
        if "training_reg_loss" in metrics:
            metrics["training_reg_loss"] = penalty
        if is_primary:
            dump_metrics(
                os.path.join(self.serialization_dir, f"metrics_epoch_{epoch}.json"), metrics
            )

    @overrides(check_signature=False)
    def on_end(self, trainer: Any, metrics: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self.termination.stop()
        if metrics is None:
            return  # an exception
        if "epoch" not in metrics:  # all epochs were finished before the recovery
            metrics.update({**self._metrics, **metrics})
        if self.termination.requested:  # after the last checkpoint
            os.kill(os.getpid(), signal.SIGTERM)


class _Loader:
    """A data loader whose batches are given by a function."""

    def __init__(self, loader: Any, batches: Callable[[], Iterator[Any]]) -> None:
        self._loader = loader
        self._batches = batches

    def __iter__(self) -> Iterator[Any]:
        return self._batches()

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def calling_trainer() -> Any:
    """The trainer that called the checkpointer, which is not told."""
    frame = inspect.currentframe()
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), GradientDescentTrainer):
            return frame.f_locals["self"]
        frame = frame.f_back
    raise ConfigurationError(
        "checkpointer: expected the trainer gradient_descent for the type resumable"
    )
