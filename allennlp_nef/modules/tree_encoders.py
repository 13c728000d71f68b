"""Encoders of trees: Tree-LSTMs (Tai, Socher and Manning, 2015)."""

import torch
from allennlp.common import Registrable
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.modules.options import check_integers
from allennlp_nef.nn.numerics import zero_padding
from allennlp_nef.nn.tree_levels import TreeLevel, tree_levels


class TreeEncoder(torch.nn.Module, Registrable):
    """Base class of Tree-LSTMs: Tai, Socher and Manning, "Improved Semantic Representations From Tree-Structured Long
    Short-Term Memory Networks" (ACL 2015), Section 3.

    The nodes of a height are computed at once, in all trees of a batch. Implement `cell`.

    # Parameters

    input_dim, hidden_dim : `int`
        At least 1.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__()
        check_integers(input_dim=input_dim, hidden_dim=hidden_dim)
        self._input_dim, self._hidden_dim = input_dim, hidden_dim
        self.inputs = torch.nn.Linear(input_dim, 4 * hidden_dim)  # of three gates and the update

    def get_input_dim(self) -> int:
        return self._input_dim

    def get_output_dim(self) -> int:
        return self._hidden_dim

    def forward(
        self, inputs: torch.Tensor, heads: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """
        The states of the nodes.

        # Parameters

        inputs : `torch.Tensor`, (batch, nodes, input_dim)
        heads : `torch.LongTensor`, (batch, nodes)
            The parent of each node, from 1; 0 for the root.
        mask : `torch.BoolTensor`, (batch, nodes)

        # Returns

        `torch.Tensor`, (batch, nodes, hidden_dim)
            0 in padding.
        """
        shape = *heads.shape, self._hidden_dim
        vectors = zero_padding(inputs, mask).flatten(0, 1)
        gates = self.inputs(vectors)
        states = gates.new_zeros(heads.numel(), self._hidden_dim)
        memories = states.clone()
        for level in tree_levels(heads, mask):
            cells = self.cell(
                gates[level.nodes], states[level.children], memories[level.children], level
            )
            for buffer, values in zip((states, memories), cells):
                buffer.index_copy_(0, level.nodes, values.to(buffer.dtype))
        return states.view(shape)

    def root_states(
        self, inputs: torch.Tensor, heads: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """The state of the root of each tree: (batch, hidden_dim). The parameters are those of `forward`."""
        roots = ((heads == 0) & mask).int().argmax(-1)
        states = self(inputs, heads, mask)
        return states[torch.arange(len(roots), device=roots.device), roots]

    def cell(
        self,
        gates: torch.Tensor,
        child_states: torch.Tensor,
        child_memories: torch.Tensor,
        level: TreeLevel,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The states and the memories of the nodes of a level, (nodes, hidden_dim) each.

        # Parameters

        gates : `torch.Tensor`, (nodes, 4 * hidden_dim)
            Those of the inputs.
        child_states, child_memories : `torch.Tensor`, (children, hidden_dim)
        level : `TreeLevel`
        """
        raise NotImplementedError


@TreeEncoder.register("binary_tree_lstm")
class BinaryTreeLstm(TreeEncoder):
    """The N-ary Tree-LSTM with N = 2, for trees whose nodes have at most two children, such as binarized constituents.

    Tai, Socher and Manning (ACL 2015), Equations 9 to 14. Registered as a `TreeEncoder` with name "binary_tree_lstm".

    # Parameters

    input_dim, hidden_dim : `int`
        At least 1.

    # Raises

    `ConfigurationError`: a tree has a node with more than two children.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        # Of both children: input, output and update gate, and the forget gates of the left and the right child.
        self.children_gates = torch.nn.Linear(2 * hidden_dim, 5 * hidden_dim, bias=False)

    @overrides
    def forward(
        self, inputs: torch.Tensor, heads: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        parents = heads.masked_fill(~mask, 0)
        counts = heads.new_zeros(len(heads), heads.size(1) + 1)
        counts = counts.scatter_add(1, parents, torch.ones_like(heads))[:, 1:]
        if (counts > 2).any():
            raise ConfigurationError(
                f"binary_tree_lstm: expected nodes with at most 2 children, got one with {int(counts.max())}; "
                "child_sum_tree_lstm takes any number"
            )
        return super().forward(inputs, heads, mask)

    @overrides
    def cell(
        self,
        gates: torch.Tensor,
        child_states: torch.Tensor,
        child_memories: torch.Tensor,
        level: TreeLevel,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        dim = self._hidden_dim
        rows = 2 * level.parents + level.places
        nothing = gates.new_zeros(2 * len(gates), dim)
        states = nothing.index_copy(0, rows, child_states).view(-1, 2 * dim)
        memories = nothing.index_copy(0, rows, child_memories).view(-1, 2, dim)
        input_gates = torch.cat(
            [gates, gates[:, 3 * dim :]], -1
        )  # both forget gates have one part of the input
        i, o, u, left, right = (input_gates + self.children_gates(states)).split(dim, -1)
        forget = torch.sigmoid(torch.stack([left, right], 1))  # Eq. 10
        memories = torch.sigmoid(i) * torch.tanh(u) + (forget * memories).sum(1)  # Eq. 13
        return torch.sigmoid(o) * torch.tanh(memories), memories


@TreeEncoder.register("child_sum_tree_lstm")
class ChildSumTreeLstm(TreeEncoder):
    """The Child-Sum Tree-LSTM, for trees whose nodes have any number of children, such as dependency trees.

    Tai, Socher and Manning (ACL 2015), Equations 2 to 8. Registered as a `TreeEncoder` with name "child_sum_tree_lstm".

    # Parameters

    input_dim, hidden_dim : `int`
        At least 1.
    """

    def __init__(self, input_dim: int, hidden_dim: int) -> None:
        super().__init__(input_dim, hidden_dim)
        self.sums = torch.nn.Linear(hidden_dim, 3 * hidden_dim, bias=False)
        self.forget = torch.nn.Linear(hidden_dim, hidden_dim, bias=False)

    @overrides
    def cell(
        self,
        gates: torch.Tensor,
        child_states: torch.Tensor,
        child_memories: torch.Tensor,
        level: TreeLevel,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        dim = self._hidden_dim
        nothing = gates.new_zeros(len(gates), dim)
        sums = nothing.index_add(0, level.parents, child_states)  # Eq. 2
        i, o, u = (gates[:, : 3 * dim] + self.sums(sums)).split(dim, -1)
        f = torch.sigmoid(gates[level.parents, 3 * dim :] + self.forget(child_states))  # Eq. 4
        kept = nothing.index_add(0, level.parents, (f * child_memories).to(nothing.dtype))
        memories = torch.sigmoid(i) * torch.tanh(u) + kept  # Eq. 7
        return torch.sigmoid(o) * torch.tanh(memories), memories
