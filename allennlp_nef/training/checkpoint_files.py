import glob
import logging
import os
import re
import time
from contextlib import suppress

from allennlp_nef.training.durable_files import TEMPORARY, damage_of

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
