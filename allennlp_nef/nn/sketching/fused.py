"""The sketch recursion with a hand-written backward pass, for training and for inference without a trace.

The mathematics are those of `reference`, the plain form to read and to test against (Martins & Kreutzer, EMNLP 2017,
Algorithm 2). The differences:

- Autograd sees one function. The gradients that all steps add to (those of W_s, v and the pre-activations) are summed
  in place, and buffers are used again.
- Gradient checkpointing: of a long recursion only every k-th state is cached, and the steps between are computed again
  in the backward pass. Memory grows with the square root of the number of steps.
- Sentences are sorted by their number of steps. A sentence leaves the batch when it has done its steps.

Let a = p + W_s * s^(n-1) be the pre-activations of step n, of which a_z are the attention's columns and a_s the
sketch's. The forward pass of a step is

    z_i = v . tanh(a_z,i)                                                (Eq. 2)
    alpha = rho(z, beta)                                                 (Eq. 3)
    NEF-F: t_i = tanh(a_s,i)           NEF-S: t = tanh(sum_i alpha_i a_s,i)
    s_i^n = s_i^(n-1) + alpha_i t_i                                      (Eqs. 4 and 7)

Its backward pass takes the gradient of the sketches s^n, g, through six equations. Comments name them where they are
computed. `*` is the product of equal places, sums over i are over the words of a sentence, and c_i is the window of
s^(n-1) around word i.

    (B1)  grad_alpha_i = g_i . t_i                   NEF-S adds grad_average . a_s,i, where
                                                     grad_average = (1 - t^2) * sum_i alpha_i g_i
    (B2)  grad_z       = the backward pass of rho at grad_alpha
    (B3)  grad_a_s,i   = alpha_i g_i * (1 - t_i^2)   NEF-S: alpha_i grad_average
    (B4)  grad_a_z,i   = grad_z_i v * (1 - tanh(a_z,i)^2),  grad_v += sum_i grad_z_i tanh(a_z,i)
    (B5)  grad_p_i    += grad_a_i,  grad_W_s += sum_i grad_a_i c_i^T
    (B6)  the gradient of s^(n-1) is g plus, at each place of the window of word i, its part of W_s^T grad_a_i

NEF-S carries a instead of s from step to step; `fused_single` says how (B5) and (B6) look then.
"""

from typing import Any

import torch

from allennlp_nef.nn.numerics import differentiable_once, full_precision
from allennlp_nef.nn.sketching.fused_recursion import (
    FusedFullRecursion,
    FusedRecursion,
    FusedSingleRecursion,
)
from allennlp_nef.nn.sketching.stepwise_attention import MakeAttention

RECURSIONS: dict[str, type[FusedRecursion]] = {
    "full": FusedFullRecursion,
    "single": FusedSingleRecursion,
}


def fused_sketches(
    sketch_update: str,
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    make_attention: MakeAttention,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
) -> torch.Tensor:
    """`sketch_full` or `sketch_single` of `reference` without a trace, differentiable once.

    # Parameters

    sketch_update : `str`
        "full" or "single".
    preactivation, sketch_weight, attention_vector, mask, num_steps, context_size
        As in `reference.sketch_full`.
    make_attention : `MakeAttention`

    # Returns

    `torch.Tensor`, (batch, tokens, sketch_dim): the sketches s^N.
    """
    inputs = preactivation, sketch_weight, attention_vector
    (sketches,) = _run(sketch_update, inputs, make_attention, mask, num_steps, context_size, False)
    return sketches


def fused_history(
    sketch_update: str,
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    make_attention: MakeAttention,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The sketches after the last step and after each step, differentiable once. Parameters: see `fused_sketches`.

    # Returns

    `tuple[torch.Tensor, torch.Tensor]`
        - s^N: (batch, tokens, sketch_dim).
        - s^1 to s^N: (batch, steps, tokens, sketch_dim); 0 after the last step of a sentence.
    """
    inputs = preactivation, sketch_weight, attention_vector
    sketches, history = _run(
        sketch_update, inputs, make_attention, mask, num_steps, context_size, True
    )
    return sketches, history


def _run(
    sketch_update: str,
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    make_attention: MakeAttention,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
    keep_history: bool,
) -> tuple[torch.Tensor, ...]:
    """The sketches, and with `keep_history` those after each step."""
    preactivation, sketch_weight, attention_vector = inputs
    steps = num_steps.tolist()
    order: torch.Tensor | None = None
    if any(later > earlier for earlier, later in zip(steps, steps[1:])):
        order = num_steps.argsort(descending=True)
        steps = num_steps[order].tolist()
        preactivation, mask = preactivation[order], mask[order]
    inputs = preactivation, sketch_weight, attention_vector
    kind = RECURSIONS[sketch_update]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs):
        rest = make_attention, mask, steps, context_size, keep_history
        results = _FusedSketches.apply(*inputs, kind, *rest)
    else:
        recursion = kind(*inputs, make_attention, mask, steps, context_size)
        with full_precision(mask.device):
            results = _results(recursion, False, keep_history)
    if order is None:
        return results
    original = order.argsort()
    return tuple(each[original] for each in results)


def _results(
    recursion: FusedRecursion, use_cache: bool, keep_history: bool
) -> tuple[torch.Tensor, ...]:
    sketches = recursion.forward(use_cache, keep_history)
    history, recursion.history = recursion.history, None
    return (sketches,) if history is None else (sketches, history)


class _FusedSketches(torch.autograd.Function):
    """Runs a `FusedRecursion`, forward and then backward."""

    @staticmethod
    def forward(
        ctx: Any,
        preactivation: torch.Tensor,
        sketch_weight: torch.Tensor,
        attention_vector: torch.Tensor,
        kind: type[FusedRecursion],
        make_attention: MakeAttention,
        mask: torch.Tensor,
        steps: list[int],
        context_size: int,
        keep_history: bool,
    ) -> tuple[torch.Tensor, ...]:
        inputs = preactivation, sketch_weight, attention_vector
        ctx.recursion = kind(*inputs, make_attention, mask, steps, context_size)
        ctx.save_for_backward(*inputs, mask)
        with full_precision(mask.device):
            return _results(ctx.recursion, True, keep_history)

    @staticmethod
    @differentiable_once("neural_easy_first")
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        *inputs, mask = ctx.saved_tensors  # raises an error if one of them was changed since
        with full_precision(mask.device):
            gradients = ctx.recursion.backward(*grads)
        converted = (g.to(x.dtype) for g, x in zip(gradients, inputs))
        return (*converted, *[None] * 6)
