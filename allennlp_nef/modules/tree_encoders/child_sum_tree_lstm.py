import torch
from overrides import overrides

from allennlp_nef.modules.tree_encoders.tree_encoder import TreeEncoder
from allennlp_nef.nn.tree_levels import TreeLevel


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
