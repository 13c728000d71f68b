"""Sketches of sentences that do different numbers of steps, as a function of the sketches decides."""

from typing import Callable, Tuple

import torch

from allennlp_nef.nn.numerics import full_precision
from allennlp_nef.nn.sketching.fused import RECURSIONS
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention

Halts = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""The sketches after a step (sentences, tokens, sketch_dim) and the positions of these sentences in the batch
(sentences,) -> which of them do no further step (sentences,), bool. It is called for the steps in turn."""


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
) -> Tuple[torch.Tensor, torch.Tensor]:
    """`fused_sketches` without gradients, in which a sentence leaves the batch when it halts.

    # Returns

    `Tuple[torch.Tensor, torch.Tensor]`
        - The sketches after the last step of each sentence: (batch, tokens, sketch_dim).
        - The number of steps of each sentence, at most `num_steps`: (batch,).
    """
    sketch_dim = sketch_weight.size(0) - attention_vector.size(0)
    sketches = preactivation.new_zeros(*mask.shape, sketch_dim)
    done_steps = torch.zeros_like(num_steps)
    rows = num_steps.nonzero().squeeze(1)
    if not len(rows):
        return sketches, done_steps
    count = int(num_steps.max())
    inputs = preactivation[rows], sketch_weight, attention_vector
    steps = [count] * len(rows)
    recursion = RECURSIONS[sketch_update](*inputs, make_attention, mask[rows], steps, context_size)
    with full_precision(mask.device):
        recursion.start()
        for step in range(count):
            recursion.forward_step(step, len(rows), False)
            current = recursion.sketches_after(step, len(rows))
            is_done = halts(current, rows) | (num_steps[rows] == step + 1)
            kept = (~is_done).nonzero().squeeze(1)
            if len(kept) == len(rows):
                continue
            leaving = rows[is_done]
            sketches[leaving], done_steps[leaving] = current[is_done], step + 1
            rows = rows[kept]
            if not len(rows):
                break
            recursion.keep(kept)
    return sketches, done_steps


def halt_in_history(
    history: torch.Tensor, num_steps: torch.Tensor, halts: Halts
) -> Tuple[torch.Tensor, torch.Tensor]:
    """What `halted_sketches` returns, from the sketches of all steps (batch, steps, tokens, sketch_dim)."""
    done_steps = num_steps.clone()
    rows = num_steps.nonzero().squeeze(1)
    for step in range(history.size(1)):
        rows = rows[num_steps[rows] > step]
        is_done = halts(history[rows, step].detach(), rows)
        done_steps[rows[is_done]] = step + 1
        rows = rows[~is_done]
    if not history.size(1):
        return history.sum(1), done_steps
    last = (done_steps - 1).clamp(min=0)
    return history[torch.arange(len(last), device=last.device), last], done_steps
