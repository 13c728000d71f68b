import torch
from overrides import overrides

from allennlp_nef.modules.halting.halting import Halting, check_probability
from allennlp_nef.modules.halting.progress import Progress


@Halting.register("confident")
class ConfidentHalting(Halting):
    """A sentence halts once the probability of each of its tags is at least a threshold.

    Registered as a `Halting` with name "confident".

    # Parameters

    threshold : `float`
        From 0 to 1. `allennlp-nef calibrate --halting confident` finds one.
    max_steps : `int`, optional (default = `None`)
        See `Halting`.
    """

    looks_at_changes = False

    def __init__(self, threshold: float, max_steps: int | None = None) -> None:
        super().__init__(max_steps)
        self.threshold = check_probability("threshold", threshold)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        return progress.confidence >= self.threshold
