"""The neural easy-first decoder, and its trace."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides
from torch.nn import functional

from allennlp_nef.modules.attention_transforms import (
    AttentionTransform,
    BoundedAttentionTransform,
    BudgetTransform,
    ConstrainedSoftmaxTransform,
)
from allennlp_nef.modules.halting import (
    BatchHalting,
    LearnedHaltingHead,
)
from allennlp_nef.modules.options import check_dropout, check_integers, is_integer, registered_name
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    TagScorer,
    TracedEncoder,
)
from allennlp_nef.modules.traces import Decide, EncoderTrace, chosen_probabilities
from allennlp_nef.nn.numerics import float32_at_least
from allennlp_nef.nn.sketching import Halts, ScoreUpdates, SketchState, sketch, windows


@dataclass(eq=False, kw_only=True)
class NeuralEasyFirstTrace(EncoderTrace):
    """The steps of `NeuralEasyFirst`. After the last step of a sentence, or the one at which it
    halted, its attention is 0 and its sketches stay."""

    sketches: torch.Tensor
    """s^1 to s^N: (batch, steps, tokens, sketch_dim)."""
    inputs: torch.Tensor | None
    """h: (batch, tokens, input_dim), where it is a part of the output."""
    dropout: torch.nn.Module
    """Of the output."""
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
    def decisions(self, decide: Decide) -> tuple[torch.Tensor, torch.Tensor, None]:
        tag_ids, probabilities = [], []
        for sketches in self.sketches.unbind(1):
            step_ids, table = decide(joined_output(self.inputs, sketches))
            tag_ids.append(step_ids)
            probabilities.append(chosen_probabilities(table, step_ids))
        return torch.stack(tag_ids, 1), torch.stack(probabilities, 1), None


def joined_output(inputs: torch.Tensor | None, sketches: torch.Tensor) -> torch.Tensor:
    """[h; s], or s alone: (..., tokens, output_dim)."""
    return sketches if inputs is None else torch.cat([inputs, sketches], dim=-1)


def _of(table: torch.Tensor | None, rows: torch.Tensor | None) -> torch.Tensor | None:
    """Some rows of a table, or all; None without a table."""
    return table if table is None or rows is None else table[rows]


@Seq2SeqEncoder.register("neural_easy_first")
class NeuralEasyFirst(TracedEncoder):
    """The neural easy-first decoder: N steps of attention over the words, each refining a sketch of the tags.

    Martins & Kreutzer, "Learning What's Easy: Fully Differentiable Neural Easy-First Taggers" (EMNLP 2017),
    Algorithm 2, Equations 1 to 7. From states h it computes sketches s^N and gives [h; s^N] (Eq. 6). A true
    `Seq2SeqEncoder`: `compose` stacks it on an `lstm` inside any model of AllenNLP's. Registered as a
    `Seq2SeqEncoder` with name "neural_easy_first".

    # Parameters

    input_dim : `int`
        D_h, the dimension of h.
    sketch_update : `str`, optional (default = `"full"`)
        "full" (NEF-F, Eq. 7) updates each word with a vector of its own, "single" (NEF-S, Eq. 4) all words with one.
    num_steps : `int` or `"length"`, optional (default = `5`)
        N, at least 1; "length" is N = L, for each sentence its own length.
    context_size : `int`, optional (default = `2`)
        w, at least 0: how many adjacent words on each side a word's context holds (Eq. 1).
    preattention_dim : `int`, optional (default = `50`)
        D_z, the hidden units of the attention (Eq. 2).
    sketch_dim : `int`, optional (default = `50`)
        D_s.
    attention : `AttentionTransform`, optional (default = `csoftmax`)
        rho of Eq. 3.
    concat_input : `bool`, optional (default = `True`)
        Whether the output is [h; s^N] (Eq. 6) or s^N alone (the ablation of Table 4).
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), of the output. There is none inside the steps, as in the authors' implementation.
    cap_steps : `bool`, optional (default = `True`)
        Whether a sentence does min(N, L) steps, as in the authors' implementation; False lets transforms without
        bounds revisit words. csoftmax and csparsemax with an upper_bound of at most 1 have nothing left to attend to
        after L steps and need True.
    learned_bounds : `bool`, optional (default = `False`)
        Whether the attention that a word may get in all is learned from its state: ``B_i = 2 B sigmoid(w_b . h_i + b)``
        begins as B, the `upper_bound` of csoftmax or csparsemax.
    halting_rate : `float`, optional (default = `None`)
        In (0, 1): the halting `learned` is trained, with a geometric prior of this rate; the mean of the prior is
        about 1 / rate steps. Only in the decoder of `nef_tagger`, with its option `step_loss`.
    bidirectional : `bool`, optional (default = `True`)
        What `is_bidirectional()` says: `compose` wants all its encoders to agree.
    """

    def __init__(
        self,
        input_dim: int,
        sketch_update: str = "full",
        num_steps: Any = 5,  # with int | str, AllenNLP would take true as 1
        context_size: int = 2,
        preattention_dim: int = 50,
        sketch_dim: int = 50,
        attention: AttentionTransform | None = None,
        concat_input: bool = True,
        dropout: float = 0.0,
        cap_steps: bool = True,
        learned_bounds: bool = False,
        bidirectional: bool = True,
        halting_rate: float | None = None,
    ) -> None:
        super().__init__()
        if sketch_update not in ("single", "full"):
            raise ConfigurationError(
                f'sketch_update: expected "single" or "full", got {sketch_update!r}'
            )
        if num_steps != "length" and not is_integer(num_steps):
            raise ConfigurationError(
                f'num_steps: expected an integer of at least 1 or "length", got {num_steps!r}'
            )
        check_integers(input_dim=input_dim)
        check_integers(0, context_size=context_size)
        check_integers(preattention_dim=preattention_dim, sketch_dim=sketch_dim)
        check_dropout(dropout)
        self.attention = attention or ConstrainedSoftmaxTransform()
        if (
            not cap_steps
            and isinstance(self.attention, BoundedAttentionTransform)
            and self.attention.upper_bound <= 1
        ):
            raise ConfigurationError(
                f"cap_steps: {registered_name(AttentionTransform, self.attention)} gives each word an attention of "
                f"{self.attention.upper_bound:g} in all and has none left after as many steps as words; leave "
                "cap_steps at true, raise upper_bound, or choose another attention"
            )
        if sketch_update == "single" and isinstance(self.attention, BudgetTransform):
            raise ConfigurationError(
                "attention: budget sums to more than 1, and the vector of NEF-S is made from an attention that sums "
                'to 1; set sketch_update to "full", or choose another attention'
            )
        if learned_bounds and not isinstance(self.attention, BoundedAttentionTransform):
            raise ConfigurationError(
                "learned_bounds: expected the attention csoftmax or csparsemax, got "
                f"{registered_name(AttentionTransform, self.attention)}"
            )
        if halting_rate is not None and (
            not isinstance(halting_rate, float) or not 0 < halting_rate < 1
        ):
            raise ConfigurationError(
                f"halting_rate: expected a number between 0 and 1, got {halting_rate!r}"
            )
        self.sketch_update = sketch_update
        self.num_steps = num_steps
        self.context_size = context_size
        self.concat_input = concat_input
        self.cap_steps = cap_steps
        self._input_dim = input_dim
        self._output_dim = sketch_dim + (input_dim if concat_input else 0)
        self._bidirectional = bidirectional
        self._dropout = torch.nn.Dropout(dropout)

        # W_cz above W_cs: a step is one matrix product for both. Each is split into the columns of h and those of s.
        window = 2 * context_size + 1
        rows = preattention_dim + sketch_dim
        self.input_weight = torch.nn.Parameter(torch.empty(rows, window * input_dim))
        self.sketch_weight = torch.nn.Parameter(torch.empty(rows, window * sketch_dim))
        self.bias = torch.nn.Parameter(torch.empty(rows))
        self.attention_vector = torch.nn.Parameter(torch.empty(preattention_dim))
        self.bounds = torch.nn.Linear(input_dim, 1) if learned_bounds else None
        self.halting = (
            None if halting_rate is None else LearnedHaltingHead(sketch_dim, halting_rate)
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Glorot uniform for W_cz, W_cs and v, each as the one matrix that the paper writes; zero biases."""
        preattention_dim = self.attention_vector.size(0)
        fan_in = self.input_weight.size(1) + self.sketch_weight.size(1)
        for rows in (slice(preattention_dim), slice(preattention_dim, None)):
            bound = math.sqrt(6 / (fan_in + self.bias[rows].numel()))
            torch.nn.init.uniform_(self.input_weight.data[rows], -bound, bound)
            torch.nn.init.uniform_(self.sketch_weight.data[rows], -bound, bound)
        bound = math.sqrt(6 / (preattention_dim + 1))
        torch.nn.init.uniform_(self.attention_vector, -bound, bound)
        torch.nn.init.zeros_(self.bias)
        if self.bounds is not None:
            torch.nn.init.zeros_(self.bounds.weight)
            torch.nn.init.zeros_(self.bounds.bias)

    @property
    def title(self) -> str:
        kind = "NEF-F" if self.sketch_update == "full" else "NEF-S"
        steps = "L" if self.num_steps == "length" else self.num_steps
        return f"{kind} {registered_name(AttentionTransform, self.attention)}, N = {steps}"

    @overrides
    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
        batch_halting: BatchHalting | None = None,
    ) -> tuple[torch.Tensor, EncoderTrace | None]:
        """As for `TracedEncoder`, with one more option.

        # Parameters

        batch_halting : `BatchHalting`, optional (default = `None`)
            When sentences halt; the trace then ends there. It asks for a trace with `num_steps`, and perhaps nothing
            else. Where it looks at tags, it needs the tag scorer.
        """
        if self.training and self.halting is not None and not trace:
            raise ConfigurationError(
                "halting_rate: expected it in the decoder of the model nef_tagger, got it elsewhere"
            )
        inputs, mask = self._without_padding(inputs, mask)
        preactivation = functional.linear(
            windows(inputs, self.context_size), self.input_weight, self.bias
        )
        joined_inputs = inputs if self.concat_input else None
        bounds = None if self.bounds is None else self._word_bounds(self.bounds(inputs))
        score_updates: ScoreUpdates | None = None
        halts: Halts | None = None
        num_steps = self._steps_of(mask)
        if batch_halting is not None:
            num_steps = batch_halting.limit(num_steps)
        if tag_scorer is not None:

            def score_updates(updates: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
                return tag_scorer(joined_output(_of(joined_inputs, rows), updates)).amax(-1)

            if batch_halting is not None and batch_halting.looks_at_tags:

                def halts(sketches: torch.Tensor, rows: torch.Tensor | None) -> torch.Tensor:
                    scores = tag_scorer(joined_output(_of(joined_inputs, rows), sketches))
                    logits = None
                    if self.halting is not None and batch_halting.is_learned:
                        logits = self.halting(sketches, mask if rows is None else mask[rows])
                    return batch_halting.after(scores, logits, rows)

        def attend(scores: torch.Tensor, state: SketchState) -> torch.Tensor:
            if bounds is None:
                return self.attention(scores, state)
            return self.attention(scores, state, word_bounds=_of(bounds, state.rows))

        sketches, num_steps, attention, history = sketch(
            self.sketch_update,
            preactivation,
            self.sketch_weight,
            self.attention_vector,
            attend,
            mask,
            num_steps,
            self.context_size,
            self._max_steps(mask.size(1)),
            keep_trace=trace,
            score_updates=score_updates,
            halts=halts,
            can_get_attention=self.attention.can_get_attention if bounds is None else None,
        )
        output = self._dropout(joined_output(joined_inputs, sketches))
        if history is None:
            return output, None if batch_halting is None else EncoderTrace(None, num_steps)
        steps = NeuralEasyFirstTrace(
            attention, num_steps, sketches=history, inputs=joined_inputs, dropout=self._dropout
        )
        if self.halting is not None:
            steps.halting_logits = self.halting(history, mask.unsqueeze(1))
            steps.halting_rate = self.halting.rate
        return output, steps

    def _word_bounds(self, logits: torch.Tensor) -> torch.Tensor:
        """B_i of each word, between 0 and 2 B: (batch, tokens, 1) -> (batch, tokens), in the type of the coverage."""
        logits = logits.squeeze(-1).to(float32_at_least(logits.dtype))
        return 2 * getattr(self.attention, "upper_bound", 1.0) * logits.sigmoid()

    def _steps_of(self, mask: torch.Tensor) -> torch.Tensor:
        """The steps of each sentence: (batch,)."""
        lengths = mask.sum(-1)
        if self.num_steps == "length":
            return lengths
        if self.cap_steps:
            return lengths.clamp(max=int(self.num_steps))
        return (lengths > 0).long() * int(self.num_steps)

    def _max_steps(self, tokens: int) -> int:
        """At least the steps of any sentence of so many words, without waiting for the device."""
        if self.num_steps == "length":
            return tokens
        return min(tokens, self.num_steps) if self.cap_steps else int(self.num_steps)
