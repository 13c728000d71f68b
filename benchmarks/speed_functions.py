"""Parts 3 and 4 of `speed.py`: csoftmax against sparsemax and softmax, and the CRF against AllenNLP's."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import entmax
import torch
from allennlp.data import Vocabulary
from allennlp.modules import ConditionalRandomField
from speed_harness import Case, Row, Settings, Target, compare, without_kernels

from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction, constrained_softmax

SHAPES = ((32, 25), (32, 100), (256, 50), (8, 1000))
# The fraction of the L steps of a recursion that are finished.
MOMENTS = (("fresh", 0.0), ("half-way", 0.5), ("late", 0.9))
CSOFTMAX_TARGET = Target(1.0, 0.7)

CRF_SIZES = (9, 45, 425)
SENTENCES, TOKENS = 32, 25
CRF_PARAMETERS = ("transitions", "start_transitions", "end_transitions")
VITERBI_TARGET = Target(0.12, 0.1)

csoftmax = ConstrainedSoftmaxFunction.apply
sparsemax = partial(entmax.sparsemax, dim=-1)
softmax = partial(torch.softmax, dim=-1)


def bounds_after(steps: int, shape: Sequence[int], device: torch.device) -> torch.Tensor:
    """The upper bounds after a number of steps of csoftmax over standard normal scores."""
    coverage = torch.zeros(shape, device=device)
    for _ in range(steps):
        bounds = (1 - coverage).clamp(min=0)
        coverage = coverage + csoftmax(torch.randn(shape, device=device), bounds)
    return (1 - coverage).clamp(min=0)


def forward_backward(
    function: Callable[..., torch.Tensor],
    inputs: Sequence[torch.Tensor],
    grad: torch.Tensor | None = None,
    parameters: Sequence[torch.Tensor] = (),
) -> tuple[torch.Tensor, ...]:
    """Forward and backward pass; the gradients of the inputs and the parameters."""
    return torch.autograd.grad(function(*inputs), [*inputs, *parameters], grad)


def attention(settings: Settings) -> list[Case]:
    """Part 3: forward and backward pass.

    Scores are standard normal. csoftmax also computes the gradients of its bounds, which the recursion needs. "checked"
    is the public function, which checks the bounds first.
    """

    def case(shape: tuple[int, int], moment: str, share: float) -> list[Row]:
        torch.manual_seed(0)
        bounds = bounds_after(settings.rounds(int(share * shape[1])), shape, settings.device)
        dtype = torch.bfloat16 if settings.low_precision else torch.float32
        scores, bounds, grad = (
            tensor.to(settings.device, dtype)
            for tensor in (torch.randn(shape), bounds, torch.randn(shape))
        )
        bounded = [scores.requires_grad_(), bounds.requires_grad_()]
        size = f"{shape[0]}x{shape[1]}, {moment}"
        run = partial(forward_backward, csoftmax, bounded, grad)
        checked = partial(forward_backward, constrained_softmax, bounded, grad)
        over_sparsemax, over_softmax = (
            partial(forward_backward, function, [scores], grad) for function in (sparsemax, softmax)
        )
        rows = [
            ("csoftmax", run, "sparsemax", over_sparsemax, CSOFTMAX_TARGET),
            ("csoftmax", run, "softmax", over_softmax, None),
            ("checked csoftmax", checked, "sparsemax", over_sparsemax, None),
        ]
        if settings.has_kernels:
            title = "csoftmax without kernels"
            rows.append((title, without_kernels(run), "sparsemax", over_sparsemax, None))
        return [
            compare(settings, f"{title} {size}", name, ours, theirs, target)
            for title, ours, name, theirs, target in rows
        ]

    return [partial(case, shape, *moment) for shape in SHAPES for moment in MOMENTS]


def crf_pair(tags: int) -> tuple[CrfTagHead, ConditionalRandomField]:
    """Our CRF and AllenNLP's, with the same parameters."""
    vocab = Vocabulary()
    for tag in range(tags):
        vocab.add_token_to_namespace(str(tag), "labels")
    theirs = ConditionalRandomField(tags)
    ours = CrfTagHead(input_dim=1, vocab=vocab)
    for name in CRF_PARAMETERS:
        getattr(ours.chain, name).data.copy_(getattr(theirs, name).data)
    return ours, theirs


def crf_functions(
    ours: CrfTagHead, theirs: ConditionalRandomField, scores: torch.Tensor, tags: torch.Tensor
) -> list[tuple[Any, ...]]:
    """For each comparison: title, name of the baseline, our function, its function, and the target."""
    mask: Any = torch.ones_like(tags, dtype=torch.bool)

    def parameters(chain: torch.nn.Module) -> list[torch.Tensor]:
        return [getattr(chain, name) for name in CRF_PARAMETERS]

    def their_log_partition(scores: torch.Tensor) -> torch.Tensor:
        return theirs._input_likelihood(scores, theirs.transitions, mask).sum()

    return [
        (
            "CRF likelihood and its gradient",
            "AllenNLP's",
            partial(
                forward_backward,
                lambda scores: ours.loss(scores, mask, tags),
                [scores],
                parameters=parameters(ours.chain),
            ),
            partial(
                forward_backward,
                lambda scores: -theirs(scores, tags, mask) / len(mask),
                [scores],
                parameters=parameters(theirs),
            ),
            None,
        ),
        (
            "CRF Viterbi",
            "AllenNLP's",
            torch.no_grad()(partial(ours.decode, scores, mask)),
            partial(theirs.viterbi_tags, scores, mask),
            VITERBI_TARGET,
        ),
        (
            "CRF marginals",
            "gradient of AllenNLP's log-partition",
            torch.no_grad()(partial(ours.probabilities, scores, mask)),
            partial(forward_backward, their_log_partition, [scores]),
            None,
        ),
    ]


def chain(settings: Settings) -> list[Case]:
    """Part 4: 32 sentences of 25 tokens. AllenNLP has no marginals; the gradient of its log-partition gives them."""

    def case(size: int) -> list[Row]:
        torch.manual_seed(0)
        ours, theirs = crf_pair(size)
        scores = torch.randn(SENTENCES, TOKENS, size, requires_grad=True)
        tags = torch.randint(size, (SENTENCES, TOKENS))
        rows = []
        for what, name, run, baseline, target in crf_functions(ours, theirs, scores, tags):
            rows.append(compare(settings, f"{what}, {size} tags", name, run, baseline, target))
            if settings.has_kernels:
                title = f"{what} without kernels, {size} tags"
                rows.append(compare(settings, title, name, without_kernels(run), baseline))
        return rows

    return [partial(case, size) for size in (CRF_SIZES[:2] if settings.quick else CRF_SIZES)]
