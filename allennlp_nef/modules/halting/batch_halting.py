from collections.abc import Sequence

import torch

from allennlp_nef.modules.halting.fixed import FixedHalting
from allennlp_nef.modules.halting.halting import MAX_STEPS, Halting
from allennlp_nef.modules.halting.progress import ProgressTracker


class BatchHalting:
    """The haltings of the sentences of one batch, and what they have to know of the steps so far.

    # Parameters

    haltings : `Sequence[Halting | None]`
        One a sentence; None for all steps.
    max_steps : `Sequence[int | None]`
        One a sentence; None for that of its halting.
    mask : `torch.BoolTensor`, (batch, tokens)
    """

    def __init__(
        self,
        haltings: Sequence[Halting | None],
        max_steps: Sequence[int | None],
        mask: torch.Tensor,
    ) -> None:
        self.is_limited = [
            halting is not None or limit is not None for halting, limit in zip(haltings, max_steps)
        ]
        """Which sentences have a halting or a maximum of their own."""
        chosen = [FixedHalting() if halting is None else halting for halting in haltings]
        self._limits = [
            halting.max_steps if limit is None else limit
            for halting, limit in zip(chosen, max_steps)
        ]
        self._distinct: list[Halting] = []
        for halting in chosen:
            if halting not in self._distinct:
                self._distinct.append(halting)
        numbers = [self._distinct.index(halting) for halting in chosen]
        self._numbers = torch.tensor(numbers, device=mask.device)
        self.looks_at_tags = any(halting.looks_at_tags for halting in self._distinct)
        """Whether `after` has to be called after each step."""
        self.is_learned = any(halting.is_learned for halting in self._distinct)
        """Whether `after` needs the logits."""
        counts_changes = any(halting.looks_at_changes for halting in self._distinct)
        self._tracker = ProgressTracker(mask, counts_changes)

    def limit(self, num_steps: torch.Tensor) -> torch.Tensor:
        """The steps of each sentence, (batch,), at most as many as its halting allows."""
        if all(each is None for each in self._limits):
            return num_steps
        limits = [MAX_STEPS if each is None else min(each, MAX_STEPS) for each in self._limits]
        return num_steps.minimum(num_steps.new_tensor(limits))

    def after(self, scores: torch.Tensor, logits: torch.Tensor | None = None) -> torch.Tensor:
        """Which sentences halt after a step, (sentences,), bool. See `ProgressTracker.after`."""
        progress = self._tracker.after(scores, logits)
        first, *others = self._distinct
        halts = first.halts(progress)
        for number, halting in enumerate(others, 1):
            halts = torch.where(self._numbers == number, halting.halts(progress), halts)
        return halts

    def keep(self, rows: torch.Tensor) -> None:
        """Leaves the other sentences out of all further steps."""
        self._tracker.keep(rows)
        self._numbers = self._numbers[rows]
