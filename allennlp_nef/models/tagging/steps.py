"""What a tagger does with the steps of its decoder."""

from collections.abc import Sequence
from typing import cast

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn.util import dist_reduce_sum

from allennlp_nef.data.metadata import TaggingMetadata
from allennlp_nef.models.encoding import parts_of
from allennlp_nef.modules.halting import BatchHalting, Halting
from allennlp_nef.modules.registered_name import registered_name
from allennlp_nef.modules.seq2seq_encoders import NeuralEasyFirst
from allennlp_nef.modules.step_loss import StepLoss


def check_has_steps(option: str, decoder: Seq2SeqEncoder | None) -> None:
    """Raises a `ConfigurationError` for an option of the model where its decoder has no steps, or one."""
    if decoder is None:
        raise ConfigurationError(f"{option}: expected the decoder neural_easy_first, got none")
    last = parts_of(decoder)[-1]
    if not isinstance(last, NeuralEasyFirst):
        got = registered_name(Seq2SeqEncoder, last)
        raise ConfigurationError(f"{option}: expected the decoder neural_easy_first, got {got}")
    if last.num_steps == 1:
        raise ConfigurationError(f"{option}: expected a decoder with num_steps of 2 or more, got 1")


def check_step_options(
    decoder: Seq2SeqEncoder | None, step_loss: StepLoss | None, halting: Halting | None
) -> None:
    """Raises a `ConfigurationError` where the options of a model and its decoder do not go together."""
    for name, option in (("step_loss", step_loss), ("halting", halting)):
        if option is not None:
            check_has_steps(name, decoder)
    rate = learned_rate(decoder)
    if rate is not None and step_loss is None:
        raise ConfigurationError(
            "halting_rate: expected the option step_loss of the model, got none"
        )
    if step_loss is not None:
        step_loss.check_halting_rate(rate)
    check_can_halt(halting, decoder)


def learned_rate(decoder: Seq2SeqEncoder | None) -> float | None:
    """The `halting_rate` of a decoder, if it has one."""
    last = None if decoder is None else parts_of(decoder)[-1]
    head = last.halting if isinstance(last, NeuralEasyFirst) else None
    return None if head is None else head.rate


def check_can_halt(halting: Halting | None, decoder: Seq2SeqEncoder | None) -> None:
    """Raises a `ConfigurationError` for the halting `learned` where the decoder has not learned it."""
    if halting is not None and halting.is_learned and learned_rate(decoder) is None:
        raise ConfigurationError(
            "halting: learned: expected a decoder trained with halting_rate, got one without it"
        )


def has_steps(decoder: Seq2SeqEncoder | None) -> bool:
    """Whether the sentences of a decoder can halt."""
    return decoder is not None and isinstance(parts_of(decoder)[-1], NeuralEasyFirst)


def batch_halting(
    own: Halting | None, metadata: Sequence[TaggingMetadata | None], mask: torch.Tensor
) -> BatchHalting | None:
    """The halting of each sentence: that of its metadata or the model's own. None where no sentence has one."""
    if own is None and all(
        item is None or (item.halting is None and item.max_steps is None) for item in metadata
    ):
        return None
    items = metadata or [None] * len(mask)
    haltings = [
        own if item is None or item.halting is None else cast(Halting, item.halting)
        for item in items
    ]
    return BatchHalting(
        haltings, [None if item is None else item.max_steps for item in items], mask
    )


class MeanSteps:
    """Counts the steps of sentences that may halt, for a score."""

    def __init__(self) -> None:
        self._steps = self._sentences = 0

    def add(self, num_steps: torch.Tensor) -> None:
        """Adds a batch: (batch,)."""
        self._steps += int(num_steps.sum())
        self._sentences += len(num_steps)

    def scores(self, reset: bool) -> dict[str, float]:
        """`mean_steps`, if there are sentences. With `reset` of all processes together, which all have to call it."""
        steps, sentences = self._steps, self._sentences
        if reset:
            steps, sentences = int(dist_reduce_sum(steps)), int(dist_reduce_sum(sentences))
            self._steps = self._sentences = 0
        return {"mean_steps": steps / sentences} if sentences else {}
