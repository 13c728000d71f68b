from collections.abc import Sequence

import torch
from allennlp.common.checks import ConfigurationError

from allennlp_nef.data.formats.chunks import is_allowed, split_tag

_PREFIXES = {"BIO": "BIO", "BIOUL": "BIOULES"}


def forbidden_transitions(
    labels: Sequence[str], scheme: str
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The transitions, starts and ends that no well-formed sequence of the labels has.

    # Parameters

    labels : `Sequence[str]`
        By index.
    scheme : `str`
        "BIO" or "BIOUL".

    # Returns

    `tuple[torch.BoolTensor, torch.BoolTensor, torch.BoolTensor]`: True = forbidden
        - (labels, labels): the column's label after the row's.
        - (labels,): at the start of a sentence.
        - (labels,): at the end of a sentence.

    # Raises

    `ConfigurationError`: another scheme; a label that is not of the scheme; a label that no well-formed sequence
    contains, such as an I-X of "BIO" without a B-X.
    """
    if scheme not in _PREFIXES:
        raise ConfigurationError(f'constraints: expected "BIO", "BIOUL" or null, got {scheme!r}')
    for label in labels:
        if not _is_of(scheme, label):
            raise ConfigurationError(f"constraints: expected labels of {scheme}, got {label!r}")
    follows = torch.tensor([[is_allowed(a, b, scheme) for b in labels] for a in labels])
    starts = torch.tensor([is_allowed(None, label, scheme) for label in labels])
    ends = torch.tensor([is_allowed(label, None, scheme) for label in labels])
    useless = ~(_reachable(starts, follows) & _reachable(ends, follows.t()))
    if useless.any():
        raise ConfigurationError(
            f"constraints: no {scheme} sequence of the vocabulary's labels contains "
            f"{', '.join(labels[i] for i in useless.nonzero().flatten())}; are the data's tags of that scheme?"
        )
    return ~follows, ~starts, ~ends


def _is_of(scheme: str, label: str) -> bool:
    try:
        return split_tag(label)[0] in _PREFIXES[scheme]
    except ValueError:
        return False


def _reachable(sources: torch.Tensor, follows: torch.Tensor) -> torch.Tensor:
    """The labels that some sequence from a source leads to."""
    reached = sources
    while True:
        extended = reached | (follows & reached.unsqueeze(1)).any(0)
        if torch.equal(extended, reached):
            return reached
        reached = extended
