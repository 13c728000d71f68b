"""The loss at earlier steps than the last one."""

import math

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError

from allennlp_nef.modules.halting import halting_divergence, halting_log_probabilities
from allennlp_nef.modules.seq2seq_encoders.neural_easy_first import NeuralEasyFirstTrace
from allennlp_nef.modules.tag_heads import TagHead

MIN_SHARE = 0.8
"""With this share of all pairs of sentences and steps, it is faster to take them all than to choose."""


class StepLoss(FromParams):
    """A loss at every step, for the training of a tagger with the decoder `neural_easy_first`.

    Where L_n is the loss of a sentence if step n were its last one, the sentence with N steps has the loss

        L_N + weight * (L_1 + ... + L_(N - 1)) / (N - 1)

    With `halting_rate`, an option of the decoder, it is that of PonderNet (Banino, Balaguer and Blundell, 2021), with
    the learned halting distribution p:

        p_1 * L_1 + ... + p_N * L_N + halting_penalty * KL(p || geometric prior)

    All steps share the output layer. A CRF has the losses of steps beside its own: L_N is the loss of the CRF, L_1 to
    L_(N - 1) are the cross entropies CE_n of the words under softmax(emissions), and with `halting_rate` the loss is

        L_N + p_1 * CE_1 + ... + p_N * CE_N + halting_penalty * KL(p || geometric prior)

    so that the CRF is trained wherever the sentence halts. Other tag heads have one loss for all steps. It makes a
    tagger better after fewer steps than it was trained with, and costs no parameters.

    # Parameters

    steps : `str`, optional (default = `"all"`)
        "all", or "drawn": the mean over the steps 1 to N - 1 is replaced by the loss of one of them, drawn anew for
        each sentence and each time. On average that is the same loss, and it is faster.
    weight : `float`, optional (default = `1.0`)
        Above 0. Not with `halting_rate`.
    halting_penalty : `float`, optional (default = `None`)
        Above 0; 0.01 if it is None. Only with `halting_rate`. Each sentence has the KL once, whatever its length.
    """

    def __init__(
        self, steps: str = "all", weight: float = 1.0, halting_penalty: float | None = None
    ) -> None:
        if steps not in ("all", "drawn"):
            raise ConfigurationError(f'step_loss: steps: expected "all" or "drawn", got {steps!r}')
        if isinstance(weight, bool) or not 0 < weight < math.inf:
            raise ConfigurationError(
                f"step_loss: weight: expected a number above 0, got {weight!r}"
            )
        if halting_penalty is not None and (
            isinstance(halting_penalty, bool) or not 0 < halting_penalty < math.inf
        ):
            raise ConfigurationError(
                f"step_loss: halting_penalty: expected a number above 0, got {halting_penalty!r}"
            )
        self.steps = steps
        self.weight = weight
        self.halting_penalty = halting_penalty

    def check_halting_rate(self, rate: float | None) -> None:
        """Raises a `ConfigurationError` where the options do not go with the `halting_rate` of the decoder."""
        if rate is None:
            if self.halting_penalty is not None:
                raise ConfigurationError(
                    "step_loss: halting_penalty: expected a decoder with halting_rate, got one without it"
                )
        elif self.steps != "all" or self.weight != 1:
            raise ConfigurationError(
                'step_loss: expected the steps "all" and no weight with the halting_rate of the decoder, got '
                f'"{self.steps}" and {self.weight:g}'
            )

    def total(
        self,
        trace: NeuralEasyFirstTrace,
        tag_head: TagHead,
        scores: torch.Tensor,
        mask: torch.Tensor,
        tags: torch.Tensor,
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """The loss of a batch, a scalar, from the scores of the last step. The others are those of `TagHead.loss`."""
        log_p = None
        last, counts = weights, trace.num_steps - 1
        if trace.halting_logits is not None:
            log_p = halting_log_probabilities(trace.halting_logits, trace.num_steps)
            if tag_head.step_losses_are_sentence_losses:
                last = log_p.gather(1, counts.clamp(min=0).unsqueeze(1)).squeeze(1).exp()
                last = last if weights is None else last * weights.to(last)
            else:
                counts = trace.num_steps  # the last step, too
        rows, steps, shares, outputs = self._chosen(trace, counts.clamp(min=0))
        if log_p is not None:
            shares = log_p[rows, steps].exp() * (shares > 0)
        step_scores = tag_head.scores(outputs)  # (pairs, tokens, labels)
        losses = tag_head.step_losses(step_scores, mask[rows], tags[rows])
        losses = losses * shares.to(losses)
        if weights is not None:
            losses = losses * weights.to(losses)[rows]
        added = self.weight * losses.sum()
        if log_p is not None:
            divergence = halting_divergence(log_p, trace.num_steps, trace.halting_rate)
            divergence = divergence * mask.any(-1)
            if weights is not None:
                divergence = divergence * weights.to(divergence)
            penalty = 0.01 if self.halting_penalty is None else self.halting_penalty
            added = added + penalty * divergence.sum()
        divisor = tag_head.divisor(mask).to(losses.dtype)
        return tag_head.loss(scores, mask, tags, last) + added / divisor

    def _chosen(
        self, trace: NeuralEasyFirstTrace, counts: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Among the first `counts` steps of the sentences: sentences, their steps, from 0, and the shares of these in
        the mean, (pairs,) each; the outputs there."""
        is_cpu = counts.device.type == "cpu"  # elsewhere nothing may wait for the device
        everyone = torch.arange(len(counts), device=counts.device)
        if self.steps == "drawn":
            rows = (counts > 0).nonzero().squeeze(1) if is_cpu else everyone
            counts = counts[rows]
            drawn = (torch.rand(len(rows), device=counts.device) * counts).long()
            steps = drawn.minimum((counts - 1).clamp(min=0))
            return rows, steps, (counts > 0).float(), trace.outputs(rows, steps)
        count = int(counts.max()) if is_cpu else trace.sketches.size(1)
        numbers = torch.arange(count, device=counts.device)
        is_step = numbers < counts.unsqueeze(1)
        if is_cpu and int(is_step.sum()) < MIN_SHARE * is_step.numel():
            rows, steps = is_step.nonzero(as_tuple=True)
            return rows, steps, 1 / counts[rows].float(), trace.outputs(rows, steps)
        rows, steps = everyone.repeat_interleave(count), numbers.repeat(len(counts))
        shares = is_step / counts.clamp(min=1).float().unsqueeze(1)
        return rows, steps, shares.flatten(), trace.first_outputs(count)
