"""How a tagger came to its tags, as data.

What the figures show of Martins & Kreutzer (EMNLP 2017, Figures 2 to 4), Cui & Zhang (EMNLP 2019, Figure 1) and Wei et
al., "Position-Aware Self-Attention based Neural Sequence Labeling" (Figure 6).
"""

from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional, Sequence, Union

import numpy
import torch

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models.encoding import Traced
from allennlp_nef.modules.seq2seq_encoders.label_attention import LabelTrace
from allennlp_nef.modules.seq2seq_encoders.position_aware_self_attention import (
    SelfAttentionTrace,
)
from allennlp_nef.modules.seq2seq_encoders.traced_encoder import Decision
from allennlp_nef.modules.tag_heads import TagHead


class DecisionTrace(NamedTuple):
    """The decisions for one sentence, of the steps of `neural_easy_first` or of the layers of `label_attention`.

    Steps and words count from 0 in the arrays, steps from 1 in their values.
    """

    tokens: List[str]
    """The words; empty where they are not known."""
    tags: List[str]
    """The predicted labels, those after the last step."""
    attention: Optional[numpy.ndarray]
    """alpha: (steps, words); None for layers, which attend to no words."""
    coverage: Optional[numpy.ndarray]
    """beta after each step, the sum of the attention so far: (steps, words); or None."""
    provisional_tags: List[List[str]]
    """The labels if each step were the last one: steps x words. Of `neural_easy_first` those of the output layer on
    [h; s^n]; of `label_attention` the most probable ones of each layer's attention, its heads averaged."""
    provisional_probabilities: numpy.ndarray
    """The probabilities of those: (steps, words)."""
    settled_at: numpy.ndarray
    """The first step after which a word's label no longer changes, from 1: (words,)."""
    most_attended_at: Optional[numpy.ndarray]
    """The step of a word's largest attention, from 1, the first of several: (words,); or None."""
    distributions: Optional[numpy.ndarray] = None
    """Of `label_attention` alpha of each layer, its heads averaged, and the output: (layers, words, labels), the labels
    in the order of the vocabulary; else None."""

    def to_json(self) -> Dict[str, Any]:
        """The same fields but `distributions` as lists, numbers rounded to 6 decimals."""
        fields = self._asdict()
        del fields["distributions"]
        return {name: _as_json(value) for name, value in fields.items()}


class FusionTrace(NamedTuple):
    """Where the words of one sentence looked, of `position_aware_self_attention`."""

    tokens: List[str]
    """The words; empty where they are not known."""
    tags: List[str]
    """The predicted labels."""
    attention: numpy.ndarray
    """a: (words, words), a row of what each word attends to."""
    gates: numpy.ndarray
    """lambda, how much of each number of its own vector a word keeps: (words, dim)."""

    def to_json(self) -> Dict[str, Any]:
        """The same fields as lists, numbers rounded to 6 decimals; of the gates, the mean of each word."""
        return {
            name: _as_json(value.mean(1) if name == "gates" else value)
            for name, value in self._asdict().items()
        }


Trace = Union[DecisionTrace, FusionTrace]


class ProvisionalTags(NamedTuple):
    """The decisions for a batch."""

    tag_ids: torch.Tensor
    """(batch, steps, tokens), long."""
    probabilities: torch.Tensor
    """Of these labels: (batch, steps, tokens)."""
    distributions: Optional[torch.Tensor]
    """Of layers, those over all labels: (batch, layers, tokens, labels)."""


@torch.no_grad()
def provisional_tags(
    tag_head: TagHead, traced: Traced, mask: torch.Tensor
) -> Optional[ProvisionalTags]:
    """The tags after each step of an encoder, in a batch; None if it has no steps."""
    tables: Deque[torch.Tensor] = deque(maxlen=1)  # the last one is enough

    def decide(output: torch.Tensor) -> Decision:
        scores = tag_head.scores(output)
        chosen = tag_head.decode(scores, mask)
        tables.append(tag_head.probabilities(scores, mask))
        return chosen, tables[-1].gather(-1, chosen.unsqueeze(-1)).squeeze(-1)

    decisions = list(traced.encoder.decisions(traced.inputs, traced.trace, decide))
    if not decisions:
        return None
    tag_ids, probabilities = zip(*decisions)
    distributions = None
    if isinstance(traced.trace, LabelTrace):
        of_layers = traced.trace.distributions
        of_output = tables[-1].unsqueeze(1).to(of_layers.dtype)
        distributions = torch.cat([of_layers, of_output], 1)
    return ProvisionalTags(torch.stack(tag_ids, 1), torch.stack(probabilities, 1), distributions)


def wants_trace(metadata: Any) -> bool:
    """Whether the attention of this instance is wanted, or more."""
    return isinstance(metadata, TaggingMetadata) and (
        metadata.keep_trace or metadata.keep_decisions
    )


def wants_decisions(metadata: Any) -> bool:
    """Whether the tags after each step of this instance are wanted too."""
    return isinstance(metadata, TaggingMetadata) and metadata.keep_decisions


def readable_traces(
    output: Dict[str, Any],
    lengths: Sequence[int],
    names: Dict[int, str],
    tags: Sequence[List[str]],
) -> Dict[str, List[Any]]:
    """`attention` and, if any instance wanted it, `decisions`, from the output of the model: one entry an instance.

    None where it was not wanted. names: the labels; tags: the predicted ones of each instance.
    """
    trace, provisional = output["trace"], output.get("decisions")
    attention: List[Any] = []
    decisions: List[Any] = []
    for i, (item, length) in enumerate(zip(output["metadata"], lengths)):
        attention.append(None)
        decisions.append(None)
        if not wants_trace(item):
            continue
        rows = slice(int(trace.num_steps[i]))
        weights: Any = None
        if trace.attention is not None:
            weights = _array(trace.attention[i, rows, :length])
            attention[-1] = weights.tolist()
        if not wants_decisions(item):
            continue
        if isinstance(trace, SelfAttentionTrace):
            gates = _array(trace.gates[i, rows])
            decisions[-1] = FusionTrace(item.tokens, tags[i], weights, gates)
        elif provisional is not None:
            tables = provisional.distributions
            decisions[-1] = decision_trace(
                item.tokens,
                weights,
                provisional.tag_ids[i, rows, :length].cpu().numpy(),
                _array(provisional.probabilities[i, rows, :length]),
                names,
                None if tables is None else _array(tables[i, rows, :length]),
            )
    has_decisions = any(decision is not None for decision in decisions)
    return {"attention": attention, **({"decisions": decisions} if has_decisions else {})}


def decision_trace(
    tokens: List[str],
    attention: Optional[numpy.ndarray],
    tag_ids: numpy.ndarray,
    probabilities: numpy.ndarray,
    names: Dict[int, str],
    distributions: Optional[numpy.ndarray] = None,
) -> DecisionTrace:
    """Of a sentence, from its attention, if any, provisional tags and their probabilities: (steps, words) each; and
    the distributions (steps, words, labels) of layers."""
    tags = [[names[tag] for tag in row] for row in tag_ids.tolist()]
    return DecisionTrace(
        tokens,
        tags[-1],
        attention,
        None if attention is None else attention.cumsum(0),
        tags,
        probabilities,
        _settled_at(tag_ids),
        None if attention is None else attention.argmax(0) + 1,
        distributions,
    )


def _settled_at(tag_ids: numpy.ndarray) -> numpy.ndarray:
    """(steps, words) -> the first step, from 1, from which on a word's tag is the last one."""
    is_other = tag_ids != tag_ids[-1]
    # Counted from the end: the steps since the last one with another tag.
    same = numpy.cumprod(~is_other[::-1], axis=0).sum(0)
    return len(tag_ids) - same + 1


def _as_json(value: Any) -> Any:
    if not isinstance(value, numpy.ndarray):
        return value
    if value.dtype.kind == "f":
        value = value.astype(float).round(6)  # in float64, which has these decimals
    return value.tolist()


def _array(tensor: torch.Tensor) -> numpy.ndarray:
    return tensor.detach().float().cpu().numpy()
