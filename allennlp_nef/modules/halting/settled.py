import torch
from overrides import overrides

from allennlp_nef.modules.checks import check_integers
from allennlp_nef.modules.halting.halting import MAX_STEPS, Halting, check_probability
from allennlp_nef.modules.halting.progress import Progress


@Halting.register("settled")
class SettledHalting(Halting):
    """A sentence halts once no tag has changed for some steps, and the probability of each is at least a threshold.

    Registered as a `Halting` with name "settled".

    # Parameters

    steps : `int`, optional (default = `1`)
        At least 1: for how many steps in turn no tag has changed.
    threshold : `float`, optional (default = `0.0`)
        From 0 to 1. `allennlp-nef calibrate --halting settled` finds one.
    max_steps : `int`, optional (default = `None`)
        See `Halting`.
    """

    def __init__(
        self, steps: int = 1, threshold: float = 0.0, max_steps: int | None = None
    ) -> None:
        super().__init__(max_steps)
        check_integers(steps=steps)
        self.steps = steps
        self.threshold = check_probability("threshold", threshold)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        is_settled = progress.unchanged >= min(self.steps, MAX_STEPS)
        return is_settled & (progress.confidence >= self.threshold)
