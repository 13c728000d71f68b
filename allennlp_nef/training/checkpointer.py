"""The checkpointer `resumable`, and the files that it writes."""

import glob
import logging
import os
import re
import shutil
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.nn.util import dist_reduce_sum
from allennlp.training import Checkpointer
from allennlp.training.trainer import TrainerCheckpoint
from overrides import overrides

from allennlp_nef.errors import UserError
from allennlp_nef.modules.options import check_integers
from allennlp_nef.training.recovery import decode, encode, gather

logger = logging.getLogger(__name__)

Point = tuple[int, int]
"""When a checkpoint was written: the epochs that were finished, and the batches of the next one."""
MODEL, BEST, TRAINING = KINDS = ("model", "best", "training")
"""The files of a checkpoint: the weights, those of the best epoch so far, if there is one, and last the state of the
training, which makes it complete."""
UNUSABLE = ".unusable"
"""The ending of files that were set aside."""
TEMPORARY = ".tmp"
"""The ending of files that are being written."""
_FILE = re.compile(rf"(?:{'|'.join(KINDS)})_state_e(\d+)_b(\d+)\.th$")


@Checkpointer.register("resumable")
class ResumableCheckpointer(Checkpointer):
    """Checkpoints from which `train --recover` goes on as if the training had never stopped, wherever it was killed.

    With the trainer `nef` the weights, the scores and the archive are then those of a training without a stop, bit for
    bit. The page on recovery says what that needs. With AllenNLP's `gradient_descent` the files are as safe, but random
    states and the scores of a half epoch are lost, and SIGTERM ends the training at once. Sharded models are refused.

    - With `nef` a checkpoint has the random states of Python, NumPy and torch (on CPUs and GPUs) of all processes. Of
      an epoch that was not finished it has the losses and the counts of the metrics.
    - Its files are written under other names, and renamed once they are on the disk: `model_state_*.th` and
      `training_state_*.th`, as AllenNLP's, and `best_state_*.th`, the weights of the best epoch so far, by a link.
    - On recovery a checkpoint with a file that is missing, incomplete or damaged is set aside: its files get the ending
      `.unusable`, a warning names it, and the one before it is used. `best.th` becomes what it was then.
    - On SIGTERM `nef` finishes its batch, writes a checkpoint, and exits with status 143, in all processes.

    Registered as a `Checkpointer` with name "resumable".

    # Parameters

    serialization_dir : `str`
        The trainer fills it in.
    save_completed_epochs : `bool`, optional (default = `True`)
        Whether to write a checkpoint after each epoch.
    save_every_num_seconds : `float`, optional (default = `None`)
        Write one after a batch if the last one is older; on one process only.
    save_every_num_batches : `int`, optional (default = `None`)
        At least 1. Write one after each so many batches of an epoch.
    keep_most_recent_by_count : `int`, optional (default = `2`)
        At least 1: how many are kept.
    keep_most_recent_by_age : `float`, optional (default = `None`)
        Those that are younger, in seconds, are kept too. If this and the number are None, all are kept.

    # Raises

    `UserError`: a checkpoint cannot be written, such as on a full disk.
    """

    def __init__(
        self,
        serialization_dir: str,
        save_completed_epochs: bool = True,
        save_every_num_seconds: float | None = None,
        save_every_num_batches: int | None = None,
        keep_most_recent_by_count: int | None = 2,
        keep_most_recent_by_age: float | None = None,
    ) -> None:
        if save_every_num_batches is not None:
            check_integers(save_every_num_batches=save_every_num_batches)
        if keep_most_recent_by_count is not None:
            check_integers(keep_most_recent_by_count=keep_most_recent_by_count)
        super().__init__(
            serialization_dir,
            save_completed_epochs=save_completed_epochs,
            save_every_num_seconds=save_every_num_seconds,
            save_every_num_batches=save_every_num_batches,
            keep_most_recent_by_count=keep_most_recent_by_count,
            keep_most_recent_by_age=keep_most_recent_by_age,  # type: ignore[arg-type]
        )
        self._best_path = os.path.join(self._serialization_dir, "best.th")
        # Of the processes of each host one writes.
        processes = int(os.environ.get("ALLENNLP_PROCS_PER_NODE", "1"))
        self._writes = self._rank % processes == 0
        self._has_warned = False
        self.recovered: dict[str, Any] | None = None
        """The state of the trainer `nef` in the checkpoint that was loaded."""

    def path(self, kind: str, point: Point) -> str:
        """The path of a file of a checkpoint, as AllenNLP names it."""
        return os.path.join(self._serialization_dir, f"{kind}_state_e{point[0]}_b{point[1]}.th")

    @overrides
    def maybe_save_checkpoint(
        self, trainer: Any, num_epochs_completed: int, num_batches_in_epoch_completed: int
    ) -> bool:
        """Writes a checkpoint where it is time, and after a SIGTERM ends the process."""
        point = (num_epochs_completed, num_batches_in_epoch_completed)
        is_saved = super().maybe_save_checkpoint(trainer, *point)
        recovery = getattr(trainer, "_recovery", None)
        if recovery is None:
            return is_saved
        termination = recovery.termination
        if dist_reduce_sum(int(termination.is_requested)) > 0:
            if not is_saved:
                self.save_checkpoint(trainer)
            termination.exit(self.path(TRAINING, point), trainer._primary)
        return False  # the trainer then writes best.th by `save_best`, and not by removing it first

    @overrides
    def save_checkpoint(self, trainer: Any) -> None:
        point = (trainer._epochs_completed, trainer._batches_in_epoch_completed)
        checkpoint = trainer.get_checkpoint_state()
        problem: str | None = None
        if checkpoint is not None:  # only the first process of a host has one
            try:
                self._write(trainer, point, checkpoint)
            except UserError as error:
                self._remove(point)
                problem = str(error)
        for message in filter(None, gather(problem)):
            raise UserError(message)
        if checkpoint is not None:  # now every host has the new one
            self._remove_old()
        self._note_saved(point)

    @overrides
    def load_checkpoint(self) -> TrainerCheckpoint | None:
        if self.state_is_sharded:
            raise ConfigurationError(
                "checkpointer: expected the type 'default' for a sharded model, got 'resumable'"
            )
        point = self._choose()
        if point is None:
            return None
        self._note_saved(point)
        model_state, training_state = super().load_checkpoint()  # type: ignore[misc]
        self.recovered = training_state.pop("recovery", None)
        if self.recovered is None:
            logger.warning(
                "%s has no random states: the training goes on, but not as it would have without a stop.",
                self.path(TRAINING, point),
            )
        if os.path.exists(self.path(BEST, point)) or self.recovered is not None:
            training_state["best_model_filename"] = self._restore_best(point)
        return TrainerCheckpoint(model_state, training_state)

    def save_best(self, trainer: Any, path: str) -> None:
        """Writes the weights of the best epoch, which the trainer has just finished."""
        best_path = self.path(BEST, (trainer._epochs_completed, 0))
        if os.path.exists(best_path):
            link(best_path, path)
        else:  # checkpoints are written at other times only
            _save(weights_of(trainer), path)

    @overrides
    def _find_all_checkpoints(self) -> set[Point]:
        return set(self._points())

    def _points(self) -> list[Point]:
        """Those of all files, the newest one first."""
        matches = map(_FILE.match, os.listdir(self._serialization_dir))
        return sorted({(int(match[1]), int(match[2])) for match in matches if match}, reverse=True)

    def _existing(self, point: Point) -> list[str]:
        paths = (self.path(kind, point) for kind in KINDS)
        return [path for path in paths if os.path.exists(path)]

    def _choose(self) -> Point | None:
        """The newest checkpoint that all hosts have. What is newer is set aside."""
        newest = self._newest() if self._writes else None
        points = [point for is_host, point in gather((self._writes, newest)) if is_host]
        chosen = None if None in points else min(points)
        for point in self._points() if self._writes else ():
            if chosen is None or point > chosen:
                self._set_aside(point, "other hosts do not have it")
        gather(None)  # no process reads before this
        return chosen

    def _newest(self) -> Point | None:
        """The newest checkpoint that is whole. Newer ones are set aside; what was being written is removed."""
        for path in glob.iglob(f"{glob.escape(self._serialization_dir)}/*.th.*{TEMPORARY}"):
            with suppress(FileNotFoundError):
                os.remove(path)
        for point in self._points():
            needed = [self.path(MODEL, point), self.path(TRAINING, point)]
            for path in dict.fromkeys([*needed, *self._existing(point)]):
                damage = damage_of(path)
                if damage is not None:
                    self._set_aside(point, f"{os.path.basename(path)} {damage}")
                    break
            else:
                return point
        return None

    def _set_aside(self, point: Point, problem: str) -> None:
        """Renames the files of a checkpoint that is not used, and warns."""
        logger.warning(
            "The checkpoint %s is not used: %s. Its files are renamed to end in %s, and the checkpoint before it, if "
            "there is one, is used.",
            *(self.path(TRAINING, point), problem, UNUSABLE),
        )
        for path in self._existing(point):
            with suppress(FileNotFoundError):  # another host may do the same
                os.replace(path, path + UNUSABLE)

    def _write(self, trainer: Any, point: Point, checkpoint: TrainerCheckpoint) -> None:
        model_state, training_state = checkpoint
        if "recovery" not in training_state and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "checkpointer: expected the trainer 'nef' for the type 'resumable', got another: its checkpoints have "
                "no random states, and a training that is recovered goes on otherwise than without a stop."
            )
        model_path, best_path = self.path(MODEL, point), self.path(BEST, point)
        _save(model_state, model_path)
        is_best = trainer._should_validate_this_epoch and trainer._metric_tracker.is_best_so_far()
        if point[1] > 0 or not is_best:
            if os.path.exists(self._best_path):
                link(self._best_path, best_path)
        elif trainer._moving_average is None:
            link(model_path, best_path)
        else:
            trainer._moving_average.assign_average_value()
            try:
                _save(weights_of(trainer), best_path)
            finally:
                trainer._moving_average.restore()
        # NumPy's numbers, which other packages return as metrics, could be saved but not loaded.
        training_state["metric_tracker"] = decode(encode(training_state["metric_tracker"]))
        _save(training_state, self.path(TRAINING, point))

    def _restore_best(self, point: Point) -> str | None:
        """Makes `best.th` what it was at a checkpoint, and returns its path; None where there was none."""
        best_path = self.path(BEST, point)
        if not os.path.exists(best_path):
            with suppress(FileNotFoundError):
                os.remove(self._best_path)
            return None
        if self._writes:
            link(best_path, self._best_path)
        return self._best_path

    def _remove(self, point: Point) -> None:
        for path in self._existing(point):
            with suppress(FileNotFoundError):
                os.remove(path)

    def _remove_old(self) -> None:
        count, age = self._keep_most_recent_by_count, self._keep_most_recent_by_age
        for place, point in enumerate(self._points()):
            is_recent = count is not None and place < count
            written = max(map(os.path.getmtime, self._existing(point)))
            is_young = age is not None and time.time() - written <= age
            if not (is_recent or is_young or count is age is None):
                self._remove(point)

    def _note_saved(self, point: Point) -> None:
        self._last_save_time = time.time()
        self._last_save_num_epochs_completed, self._last_save_num_batches_in_epoch_completed = point


def weights_of(trainer: Any) -> dict[str, torch.Tensor]:
    """The weights that a trainer saves."""
    weights: dict[str, torch.Tensor] = (trainer._ddp_wrapped_model or trainer.model).state_dict()
    return weights


def _save(state: Any, path: str) -> None:
    with replacing(path) as file:
        torch.save(state, file)


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
    except OSError:
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
    except PermissionError:
        raise
    # Of damage within the directory of the zip file.
    except (EOFError, OSError, RuntimeError, ValueError):
        return "is damaged"


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
