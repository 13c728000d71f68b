import torch
from allennlp.common import Registrable

from allennlp_nef.modules.checks import check_integers
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
            found = self.cell(
                gates[level.nodes], states[level.children], memories[level.children], level
            )
            for buffer, values in zip((states, memories), found):
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
