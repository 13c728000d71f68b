"""The sketch recursion with a backward pass of its own, for training and for inference without a trace.

The same mathematics as `sketching`, which is the plain form to read and to test against (Martins & Kreutzer, EMNLP
2017, Algorithm 2). What is different:

- Autograd sees one function. Gradients that all steps add to (of W_s, v and the pre-activations) are summed in place,
  and buffers are used again.
- Of long recursions only every k-th state is kept, and the steps between are computed again: memory grows with the
  square root of the steps.
- Sentences are sorted by their steps, so that those that are done leave the batch.
"""

from typing import Any, Dict, List, Optional, Tuple, Type

import torch
from torch.autograd.function import once_differentiable

from allennlp_nef.nn.full_precision import full_precision
from allennlp_nef.nn.recomputed_full import FullRecursion
from allennlp_nef.nn.recomputed_recursion import MakeAttention, Recursion
from allennlp_nef.nn.recomputed_single import SingleRecursion

FORMS: Dict[str, Type[Recursion]] = {"full": FullRecursion, "single": SingleRecursion}


def recompute_sketches(
    sketch_update: str,
    preactivation: torch.Tensor,
    sketch_weight: torch.Tensor,
    attention_vector: torch.Tensor,
    make_attention: MakeAttention,
    mask: torch.Tensor,
    num_steps: torch.Tensor,
    context_size: int,
) -> torch.Tensor:
    """`sketch_full` or `sketch_single` of `sketching` without a trace, differentiable once.

    # Parameters

    sketch_update : `str`
        "full" or "single".
    preactivation, sketch_weight, attention_vector, mask, num_steps, context_size
        As in `sketching.sketch_full`.
    make_attention : `MakeAttention`

    # Returns

    `torch.Tensor`, (batch, tokens, sketch_dim): the sketches s^N.
    """
    steps = num_steps.tolist()
    order: Optional[torch.Tensor] = None
    if any(later > earlier for earlier, later in zip(steps, steps[1:])):
        order = num_steps.argsort(descending=True)
        steps = num_steps[order].tolist()
        preactivation, mask = preactivation[order], mask[order]
    inputs = preactivation, sketch_weight, attention_vector
    form = FORMS[sketch_update]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in inputs):
        sketches = _Recomputed.apply(*inputs, form, make_attention, mask, steps, context_size)
    else:
        run = form(*inputs, make_attention, mask, steps, context_size)
        with full_precision(mask.device):
            sketches = run.forward(keep=False)
    return sketches if order is None else sketches[order.argsort()]


class _Recomputed(torch.autograd.Function):
    """Runs a `Recursion`, forward and then backward."""

    @staticmethod
    def forward(
        ctx: Any,
        preactivation: torch.Tensor,
        sketch_weight: torch.Tensor,
        attention_vector: torch.Tensor,
        form: Type[Recursion],
        make_attention: MakeAttention,
        mask: torch.Tensor,
        steps: List[int],
        context_size: int,
    ) -> torch.Tensor:
        inputs = preactivation, sketch_weight, attention_vector
        ctx.run = form(*inputs, make_attention, mask, steps, context_size)
        ctx.save_for_backward(*inputs, mask)
        with full_precision(mask.device):
            return ctx.run.forward(keep=True)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        *inputs, mask = ctx.saved_tensors  # complains if one of them was changed since
        with full_precision(mask.device):
            gradients = ctx.run.backward(grad)
        return (*(g.to(x.dtype) for g, x in zip(gradients, inputs)), None, None, None, None, None)
