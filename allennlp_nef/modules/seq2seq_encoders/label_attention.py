from dataclasses import dataclass

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from allennlp_nef.modules.checks import check_dropout, check_integers
from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.modules.seq2seq_encoders.label_attention_layer import LabelAttentionLayer
from allennlp_nef.modules.seq2seq_encoders.label_lstm import LabelLstm, LabelStates
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import (
    TagScorer,
    TracedEncoder,
)
from allennlp_nef.modules.traces import Decide, DecidingTrace, Decisions
from allennlp_nef.nn.label_attention import label_scale
from allennlp_nef.nn.numerics import zero_padding


@dataclass(eq=False)
class LabelAttentionTrace(DecidingTrace):
    """The layers of `LabelAttention` that attend, and the output of the model. They attend to labels, not to words."""

    distributions: torch.Tensor
    """The mean of alpha over the heads: (batch, layers that attend, tokens, labels)."""
    output: torch.Tensor
    """(batch, tokens, output_dim)."""

    @overrides
    def decisions(self, decide: Decide) -> Decisions:
        probabilities, tag_ids = self.distributions.max(-1)
        last = decide(self.output)
        table = last.probabilities.unsqueeze(1).to(self.distributions.dtype)
        return Decisions(
            torch.cat([tag_ids, last.tag_ids.unsqueeze(1)], 1),
            torch.cat([probabilities, last.chosen_probabilities().unsqueeze(1)], 1),
            torch.cat([self.distributions, table], 1),
        )


@Seq2SeqEncoder.register("label_attention")
class LabelAttention(TracedEncoder):
    """BiLSTM-LAN layers: the states of the words attend to embeddings of the labels.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3. A
    layer is

        H^w = BiLSTM(x),  H^l = concat(head_1, ..., head_k) + H^w,  head_i = attention(H^w W^Q_i, x^l W^K_i, x^l W^V_i)

    and its output is [H^w; H^l]. All layers share one table x^l of labels. In the paper's network the attention of the
    last layer is the output. For that network, set `attend_last` to false (the last layer has the BiLSTM only) and use
    the tag head `label_attention`; `nef_tagger` gives it the same table.

    Padding has to be at the end of a sentence, as in AllenNLP's recurrent encoders.

    Registered as a `Seq2SeqEncoder` with name "label_attention".

    # Parameters

    vocab : `Vocabulary`
        Has the labels; AllenNLP fills it in.
    input_dim : `int`
    hidden_dim : `int`, optional (default = `400`)
        d_h, of both directions together, and of a label: an even number that `num_heads` divides.
    num_layers : `int`, optional (default = `1`)
    num_heads : `int`, optional (default = `5`)
        k.
    attend_last : `bool`, optional (default = `True`)
        Whether the last layer attends.
    scale_by_head : `bool`, optional (default = `False`)
        Whether scores are divided by sqrt(d_h / k), as in the authors' code, or by sqrt(d_h), as in the paper.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), applied to H^w in the layers that attend. The model has its own for the output.
    label_namespace : `str`, optional (default = `"labels"`)
        The same as the model's.
    """

    step_name = "layer"

    def __init__(
        self,
        vocab: Vocabulary,
        input_dim: int,
        hidden_dim: int = 400,
        num_layers: int = 1,
        num_heads: int = 5,
        attend_last: bool = True,
        scale_by_head: bool = False,
        dropout: float = 0.0,
        label_namespace: str = "labels",
    ) -> None:
        super().__init__()
        check_integers(input_dim=input_dim, hidden_dim=hidden_dim)
        check_integers(num_layers=num_layers, num_heads=num_heads)
        if hidden_dim % 2 or hidden_dim % num_heads:
            raise ConfigurationError(
                f"hidden_dim: expected an even number that num_heads ({num_heads}) divides, got {hidden_dim}"
            )
        check_dropout(dropout)
        num_labels = vocab.get_vocab_size(label_namespace)
        if not num_labels or vocab.is_padded(label_namespace):
            raise ConfigurationError(
                "label_attention: label_namespace: expected the namespace of the labels, as in the model, got "
                f"{label_namespace!r}"
            )
        self.label_namespace = label_namespace
        self.label_table = LabelTable(num_labels, hidden_dim)
        scale = label_scale(hidden_dim, num_heads, scale_by_head)
        dims = [input_dim, *[2 * hidden_dim] * num_layers]
        attending = num_layers if attend_last else num_layers - 1
        self.layers = torch.nn.ModuleList(
            LabelAttentionLayer(dim, hidden_dim, num_heads, scale, dropout)
            for dim in dims[:attending]
        )
        self.last_lstm = None if attend_last else LabelLstm(dims[attending], hidden_dim)
        self._input_dim = input_dim
        self._output_dim = 2 * hidden_dim if attend_last else hidden_dim

    @property
    def title(self) -> str:
        count = len(self.layers) + (self.last_lstm is not None)
        return f"BiLSTM-LAN, {count} layer{'s' if count > 1 else ''}"

    @overrides
    def encode(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor | None = None,
        trace: bool = False,
        tag_scorer: TagScorer | None = None,
    ) -> tuple[torch.Tensor, LabelAttentionTrace | None]:
        inputs, mask = self._without_padding(inputs, mask)
        lengths = mask.sum(-1)
        # Padding is left out, but for one word of a sentence without words, which an LSTM needs.
        packed = pack_padded_sequence(
            inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )

        def padded(rows: torch.Tensor) -> torch.Tensor:
            """(words, ...) -> (batch, tokens, ...), with 0 in padding."""
            sentences, _ = pad_packed_sequence(
                packed._replace(data=rows), batch_first=True, total_length=mask.size(1)
            )
            return zero_padding(sentences, mask)

        words: torch.Tensor | LabelStates = packed.data
        distributions = []
        for layer in self.layers:
            refined: LabelStates = layer(words, packed.batch_sizes, self.label_table.weight)
            words = refined
            if trace:
                distributions.append(padded(refined.weights.mean(1)))
        if self.last_lstm is not None:
            output = padded(self.last_lstm(words, packed.batch_sizes))
        else:
            output = padded(refined.joined())
        if not trace:
            return output, None
        num_labels = len(self.label_table.weight)
        tables = output.new_zeros(len(output), 0, output.size(1), num_labels)
        if distributions:
            tables = torch.stack(distributions, 1)
        num_steps = (lengths > 0).long() * (tables.size(1) + 1)
        return output, LabelAttentionTrace(None, num_steps, tables, output)
