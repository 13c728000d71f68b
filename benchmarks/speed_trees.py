"""Part 9 of `speed.py`: a training step of Tree-LSTMs, all nodes of a height at once against node by node."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy
import torch
from speed_harness import Case, Row, Settings, Target, compare, measure, warm_up
from speed_scaling import exponents

from allennlp_nef.modules.tree_encoders import BinaryTreeLstm, ChildSumTreeLstm, TreeEncoder
from allennlp_nef.nn.tree_levels import TreeLevel

DIM = 100
SENTENCES = 25
LENGTHS = (16, 32, 64, 128, 256, 512)
ROUNDS = 5
TARGET = Target(0.1, 0.1)


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


def node_by_node(module: TreeEncoder, inputs: torch.Tensor, trees: Sequence[Any]) -> torch.Tensor:
    """The sum of the states of the roots, by the recursion as the paper writes it."""
    total = inputs.new_zeros(module.get_output_dim())
    nothing = inputs.new_zeros(0, module.get_output_dim())
    for vectors, (root, children) in zip(inputs, trees):
        gates = module.inputs(vectors[: len(children)])

        def state(
            node: int, gates: torch.Tensor = gates, children: Any = children
        ) -> tuple[torch.Tensor, torch.Tensor]:
            below = [state(child, gates, children) for child in children[node]]
            states, memories = (torch.cat(each) for each in zip(*below)) if below else [nothing] * 2
            number = len(below)
            level = TreeLevel(
                torch.tensor([node]),
                torch.arange(number),
                torch.zeros(number, dtype=torch.long),
                torch.arange(number),
            )
            return module.cell(gates[node : node + 1], states, memories, level)

        total = total + state(root)[0][0]
    return total


def trees(settings: Settings) -> list[Case]:
    """Part 9: forward and backward pass."""

    def made(kind: type, length: int, sentences: int) -> tuple[Any, ...]:
        draw = numpy.random.default_rng(0)
        torch.manual_seed(0)
        heads = torch.tensor([random_heads(kind, length, draw) for _ in range(sentences)])
        inputs = torch.randn(*heads.shape, DIM, requires_grad=True)
        return kind(DIM, DIM), inputs, heads, torch.ones_like(heads, dtype=torch.bool)

    def step(module: TreeEncoder, *batch: torch.Tensor) -> None:
        module.root_states(*batch).sum().backward()

    def slow_step(module: TreeEncoder, inputs: torch.Tensor, below: Sequence[Any]) -> None:
        node_by_node(module, inputs, below).sum().backward()

    def against_nodes(name: str, kind: type) -> list[Row]:
        module, inputs, heads, mask = made(kind, SENTENCES, settings.batch_size)
        below = []
        for row in heads.tolist():
            children: dict[int, list[int]] = {node: [] for node in range(len(row))}
            for node, head in enumerate(row):
                if head:
                    children[head - 1].append(node)
            below.append((row.index(0), children))
        ours = partial(step, module, inputs, heads, mask)
        theirs = partial(slow_step, module, inputs, below)
        return [
            compare(settings, f"{name}, {SENTENCES} words", "node by node", ours, theirs, TARGET)
        ]

    def exponent(name: str, kind: type) -> list[Row]:
        lengths = LENGTHS[:2] if settings.quick else LENGTHS
        steps = [partial(step, *made(kind, length, 1)) for length in lengths]
        calls = [warm_up(settings, each) for each in steps]
        rounds = [
            [measure(settings, each, count) for each, count in zip(steps, calls)]
            for _ in range(settings.rounds(ROUNDS))
        ]
        details = {"lengths": lengths, "rounds": rounds}
        what = f"exponent of time in the words, {name}"
        return [Row(what, "", exponents(lengths, rounds), None, "exponent", details)]

    kinds = {"child-sum Tree-LSTM": ChildSumTreeLstm, "binary Tree-LSTM": BinaryTreeLstm}
    return [partial(case, *item) for case in (against_nodes, exponent) for item in kinds.items()]
