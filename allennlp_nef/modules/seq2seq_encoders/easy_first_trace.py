from dataclasses import dataclass

import torch
from overrides import overrides

from allennlp_nef.modules.traces import Decide, DecidingTrace, Decisions


@dataclass(eq=False)
class NeuralEasyFirstTrace(DecidingTrace):
    """The steps of `NeuralEasyFirst`. After the last step of a sentence its attention is 0 and its sketches stay; after
    the one at which it halted they are what they would have been."""

    sketches: torch.Tensor
    """s^1 to s^N: (batch, steps, tokens, sketch_dim)."""
    inputs: torch.Tensor | None
    """h: (batch, tokens, input_dim), where it is a part of the output."""
    dropout: torch.nn.Module
    """Of the output."""
    halting_log_probabilities: torch.Tensor | None = None
    """log p_n of the learned halting, (batch, steps), with `halting_rate`."""
    halting_logits: torch.Tensor | None = None
    """Those of the learned probabilities to halt at each step, (batch, steps), with `halting_rate`."""
    halting_rate: float = 0.0

    def outputs(self, rows: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        """What the output would be if these were the last steps of these sentences, with dropout of its own.

        # Parameters

        rows : `torch.LongTensor`, (pairs,)
            The positions of sentences in the batch, from 0.
        steps : `torch.LongTensor`, (pairs,)
            From 0.

        # Returns

        `torch.Tensor`, (pairs, tokens, output_dim)
        """
        chosen = rows * self.sketches.size(1) + steps
        sketches = self.sketches.flatten(0, 1).index_select(0, chosen)
        inputs = None if self.inputs is None else self.inputs.index_select(0, rows)
        return self.dropout(joined_output(inputs, sketches))

    def first_outputs(self, count: int) -> torch.Tensor:
        """`outputs` of all sentences after each of their first steps: (batch * count, tokens, output_dim)."""
        inputs = None if self.inputs is None else self.inputs.unsqueeze(1).expand(-1, count, -1, -1)
        return self.dropout(joined_output(inputs, self.sketches[:, :count]).flatten(0, 1))

    @overrides
    def decisions(self, decide: Decide) -> Decisions:
        tag_ids, probabilities = [], []
        for sketches in self.sketches.unbind(1):
            decision = decide(joined_output(self.inputs, sketches))
            tag_ids.append(decision.tag_ids)
            probabilities.append(decision.chosen_probabilities())
        return Decisions(torch.stack(tag_ids, 1), torch.stack(probabilities, 1))


def joined_output(inputs: torch.Tensor | None, sketches: torch.Tensor) -> torch.Tensor:
    """[h; s], or s alone: (..., tokens, output_dim)."""
    return sketches if inputs is None else torch.cat([inputs, sketches], dim=-1)
