import torch
from overrides import overrides

from allennlp_nef.modules.halting.halting import Halting, check_probability
from allennlp_nef.modules.halting.progress import Progress


@Halting.register("learned")
class LearnedHalting(Halting):
    """A sentence halts once the probability that it has halted, as the decoder has learned it, is at least a threshold.

    Banino, Balaguer and Blundell, "PonderNet: Learning to Ponder" (2021). The decoder has to be trained with the
    option `halting_rate` of `neural_easy_first`. Registered as a `Halting` with name "learned".

    # Parameters

    threshold : `float`, optional (default = `0.5`)
        From 0 to 1. `allennlp-nef calibrate --halting learned` finds one.
    max_steps : `int`, optional (default = `None`)
        See `Halting`.
    """

    looks_at_changes = False
    is_learned = True

    def __init__(self, threshold: float = 0.5, max_steps: int | None = None) -> None:
        super().__init__(max_steps)
        self.threshold = check_probability("threshold", threshold)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        return progress.halted >= self.threshold
