"""Tree-LSTMs: Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured Long Short-Term Memory
Networks" (ACL 2015), Section 3."""

from typing import NamedTuple

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError

from allennlp_nef.nn.util import zero_padding


class TreeLevel(NamedTuple):
    """The nodes of the same height in a batch of trees, numbered across the batch: sentence * nodes + node."""

    nodes: torch.Tensor  # (nodes,)
    children: torch.Tensor  # (children,), the children of these nodes
    parents: torch.Tensor  # (children,), positions of their parents in `nodes`
    places: torch.Tensor  # (children,), 0 for the leftmost child of a node, 1 for the next


def tree_levels(heads: torch.Tensor, mask: torch.Tensor) -> list[TreeLevel]:
    """Returns the levels of a batch of trees, leaves first. All children of a node are on lower levels than the node.

    # Parameters

    heads : `torch.LongTensor`, (batch, nodes)
        The parent of each node, from 1; 0 for the root. Without cycles.
    mask : `torch.BoolTensor`, (batch, nodes)
    """
    device, (batch, count) = heads.device, heads.shape
    heads, mask = heads.cpu(), mask.cpu()
    parents = (heads - 1 + count * torch.arange(batch).unsqueeze(-1)).flatten()
    mask = mask.flatten()
    children = torch.nonzero(mask & (heads > 0).flatten()).squeeze(-1)
    # Group siblings, from left to right.
    children = children[parents[children].argsort(stable=True)]
    owners = parents[children]
    places = torch.arange(len(owners)) - torch.searchsorted(owners, owners)
    heights = torch.zeros(batch * count, dtype=torch.long)
    for _ in range(count):
        higher = heights.scatter_reduce(0, owners, heights[children] + 1, "amax")
        if torch.equal(higher, heights):
            break
        heights = higher
    heights[~mask] = -1
    positions = torch.zeros_like(heights)
    levels = []
    for height in range(int(heights.max()) + 1):
        nodes = torch.nonzero(heights == height).squeeze(-1)
        positions[nodes] = torch.arange(len(nodes))
        of_level = heights[owners] == height
        level = nodes, children[of_level], positions[owners[of_level]], places[of_level]
        levels.append(TreeLevel(*(part.to(device) for part in level)))
    return levels


class TreeEncoder(torch.nn.Module, Registrable):
    """Base class of Tree-LSTMs. Computes all nodes of the same height at once, in all trees of a batch.

    Subclasses implement `cell`.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        self._input_dim, self._hidden_dim = input_dim, hidden_dim
        self.inputs = torch.nn.Linear(input_dim, 4 * hidden_dim)  # gates i and o, update u, gate f

    def get_input_dim(self) -> int:
        return self._input_dim

    def get_output_dim(self) -> int:
        return self._hidden_dim

    def forward(
        self, inputs: torch.Tensor, heads: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the states of the nodes.

        # Parameters

        inputs : `torch.Tensor`, (batch, nodes, input_dim)
        heads : `torch.LongTensor`, (batch, nodes)
            The parent of each node, from 1; 0 for the root.
        mask : `torch.BoolTensor`, (batch, nodes)

        # Returns

        `torch.Tensor`, (batch, nodes, hidden_dim)
            0 in padding.
        """
        gates = self.inputs(zero_padding(inputs, mask).flatten(0, 1))
        states = gates.new_zeros(heads.numel(), self._hidden_dim)
        memories = states.clone()
        for level in tree_levels(heads, mask):
            children = states[level.children], memories[level.children]
            state, memory = self.cell(gates[level.nodes], *children, level)
            states.index_copy_(0, level.nodes, state.to(states.dtype))
            memories.index_copy_(0, level.nodes, memory.to(states.dtype))
        return states.view(*heads.shape, self._hidden_dim)

    def root_states(
        self, inputs: torch.Tensor, heads: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the state of the root of each tree, (batch, hidden_dim), for the arguments of `forward`."""
        roots = ((heads == 0) & mask).int().argmax(-1)
        return self(inputs, heads, mask)[torch.arange(len(roots), device=roots.device), roots]

    def cell(
        self, gates: torch.Tensor, states: torch.Tensor, memories: torch.Tensor, level: TreeLevel
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the states and the memories of the nodes of a level, (nodes, hidden_dim) each.

        `gates` (nodes, 4 * hidden_dim) come from the inputs of the nodes, `states` and `memories` (children,
        hidden_dim) from their children.
        """
        raise NotImplementedError


@TreeEncoder.register("binary_tree_lstm")
class BinaryTreeLstm(TreeEncoder):
    """The N-ary Tree-LSTM with N = 2, for binarized constituency trees: Equations 9 to 14."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        # gates i and o, update u, and a gate f for each child, from the states of both children
        self.children_gates = torch.nn.Linear(2 * hidden_dim, 5 * hidden_dim, bias=False)

    def cell(
        self, gates: torch.Tensor, states: torch.Tensor, memories: torch.Tensor, level: TreeLevel
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if (level.places > 1).any():
            raise ConfigurationError(
                "binary_tree_lstm: a node has more than two children; child_sum_tree_lstm takes any number"
            )
        dim = self._hidden_dim
        rows = 2 * level.parents + level.places
        missing = gates.new_zeros(2 * len(gates), dim)
        states = missing.index_copy(0, rows, states).view(-1, 2 * dim)
        memories = missing.index_copy(0, rows, memories).view(-1, 2, dim)
        gates = torch.cat([gates, gates[:, 3 * dim :]], -1)  # the input's part of f, twice
        i, o, u, left, right = (gates + self.children_gates(states)).split(dim, -1)
        forget = torch.sigmoid(torch.stack([left, right], 1))  # Eq. 10
        memory = torch.sigmoid(i) * torch.tanh(u) + (forget * memories).sum(1)  # Eq. 13
        return torch.sigmoid(o) * torch.tanh(memory), memory


@TreeEncoder.register("child_sum_tree_lstm")
class ChildSumTreeLstm(TreeEncoder):
    """The Child-Sum Tree-LSTM, for trees with any number of children, such as dependency trees: Equations 2 to 8."""

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        self.sums = torch.nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.forget = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)

    def cell(
        self, gates: torch.Tensor, states: torch.Tensor, memories: torch.Tensor, level: TreeLevel
    ) -> tuple[torch.Tensor, torch.Tensor]:
        dim = self._hidden_dim
        nothing = gates.new_zeros(len(gates), dim)
        sums = nothing.index_add(0, level.parents, states)  # Eq. 2
        i, o, u = (gates[:, : 3 * dim] + self.sums(sums)).split(dim, -1)
        f = torch.sigmoid(gates[level.parents, 3 * dim :] + self.forget(states))  # Eq. 4
        kept = nothing.index_add(0, level.parents, (f * memories).to(nothing.dtype))
        memory = torch.sigmoid(i) * torch.tanh(u) + kept  # Eq. 7
        return torch.sigmoid(o) * torch.tanh(memory), memory
