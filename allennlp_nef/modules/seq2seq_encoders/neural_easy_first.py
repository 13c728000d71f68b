"""The neural easy-first decoder."""

import math
from collections import deque
from functools import partial

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from torch.nn.functional import linear

from allennlp_nef.modules.attention_transforms import (
    AttentionTransform,
    ConstrainedSoftmaxTransform,
)
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    EncoderTrace,
    TagScorer,
    TracedEncoder,
)
from allennlp_nef.nn.sketching import sketch, windows
from allennlp_nef.nn.util import zero_padding
from allennlp_nef.options import check_integers, check_numbers


@Seq2SeqEncoder.register("neural_easy_first")
class NeuralEasyFirst(TracedEncoder):
    """The neural easy-first decoder: N steps of attention over the words, each of which refines a sketch of the tags.

    Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017), Algorithm
    2, Equations 1 to 7. It computes sketches s^N from states h and returns [h; s^N] (Eq. 6). Each sentence takes min(N,
    L) steps, as in the authors' implementation. `compose` stacks it on an `lstm` in any AllenNLP model.

    # Parameters

    input_dim : `int`
        The dimension of h.
    sketch_update : `str`, optional (default = `"full"`)
        "full" (NEF-F, Eq. 7) updates each word with its own vector; "single" (NEF-S, Eq. 4) updates all words with one.
    num_steps : `int` or `"length"`, optional (default = `5`)
        N, at least 1; "length" is N = L, the length of each sentence.
    context_size : `int`, optional (default = `2`)
        The number of words on each side of a word in its context (Eq. 1).
    preattention_dim : `int`, optional (default = `50`)
        The number of hidden units of the attention (Eq. 2).
    sketch_dim : `int`, optional (default = `50`)
    attention : `AttentionTransform`, optional (default = `csoftmax`)
        rho of Eq. 3.
    concat_input : `bool`, optional (default = `True`)
        Whether the output is [h; s^N] (Eq. 6) or s^N alone (the ablation of Table 4).
    dropout : `float`, optional (default = `0.0`)
        Dropout applied to the output. As in the authors' implementation, there is none inside the steps.
    bidirectional : `bool`, optional (default = `True`)
        The value of `is_bidirectional()`: `compose` requires all its encoders to agree.
    """

    def __init__(
        self,
        input_dim: int,
        sketch_update: str = "full",
        num_steps: int | str = 5,
        context_size: int = 2,
        preattention_dim: int = 50,
        sketch_dim: int = 50,
        attention: AttentionTransform | None = None,
        concat_input: bool = True,
        dropout: float = 0.0,
        bidirectional: bool = True,
    ) -> None:
        check_integers(
            input_dim=input_dim, preattention_dim=preattention_dim, sketch_dim=sketch_dim
        )
        check_integers(0, context_size=context_size)
        check_numbers(0, 1, dropout=dropout)
        super().__init__(input_dim, sketch_dim + input_dim * concat_input, bidirectional)
        if sketch_update not in ("single", "full"):
            raise ConfigurationError(
                f'sketch_update must be "single" or "full", got {sketch_update!r}'
            )
        if num_steps != "length" and not (type(num_steps) is int and num_steps > 0):
            raise ConfigurationError(
                f'num_steps must be an integer of at least 1 or "length", got {num_steps!r}'
            )
        self.attention = attention or ConstrainedSoftmaxTransform()
        self.sketch_update = sketch_update
        self.num_steps = num_steps
        self.context_size = context_size
        self.concat_input = concat_input
        self._dropout = torch.nn.Dropout(dropout)
        # W_cz above W_cs, so a step is one product for both. Each is split into the columns for h and for s.
        window = 2 * context_size + 1
        rows = preattention_dim + sketch_dim
        self.input_weight = torch.nn.Parameter(torch.empty(rows, window * input_dim))
        self.sketch_weight = torch.nn.Parameter(torch.empty(rows, window * sketch_dim))
        self.bias = torch.nn.Parameter(torch.empty(rows))
        self.attention_vector = torch.nn.Parameter(torch.empty(preattention_dim))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initializes W_cz, W_cs and v, each as one matrix of the paper, with Glorot uniform, and biases with zero."""
        preattention_dim = len(self.attention_vector)
        fan_in = self.input_weight.size(1) + self.sketch_weight.size(1)
        for rows in (slice(preattention_dim), slice(preattention_dim, None)):
            bound = math.sqrt(6 / (fan_in + len(self.bias[rows])))
            torch.nn.init.uniform_(self.input_weight.data[rows], -bound, bound)
            torch.nn.init.uniform_(self.sketch_weight.data[rows], -bound, bound)
        bound = math.sqrt(6 / (preattention_dim + 1))
        torch.nn.init.uniform_(self.attention_vector, -bound, bound)
        torch.nn.init.zeros_(self.bias)

    @property
    def title(self) -> str:
        kind = "NEF-F" if self.sketch_update == "full" else "NEF-S"
        steps = "L" if self.num_steps == "length" else self.num_steps
        names = AttentionTransform.list_available()
        kinds = {AttentionTransform.by_name(name): name for name in names}
        attention = kinds.get(type(self.attention), type(self.attention).__name__)
        return f"{kind} {attention}, N = {steps}"

    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        if mask is None:
            mask = inputs.new_ones(inputs.shape[:2], dtype=torch.bool)
        inputs = zero_padding(inputs, mask)
        lengths = mask.sum(-1)
        num_steps = max(1, inputs.size(1))
        if isinstance(self.num_steps, int):
            num_steps = min(num_steps, self.num_steps)
        order, restored = None, None
        active = [len(mask)] * num_steps
        if self.num_steps == "length" and mask.device.type == "cpu":  # others would wait for it
            # The longest sentences come first, so those that have not finished are a slice.
            order = lengths.argsort(descending=True, stable=True)
            restored = order.argsort()
            is_active = lengths > torch.arange(num_steps).unsqueeze(1)  # (steps, batch)
            active = is_active.sum(1).clamp(min=1).tolist()
        preactivation = linear(windows(inputs, self.context_size), self.input_weight, self.bias)
        score = tag_scorer and partial(self._tag_scores, tag_scorer, _rows(inputs, order))
        steps = sketch(
            _rows(preactivation, order),
            self.sketch_weight,
            self.attention_vector,
            self.attention,
            _rows(mask, order),
            active,
            self.context_size,
            single=self.sketch_update == "single",
            score_updates=score,
        )
        attention, history = zip(*(steps if trace else deque(steps, maxlen=1)))

        def output_after(step: int) -> torch.Tensor:
            return self._output(inputs, zero_padding(_rows(history[step], restored), mask))

        output = self._dropout(output_after(-1))
        if not trace:
            return output, None
        alphas = _rows(torch.stack(attention, 1), restored)  # (batch, steps, tokens)
        return output, EncoderTrace(alphas, lengths.clamp(max=num_steps), output_after)

    @torch.no_grad()
    def _tag_scores(
        self, tag_scorer: TagScorer, inputs: torch.Tensor, updates: torch.Tensor
    ) -> torch.Tensor:
        """Returns the best tag score of each word with the updates of these pre-activations: (batch, tokens)."""
        return tag_scorer(self._output(inputs[: len(updates)], updates.tanh())).amax(-1)

    def _output(self, inputs: torch.Tensor, sketches: torch.Tensor) -> torch.Tensor:
        """[h; s], or s alone: (..., tokens, output_dim)."""
        return torch.cat([inputs, sketches], dim=-1) if self.concat_input else sketches


def _rows(tensor: torch.Tensor, order: torch.Tensor | None) -> torch.Tensor:
    """Reorders the sentences of a batch; None keeps the order."""
    return tensor if order is None else tensor.index_select(0, order)
