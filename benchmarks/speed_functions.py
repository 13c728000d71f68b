"""Parts 3, 4 and 9 of `speed.py`, and the additive scores of part 7: single functions beside other forms of them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import entmax
import numpy
import torch
from allennlp.data import Vocabulary
from allennlp.modules import ConditionalRandomField
from timing import (
    Case,
    Row,
    Settings,
    Target,
    compare,
    exponent_row,
    in_new_processes,
    peak_above,
    rounds_of,
)

from allennlp_nef.modules.tag_heads import CrfTagHead
from allennlp_nef.modules.tree_encoders import BinaryTreeLstm, ChildSumTreeLstm, TreeEncoder
from allennlp_nef.nn.additive_scores import additive_scores
from allennlp_nef.nn.constrained_softmax import ConstrainedSoftmaxFunction, constrained_softmax
from allennlp_nef.nn.tree_levels import TreeLevel

SHAPES = ((32, 25), (32, 100), (256, 50), (8, 1000))
MOMENTS = (("fresh", 0.0), ("half-way", 0.5), ("late", 0.9))
"""The fraction of the L steps of a recursion that are finished."""

csoftmax = ConstrainedSoftmaxFunction.apply
sparsemax = partial(entmax.sparsemax, dim=-1)
softmax = partial(torch.softmax, dim=-1)


def forward_backward(
    function: Callable[..., torch.Tensor],
    inputs: Sequence[torch.Tensor],
    grad: torch.Tensor | None = None,
    parameters: Sequence[torch.Tensor] = (),
) -> tuple[torch.Tensor, ...]:
    """Forward and backward pass; the gradients of the inputs and the parameters."""
    return torch.autograd.grad(function(*inputs), [*inputs, *parameters], grad)


def bounds_after(steps: int, shape: Sequence[int], device: torch.device) -> torch.Tensor:
    """The upper bounds after a number of steps of csoftmax over standard normal scores."""
    coverage = torch.zeros(shape, device=device)
    for _ in range(steps):
        bounds = (1 - coverage).clamp(min=0)
        coverage = coverage + csoftmax(torch.randn(shape, device=device), bounds)
    return (1 - coverage).clamp(min=0)


def attention(settings: Settings) -> list[Case]:
    """Part 3: forward and backward pass of csoftmax.

    Scores are standard normal. csoftmax also computes the gradients of its bounds, which the recursion needs. "checked"
    is the public function, which checks the bounds first.
    """

    def case(shape: tuple[int, int], moment: str, share: float) -> list[Row]:
        torch.manual_seed(0)
        bounds = bounds_after(settings.rounds(int(share * shape[1])), shape, settings.device)
        dtype = torch.bfloat16 if settings.low_precision else torch.float32
        tensors = (torch.randn(shape), bounds, torch.randn(shape))
        scores, bounds, grad = (tensor.to(settings.device, dtype) for tensor in tensors)
        bounded = [scores.requires_grad_(), bounds.requires_grad_()]
        run = partial(forward_backward, csoftmax, bounded, grad)
        checked = partial(forward_backward, constrained_softmax, bounded, grad)
        over_sparsemax, over_softmax = (
            partial(forward_backward, function, [scores], grad) for function in (sparsemax, softmax)
        )
        rows = [
            ("csoftmax", run, "sparsemax", over_sparsemax, Target(1.0, 0.7)),
            ("csoftmax", run, "softmax", over_softmax, None),
            ("checked csoftmax", checked, "sparsemax", over_sparsemax, None),
        ]
        size = f"{shape[0]}x{shape[1]}, {moment}"
        return [
            compare(settings, f"{title} {size}", name, ours, theirs, target)
            for title, ours, name, theirs, target in rows
        ]

    return [partial(case, shape, *moment) for shape in SHAPES for moment in MOMENTS]


CRF_SIZES = (9, 45, 425)
CRF_PARAMETERS = ("transitions", "start_transitions", "end_transitions")


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
    """For each comparison: title, name of the baseline, our function, its function, and the target.

    AllenNLP has no marginals; the gradient of its log-partition gives them.
    """
    mask: Any = torch.ones_like(tags, dtype=torch.bool)
    own, other = (
        [getattr(chain, name) for name in CRF_PARAMETERS] for chain in (ours.chain, theirs)
    )

    def our_loss(scores: torch.Tensor) -> torch.Tensor:
        return ours.loss(scores, mask, tags)

    def their_loss(scores: torch.Tensor) -> torch.Tensor:
        return -theirs(scores, tags, mask) / len(mask)

    def their_log_partition(scores: torch.Tensor) -> torch.Tensor:
        return theirs._input_likelihood(scores, theirs.transitions, mask).sum()

    likelihood = partial(forward_backward, our_loss, [scores], parameters=own)
    their_likelihood = partial(forward_backward, their_loss, [scores], parameters=other)
    viterbi = torch.no_grad()(partial(ours.decode, scores, mask))
    their_viterbi = partial(theirs.viterbi_tags, scores, mask)
    marginals = torch.no_grad()(partial(ours.probabilities, scores, mask))
    their_marginals = partial(forward_backward, their_log_partition, [scores])
    gradient = "gradient of AllenNLP's log-partition"
    return [
        ("CRF likelihood and its gradient", "AllenNLP's", likelihood, their_likelihood, None),
        ("CRF Viterbi", "AllenNLP's", viterbi, their_viterbi, Target(0.12, 0.1)),
        ("CRF marginals", gradient, marginals, their_marginals, None),
    ]


def chain(settings: Settings) -> list[Case]:
    """Part 4: 32 sentences of 25 tokens."""

    def case(size: int) -> list[Row]:
        torch.manual_seed(0)
        ours, theirs = crf_pair(size)
        scores = torch.randn(32, 25, size, requires_grad=True)
        tags = torch.randint(size, (32, 25))
        rows = []
        for what, name, run, baseline, target in crf_functions(ours, theirs, scores, tags):
            rows.append(compare(settings, f"{what}, {size} tags", name, run, baseline, target))
        return rows

    return [partial(case, size) for size in (CRF_SIZES[:2] if settings.quick else CRF_SIZES)]


def additive(settings: Settings) -> list[Case]:
    """Additive scores: time for the shapes of the two layers of `pos_psa`, and the peak memory of one long sentence."""

    def time_case(shape: tuple[int, int, int]) -> list[Row]:
        inputs = additive_inputs(settings, *shape)
        ours, theirs = (
            partial(additive_step, function, inputs) for function in (additive_scores, plain_scores)
        )
        what = f"additive scores {'x'.join(map(str, shape))}, forward and backward"
        return [compare(settings, what, "a tanh a pair", ours, theirs)]

    def memory_case() -> list[Row]:
        tokens = 100 if settings.quick else 1000
        values = in_new_processes(additive_memory, [(settings, tokens)] * settings.rounds(3))
        what = f"peak memory of additive scores, {tokens:,} words of 600 numbers"
        return [Row(what, "", values, unit="MB")]

    return [*(partial(time_case, (10, 25, dim)) for dim in (200, 300)), memory_case]


def additive_inputs(settings: Settings, batch: int, tokens: int, dim: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shapes = (batch, tokens, dim), (batch, tokens, dim), (dim,)
    return [torch.randn(shape, device=settings.device, requires_grad=True) for shape in shapes]


def plain_scores(queries: torch.Tensor, keys: torch.Tensor, vector: torch.Tensor) -> torch.Tensor:
    """The formula for all pairs of words in one tensor."""
    return torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector


def additive_step(function: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> None:
    """Forward and backward pass."""
    for tensor in inputs:
        tensor.grad = None
    function(*inputs).sum().backward()


def additive_memory(settings: Settings, tokens: int) -> float:
    """The peak memory of a step minus that of its inputs, in MB. Call it in a new process."""
    torch.set_num_threads(settings.threads)
    additive_step(additive_scores, additive_inputs(settings, 1, 2, 600))
    inputs = additive_inputs(settings, 1, tokens, 600)
    return peak_above(partial(additive_step, additive_scores, inputs))


TREE_DIM = 100
TREE_LENGTHS = (16, 32, 64, 128, 256, 512)
TREES = {"child-sum Tree-LSTM": ChildSumTreeLstm, "binary Tree-LSTM": BinaryTreeLstm}


def random_heads(kind: type, length: int, draw: numpy.random.Generator) -> list[int]:
    """The heads of a random tree of so many words, from 1, with 0 for the root."""
    if kind is ChildSumTreeLstm:
        order = draw.permutation(length)
        heads = [0] * length
        for place in range(1, length):
            heads[order[place]] = int(order[draw.integers(place)]) + 1
        return heads
    heads, parts = [0] * (2 * length - 1), list(range(length))
    for node in range(length, 2 * length - 1):
        first = int(draw.integers(len(parts) - 1))
        for child in parts[first : first + 2]:
            heads[child] = node + 1
        parts[first : first + 2] = [node]
    return heads


def node_by_node(module: TreeEncoder, inputs: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
    """The sum of the states of the roots, by the recursion as the paper writes it."""
    nothing = inputs.new_zeros(0, module.get_output_dim())

    def state(node: int, gates: torch.Tensor, children: Any) -> tuple[torch.Tensor, torch.Tensor]:
        below = [state(child, gates, children) for child in children[node]]
        states, memories = map(torch.cat, zip(*below)) if below else [nothing] * 2
        number = torch.arange(len(below))
        level = TreeLevel(torch.tensor([node]), number, torch.zeros_like(number), number)
        return module.cell(gates[node : node + 1], states, memories, level)

    total = inputs.new_zeros(module.get_output_dim())
    for vectors, row in zip(inputs, heads.tolist()):
        children: list[list[int]] = [[] for _ in row]
        for node, head in enumerate(row):
            if head:
                children[head - 1].append(node)
        total = total + state(row.index(0), module.inputs(vectors), children)[0][0]
    return total


def trees(settings: Settings) -> list[Case]:
    """Part 9: forward and backward pass of Tree-LSTMs, all nodes of a height at once against node by node."""

    def batch(kind: type, length: int, sentences: int) -> tuple[Any, ...]:
        draw = numpy.random.default_rng(0)
        torch.manual_seed(0)
        heads = torch.tensor([random_heads(kind, length, draw) for _ in range(sentences)])
        inputs = torch.randn(*heads.shape, TREE_DIM, requires_grad=True)
        return kind(TREE_DIM, TREE_DIM), inputs, heads, torch.ones_like(heads, dtype=torch.bool)

    def step(module: TreeEncoder, *batch: torch.Tensor) -> None:
        module.root_states(*batch).sum().backward()

    def slow_step(module: TreeEncoder, inputs: torch.Tensor, heads: torch.Tensor) -> None:
        node_by_node(module, inputs, heads).sum().backward()

    def against_nodes(name: str, kind: type) -> list[Row]:
        inputs = batch(kind, 25, settings.batch_size)
        ours, theirs = partial(step, *inputs), partial(slow_step, *inputs[:3])
        target = Target(0.1, 0.1)
        return [compare(settings, f"{name}, 25 words", "node by node", ours, theirs, target)]

    def exponent(name: str, kind: type) -> list[Row]:
        lengths = TREE_LENGTHS[:2] if settings.quick else TREE_LENGTHS
        rounds = rounds_of(settings, [partial(step, *batch(kind, size, 1)) for size in lengths])
        row = exponent_row(f"exponent of time in the words, {name}", lengths, rounds)
        return [row] if row else []

    return [partial(case, *item) for case in (against_nodes, exponent) for item in TREES.items()]
