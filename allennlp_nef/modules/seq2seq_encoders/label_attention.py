from typing import Any, Iterator, NamedTuple, Optional, Tuple, Union

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
    Decide,
    Decision,
    TagScorer,
    TracedEncoder,
    without_padding,
)
from allennlp_nef.nn.label_attention import label_scale


class LabelTrace(NamedTuple):
    """How the layers refined the labels of each word."""

    distributions: torch.Tensor
    """The mean of alpha over the heads: (batch, layers that attend, tokens, labels)."""
    output: torch.Tensor
    """(batch, tokens, output_dim)."""
    num_steps: torch.Tensor
    """(batch,): the layers that attend, and the output of the model."""
    attention: None = None
    """There is none from word to word."""


@Seq2SeqEncoder.register("label_attention")
class LabelAttention(TracedEncoder):
    """BiLSTM-LAN layers: the states of a word attend to embeddings of the labels, and the next layer sees the outcome.

    Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019), Section 3. A
    layer is

        H^w = BiLSTM(x),  H^l = concat(head_1, ..., head_k) + H^w,  head_i = attention(H^w W^Q_i, x^l W^K_i, x^l W^V_i)

    and puts out [H^w; H^l]. One table x^l of labels serves all layers. The last layer of the paper's network has the
    BiLSTM only (`attend_last` is false), since its attention is the output: that is the tag head `label_attention`,
    which `nef_tagger` gives the same table.

    As in AllenNLP's recurrent encoders, padding stands at the end of a sentence.

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
        The scores are divided by sqrt(d_h), as in the paper; if true, by sqrt(d_h / k), as in its authors' code.
    dropout : `float`, optional (default = `0.0`)
        In [0, 1), of H^w in the layers that attend. That of the output is the model's.
    label_namespace : `str`, optional (default = `"labels"`)
        The model's.
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
        mask: Optional[torch.Tensor] = None,
        keep_trace: bool = False,
        tag_scorer: Optional[TagScorer] = None,
    ) -> Tuple[torch.Tensor, Optional[LabelTrace]]:
        inputs, mask = without_padding(inputs, mask)
        lengths = mask.sum(-1)
        # Padding stays out; a sentence without words has it for one.
        packed = pack_padded_sequence(
            inputs, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )

        def padded(rows: torch.Tensor) -> torch.Tensor:
            """(words, ...) -> (batch, tokens, ...), with 0 in padding."""
            of_batch, _ = pad_packed_sequence(
                packed._replace(data=rows), batch_first=True, total_length=mask.size(1)
            )
            return of_batch.masked_fill(~mask.unsqueeze(-1), 0)

        words: Union[torch.Tensor, LabelStates] = packed.data
        distributions = []
        for layer in self.layers:
            refined: LabelStates = layer(words, packed.batch_sizes, self.label_table.weight)
            words = refined
            if keep_trace:
                distributions.append(padded(refined.weights.mean(1)))
        if self.last_lstm is not None:
            output = padded(self.last_lstm(words, packed.batch_sizes))
        else:
            output = padded(refined.joined())
        if not keep_trace:
            return output, None
        if distributions:
            kept = torch.stack(distributions, 1)
        else:
            kept = output.new_zeros(len(output), 0, output.size(1), len(self.label_table.weight))
        num_steps = (lengths > 0).long() * (kept.size(1) + 1)
        return output, LabelTrace(kept, output, num_steps)

    @overrides
    def decisions(self, inputs: torch.Tensor, trace: Any, decide: Decide) -> Iterator[Decision]:
        for table in trace.distributions.unbind(1):
            probabilities, tags = table.max(-1)
            yield tags, probabilities
        yield decide(trace.output)
