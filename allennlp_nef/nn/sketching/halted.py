"""Sketches of sentences that do different numbers of steps, as a function of the sketches decides."""

from typing import Protocol

import torch

from allennlp_nef.nn.numerics import full_precision
from allennlp_nef.nn.sketching.fused import RECURSIONS
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention

MAX_LEFT_SHARE = 0.75
"""The largest share of sentences with further steps at which leaving out the others saves time."""


class Halts(Protocol):
    """Decides which sentences do no further step."""

    def after(self, sketches: torch.Tensor) -> torch.Tensor:
        """The sketches after a step (sentences, tokens, sketch_dim) -> which sentences halt: (sentences,), bool.

        It is called once for each step. What it says of a sentence that has halted does not matter.
        """

    def keep(self, rows: torch.Tensor) -> None:
        """Leaves the other sentences out of all further steps; `rows` are positions among those of the last step."""


@torch.no_grad()
def halted_sketches(
    sketch_update: str,
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    make_attention: MakeAttention,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
    halts: Halts,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`fused_sketches` without gradients, in which a sentence leaves the batch when it halts.

    # Returns

    `tuple[torch.Tensor, torch.Tensor]`
        - The sketches after the last step of each sentence: (batch, tokens, sketch_dim).
        - The number of steps of each sentence, at most `num_steps`: (batch,).
    """
    sketch_dim = sketch_weight.size(0) - attention_vector.size(0)
    sketches = preactivation.new_zeros(*mask.shape, sketch_dim)
    done_steps = torch.zeros_like(num_steps)
    rows, limits = num_steps.nonzero().squeeze(1), num_steps
    if not len(rows):
        return sketches, done_steps
    if len(rows) < len(mask):
        halts.keep(rows)
        preactivation, mask, limits = preactivation[rows], mask[rows], limits[rows]
    is_active = torch.ones_like(rows, dtype=torch.bool)
    left, first_end, count = len(rows), int(limits.min()), int(limits.max())
    inputs = preactivation, sketch_weight, attention_vector
    recursion = RECURSIONS[sketch_update](
        *inputs, make_attention, mask, [count] * left, context_size
    )
    with full_precision(mask.device):
        recursion.start()
        for step in range(count):
            recursion.forward_step(step, len(rows), False)
            current = recursion.sketches_after(step, len(rows))
            is_leaving = halts.after(current) & is_active
            is_end = step + 1 == first_end
            if is_end:
                is_leaving |= is_active & (limits == first_end)
            leaving = is_leaving.nonzero().squeeze(1)
            if len(leaving) == len(sketches):
                return current, torch.full_like(done_steps, step + 1)
            if len(leaving):
                done = rows[leaving]
                sketches[done], done_steps[done] = current[leaving], step + 1
                is_active &= ~is_leaving
                left -= len(leaving)
            if not left:
                break
            # No sentence does more steps than its own number, not even one that has halted.
            if is_end or left <= MAX_LEFT_SHARE * len(rows):
                kept = is_active.nonzero().squeeze(1)
                rows, limits, is_active = rows[kept], limits[kept], is_active[kept]
                first_end = int(limits.min())
                recursion.keep(kept)
                halts.keep(kept)
    return sketches, done_steps


def halt_in_history(
    history: torch.Tensor, num_steps: torch.Tensor, halts: Halts
) -> tuple[torch.Tensor, torch.Tensor]:
    """What `halted_sketches` returns, from the sketches of all steps (batch, steps, tokens, sketch_dim)."""
    done_steps = num_steps.clone()
    if not history.size(1):
        return history.sum(1), done_steps
    is_active = num_steps > 0
    for step in range(history.size(1)):
        is_active = is_active & (num_steps > step)
        is_leaving = halts.after(history[:, step].detach()) & is_active
        done_steps[is_leaving] = step + 1
        is_active = is_active & ~is_leaving
    last = (done_steps - 1).clamp(min=0)
    return history[torch.arange(len(last), device=last.device), last], done_steps
