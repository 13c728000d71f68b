from collections.abc import Callable

import torch

from allennlp_nef.modules.halting.batch_halting import BatchHalting
from allennlp_nef.modules.learned_halting import LearnedHaltingHead


class TagHalts:
    """`Halts` of a recursion over sketches, by the scores of the tags.

    # Parameters

    halting : `BatchHalting`
    tag_scorer : `Callable[[torch.Tensor], torch.Tensor]`
        Output of the encoder (sentences, tokens, output_dim) -> scores of tags (sentences, tokens, tags).
    inputs : `torch.Tensor`, (batch, tokens, input_dim), optional
        What the output has before the sketches.
    sketch_dim : `int`
    mask : `torch.BoolTensor`, (batch, tokens)
    learned : `LearnedHaltingHead`, optional (default = `None`)
    """

    def __init__(
        self,
        halting: BatchHalting,
        tag_scorer: Callable[[torch.Tensor], torch.Tensor],
        inputs: torch.Tensor | None,
        sketch_dim: int,
        mask: torch.Tensor,
        learned: LearnedHaltingHead | None = None,
    ) -> None:
        self._halting, self._tag_scorer = halting, tag_scorer
        self._mask, self._learned = mask, learned if halting.is_learned else None
        self._states: torch.Tensor | None = None  # the output: only its sketches change
        if inputs is not None:
            room = inputs.new_empty(*inputs.shape[:2], sketch_dim)
            self._states = torch.cat([inputs.detach(), room], -1)

    @torch.no_grad()
    def after(self, sketches: torch.Tensor) -> torch.Tensor:
        logits = None if self._learned is None else self._learned(sketches, self._mask)
        if self._states is not None:
            self._states[..., -sketches.size(-1) :] = sketches
            sketches = self._states
        return self._halting.after(self._tag_scorer(sketches), logits)

    def keep(self, rows: torch.Tensor) -> None:
        self._states = None if self._states is None else self._states[rows]
        self._mask = self._mask[rows]
        self._halting.keep(rows)
