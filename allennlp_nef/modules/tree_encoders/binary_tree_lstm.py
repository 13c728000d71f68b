import torch
from allennlp.common.checks import ConfigurationError
from overrides import overrides

from allennlp_nef.modules.tree_encoders.tree_encoder import TreeEncoder
from allennlp_nef.nn.tree_levels import TreeLevel


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
        found = torch.sigmoid(i) * torch.tanh(u) + (forget * memories).sum(1)  # Eq. 13
        return torch.sigmoid(o) * torch.tanh(found), found
