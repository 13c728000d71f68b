import logging
import os
import time
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.training import Checkpointer
from allennlp.training.trainer import TrainerCheckpoint
from overrides import overrides

from allennlp_nef.errors import UserError
from allennlp_nef.modules.options import check_integers
from allennlp_nef.training.recovery import (
    BEST,
    MODEL,
    TRAINING,
    CheckpointFiles,
    Point,
    Resumption,
    calling_trainer,
    decode,
    encode,
    exit_terminated,
    gather,
    in_any_process,
    link,
    replacing,
)

logger = logging.getLogger(__name__)


@Checkpointer.register("resumable")
class ResumableCheckpointer(Checkpointer):
    """Checkpoints from which `train --recover` goes on as if the training had never stopped, wherever it was killed.

    The weights, the scores and the archive are then those of a training without a stop, bit for bit. The page on
    recovery says what that needs. It works with the trainer `gradient_descent` and those derived from it, and not with
    sharded models.

    - A checkpoint has the random states of Python, NumPy and torch (on CPUs and GPUs) of all processes. Of an epoch
      that was not finished it has the losses and the counts of the metrics.
    - Its files are written under other names, and renamed once they are on the disk: `model_state_*.th` and
      `training_state_*.th`, as AllenNLP's, and `best_state_*.th`, the weights of the best epoch so far, by a link.
    - On recovery a checkpoint with a file that is missing, incomplete or damaged is set aside: its files get the ending
      `.unusable`, a warning names it, and the one before it is used. `best.th` becomes what it was then.
    - On SIGTERM the training finishes its batch, writes a checkpoint, and exits with status 143, in all processes.

    Registered as a `Checkpointer` with name "resumable".

    # Parameters

    serialization_dir : `str`
        The trainer fills it in.
    save_completed_epochs : `bool`, optional (default = `True`)
        Whether to write a checkpoint after each epoch.
    save_every_num_seconds : `float`, optional (default = `None`)
        Write one after a batch if the last one is older; on one process only.
    save_every_num_batches : `int`, optional (default = `None`)
        Write one after each so many batches of an epoch.
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
        self._files = CheckpointFiles(self._serialization_dir)
        self._best_path = os.path.join(self._serialization_dir, "best.th")
        self._resumption: Resumption | None = None

    @overrides
    def maybe_save_checkpoint(
        self, trainer: Any, num_epochs_completed: int, num_batches_in_epoch_completed: int
    ) -> bool:
        """Writes a checkpoint where it is time.

        Returns `False`: the trainer then writes `best.th` by `_save_best`, and not by removing and linking it.
        """
        point = (num_epochs_completed, num_batches_in_epoch_completed)
        is_saved = super().maybe_save_checkpoint(trainer, *point)
        termination = self._resumption_of(trainer).termination
        if in_any_process(termination.requested):
            termination.requested = False
            if not is_saved:
                self.save_checkpoint(trainer)
            exit_terminated(trainer._primary, self._files.path(TRAINING, point))
        return False

    @overrides
    def save_checkpoint(self, trainer: Any) -> None:
        point = (trainer._epochs_completed, trainer._batches_in_epoch_completed)
        resumption = self._resumption_of(trainer)
        resumption.collect(trainer)
        problem: str | None = None
        if trainer._primary:
            try:
                self._write(trainer, point, resumption)
            except UserError as error:
                self._files.remove(point)
                problem = str(error)
        for message in filter(None, gather(problem)):
            raise UserError(message)
        if trainer._primary:  # now every host has the new one
            self._remove_old()
        self._note_saved(point)

    @overrides
    def load_checkpoint(self) -> TrainerCheckpoint | None:
        if self.state_is_sharded:
            raise ConfigurationError(
                "checkpointer: expected the type 'default' for a sharded model, got 'resumable'"
            )
        trainer = calling_trainer()
        resumption = self._resumption_of(trainer)
        point = self._choose(trainer._primary)
        if point is None:
            return None
        self._note_saved(point)
        model_state, training_state = super().load_checkpoint()  # type: ignore[misc]
        training_state["callbacks"].insert(0, {})  # where `resumption` is now
        if "resumption" in training_state:
            resumption.restore(training_state["resumption"])
            training_state["best_model_filename"] = self._restore_best(point, trainer._primary)
        else:
            logger.warning(
                "%s has no random states: the training goes on, but not as it would have without a stop.",
                self._files.path(TRAINING, point),
            )
        return TrainerCheckpoint(model_state, training_state)

    @overrides
    def _find_all_checkpoints(self) -> set[Point]:
        return set(self._files.points())

    def _resumption_of(self, trainer: Any) -> Resumption:
        if self._resumption is None:
            self._resumption = Resumption(self._serialization_dir)
            self._resumption.attach(trainer)
            trainer._save_model_state = partial(self._save_best, trainer)
        return self._resumption

    def _choose(self, is_primary: bool) -> Point | None:
        """The newest checkpoint that all hosts have. What is newer is set aside."""
        newest = self._files.newest() if is_primary else None
        points = [point for is_host, point in gather((is_primary, newest)) if is_host]
        chosen = None if None in points else min(points)
        for point in self._files.points() if is_primary else ():
            if chosen is None or point > chosen:
                self._files.set_aside(point, "other hosts do not have it")
        gather(None)  # no process reads before this
        return chosen

    def _write(self, trainer: Any, point: Point, resumption: Resumption) -> None:
        model_state, training_state = trainer.get_checkpoint_state()
        model_path, best_path = self._files.path(MODEL, point), self._files.path(BEST, point)
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
                _save(trainer.get_checkpoint_state().model_state, best_path)
            finally:
                trainer._moving_average.restore()
        training_state["callbacks"].pop(0)  # that of `resumption`
        training_state["resumption"] = resumption.state()
        # NumPy's numbers, which other packages return as metrics, could be saved but not loaded.
        training_state["metric_tracker"] = decode(encode(training_state["metric_tracker"]))
        _save(training_state, self._files.path(TRAINING, point))

    def _save_best(self, trainer: Any, path: str) -> None:
        """In place of the trainer's function, which overwrites the file."""
        best_path = self._files.path(BEST, (trainer._epochs_completed, 0))
        if os.path.exists(best_path):
            link(best_path, path)
        else:  # checkpoints are written at other times only
            _save(trainer.get_checkpoint_state().model_state, path)

    def _restore_best(self, point: Point, is_primary: bool) -> str | None:
        """Makes `best.th` what it was at a checkpoint, and returns its path; None where there was none."""
        best_path = self._files.path(BEST, point)
        if not os.path.exists(best_path):
            with suppress(FileNotFoundError):
                os.remove(self._best_path)
            return None
        if is_primary:
            link(best_path, self._best_path)
        return self._best_path

    def _remove_old(self) -> None:
        count, age = self._keep_most_recent_by_count, self._keep_most_recent_by_age
        for place, point in enumerate(self._files.points()):
            is_recent = count is not None and place < count
            is_young = age is not None and self._files.age_of(point) <= age
            if not (is_recent or is_young or count is age is None):
                self._files.remove(point)

    def _note_saved(self, point: Point) -> None:
        self._last_save_time = time.time()
        self._last_save_num_epochs_completed, self._last_save_num_batches_in_epoch_completed = point


def _save(state: Any, path: str) -> None:
    with replacing(path) as file:
        torch.save(state, file)
