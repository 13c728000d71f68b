"""What a decoder did to a sentence, step by step: Figures 2 to 4 of Martins & Kreutzer (EMNLP 2017) as data."""

from typing import Any, Dict, Iterable, List, NamedTuple, Sequence

import numpy
import torch

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.modules.tag_heads import TagHead


class DecisionTrace(NamedTuple):
    """The decisions for one sentence. Steps and words count from 0 in the arrays, steps from 1 in their values."""

    tokens: List[str]
    """The words; empty where they are not known."""
    tags: List[str]
    """The predicted labels, those after the last step."""
    attention: numpy.ndarray
    """alpha: (steps, words)."""
    coverage: numpy.ndarray
    """beta after each step, the sum of the attention so far: (steps, words)."""
    provisional_tags: List[List[str]]
    """The labels if each step were the last one, from the output layer on [h; s^n]: steps x words."""
    provisional_probabilities: numpy.ndarray
    """The probabilities of those: (steps, words)."""
    settled_at: numpy.ndarray
    """The first step after which a word's label no longer changes, from 1: (words,)."""
    most_attended_at: numpy.ndarray
    """The step of a word's largest attention, from 1, the first of several: (words,)."""

    def to_json(self) -> Dict[str, Any]:
        """The same fields as lists, numbers rounded to 6 decimals."""
        return {name: _as_json(value) for name, value in self._asdict().items()}


class ProvisionalTags(NamedTuple):
    """The decisions for a batch."""

    tag_ids: torch.Tensor
    """(batch, steps, tokens), long."""
    probabilities: torch.Tensor
    """Of these labels: (batch, steps, tokens)."""


@torch.no_grad()
def provisional_tags(
    tag_head: TagHead, outputs: Iterable[torch.Tensor], mask: torch.Tensor
) -> ProvisionalTags:
    """The tags after each step, from what the decoder's output (batch, tokens, dim) is then."""
    tag_ids: List[torch.Tensor] = []
    probabilities: List[torch.Tensor] = []
    for output in outputs:
        scores = tag_head.scores(output)
        chosen = tag_head.decode(scores, mask)
        table = tag_head.probabilities(scores, mask)
        tag_ids.append(chosen)
        probabilities.append(table.gather(-1, chosen.unsqueeze(-1)).squeeze(-1))
    return ProvisionalTags(torch.stack(tag_ids, 1), torch.stack(probabilities, 1))


def wants_trace(metadata: Any) -> bool:
    """Whether the attention of this instance is wanted, or more."""
    return isinstance(metadata, TaggingMetadata) and (
        metadata.keep_trace or metadata.keep_decisions
    )


def wants_decisions(metadata: Any) -> bool:
    """Whether the tags after each step of this instance are wanted too."""
    return isinstance(metadata, TaggingMetadata) and metadata.keep_decisions


def readable_traces(
    output: Dict[str, Any], lengths: Sequence[int], names: Dict[int, str]
) -> Dict[str, List[Any]]:
    """`attention` and, if any instance wanted it, `decisions`, from the output of the model: one entry an instance.

    None where it was not wanted. names: the labels.
    """
    trace, provisional = output["trace"], output.get("decisions")
    attention: List[Any] = []
    decisions: List[Any] = []
    for i, (item, length) in enumerate(zip(output["metadata"], lengths)):
        attention.append(None)
        decisions.append(None)
        if not wants_trace(item):
            continue
        weights = _array(trace.attention[i, : trace.num_steps[i], :length])
        attention[-1] = weights.tolist()
        if provisional is not None and wants_decisions(item):
            decisions[-1] = decision_trace(
                item.tokens,
                weights,
                provisional.tag_ids[i, : len(weights), :length].cpu().numpy(),
                _array(provisional.probabilities[i, : len(weights), :length]),
                names,
            )
    return {"attention": attention, **({} if provisional is None else {"decisions": decisions})}


def decision_trace(
    tokens: List[str],
    attention: numpy.ndarray,
    tag_ids: numpy.ndarray,
    probabilities: numpy.ndarray,
    names: Dict[int, str],
) -> DecisionTrace:
    """From the attention, the provisional tags and their probabilities, (steps, words) each, of one sentence."""
    tags = [[names[tag] for tag in row] for row in tag_ids.tolist()]
    return DecisionTrace(
        tokens,
        tags[-1],
        attention,
        attention.cumsum(0),
        tags,
        probabilities,
        _settled_at(tag_ids),
        attention.argmax(0) + 1,
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
