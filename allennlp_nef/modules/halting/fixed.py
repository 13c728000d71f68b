import torch
from overrides import overrides

from allennlp_nef.modules.halting.halting import Halting
from allennlp_nef.modules.halting.progress import Progress


@Halting.register("fixed")
class FixedHalting(Halting):
    """Every sentence does `max_steps` steps, or as many as the decoder has if that is less.

    Registered as a `Halting` with name "fixed".

    # Parameters

    max_steps : `int`, optional (default = `None`)
        At least 1. None: as many as the decoder has, for a request that does not want the halting of the archive.
    """

    looks_at_tags = looks_at_changes = False

    def __init__(self, max_steps: int | None = None) -> None:
        super().__init__(max_steps)

    @overrides
    def halts(self, progress: Progress) -> torch.Tensor:
        return torch.zeros_like(progress.unchanged, dtype=torch.bool)
