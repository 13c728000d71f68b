"""When a sentence does no further steps of the decoder."""

from allennlp_nef.modules.halting.batch_halting import BatchHalting
from allennlp_nef.modules.halting.confident import ConfidentHalting
from allennlp_nef.modules.halting.fixed import FixedHalting
from allennlp_nef.modules.halting.halting import Halting
from allennlp_nef.modules.halting.learned import LearnedHalting
from allennlp_nef.modules.halting.progress import Progress, ProgressTracker
from allennlp_nef.modules.halting.settled import SettledHalting
from allennlp_nef.modules.halting.tag_halts import TagHalts

__all__ = [
    "BatchHalting",
    "ConfidentHalting",
    "FixedHalting",
    "Halting",
    "LearnedHalting",
    "Progress",
    "ProgressTracker",
    "SettledHalting",
    "TagHalts",
]
