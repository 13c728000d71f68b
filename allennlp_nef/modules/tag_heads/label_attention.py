from typing import Any

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from overrides import overrides

from allennlp_nef.modules.label_table import LabelTable
from allennlp_nef.modules.tag_heads.softmax import SoftmaxDecoding
from allennlp_nef.modules.tag_heads.tag_head import TagHead


@TagHead.register("label_attention")
class LabelAttentionTagHead(SoftmaxDecoding):
    """A `TagHead` whose probabilities are an attention to the labels: p_i = softmax(x^l h_i / sqrt(d_h)), one head.

    The output of Cui & Zhang, "Hierarchically-Refined Label Attention Network for Sequence Labeling" (EMNLP 2019),
    Section 3.3, trained with its log-likelihood. Without `scaled`, on a BiLSTM, it is a softmax layer without bias
    whose weights are the label table (Section 4.5).

    Registered as a `TagHead` with name "label_attention".

    # Parameters

    label_table : `LabelTable`, optional (default = `None`)
        The model fills in the table of the encoder `label_attention`. Without one, the head has a table of its own.
    scaled : `bool`, optional (default = `True`)
        Whether scores are divided by sqrt(d_h).
    input_dim, vocab, label_namespace, label_weights, average
        See `TagHead`.
    """

    def __init__(
        self,
        input_dim: int,
        vocab: Vocabulary,
        label_table: LabelTable | None = None,
        scaled: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, vocab, **kwargs)
        if label_table is None:
            label_table = self.label_table = LabelTable(self.num_labels, input_dim)
        # In a tuple: the table of an encoder is no submodule of this module.
        self._shared: tuple[LabelTable] = (label_table,)
        expected, got = (self.num_labels, input_dim), tuple(label_table.weight.shape)
        if got != expected:
            raise ConfigurationError(
                "label_attention: expected an encoder of which the label table has the model's labels and the last "
                f"layer has the dimension of the labels (attend_last: false), {expected}, got {got}"
            )
        self._scale = input_dim**-0.5 if scaled else 1.0

    @overrides
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        return states @ (self._shared[0].weight.t() * self._scale)
