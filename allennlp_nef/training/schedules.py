"""Schedules of learning rates, and averages of parameters."""

from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
from allennlp.training.moving_average import ExponentialMovingAverage, MovingAverage
from overrides import overrides


@LearningRateScheduler.register("inverse_time")
class InverseTime(LearningRateScheduler):
    """The learning rate eta_0 / (1 + rho t) after t epochs.

    As in Cui & Zhang (EMNLP 2019), rho = 0.035, and Wei et al., "Position-Aware Self-Attention based Neural Sequence
    Labeling", rho = 0.05. eta_0 is the learning rate of the optimizer.

    Registered as a `LearningRateScheduler` with name "inverse_time".

    # Parameters

    rate : `float`
        rho, at least 0.
    """

    def __init__(self, optimizer: Any, rate: float, last_epoch: int = -1) -> None:
        if rate is None or not 0 <= rate < float("inf"):
            raise ConfigurationError(f"rate: expected a number of at least 0, got {rate}")
        self.rate = rate
        super().__init__(optimizer, last_epoch)

    @overrides
    def get_values(self) -> list[float]:
        # AllenNLP calls this at the end of an epoch: last_epoch is 0 after the first one.
        return [value / (1 + self.rate * (self.last_epoch + 1)) for value in self.base_values]


@MovingAverage.register("resumable_exponential")
class ResumableExponentialMovingAverage(ExponentialMovingAverage):
    """AllenNLP's `exponential`, with averages that `train --recover` continues.

    That of AllenNLP 2.10.1 takes the parameters of the checkpoint, which are copies, in place of those of the model:
    after a recovery, what is validated and saved is no average any more.

    Registered as a `MovingAverage` with name "resumable_exponential".

    # Parameters

    parameters : `Iterable[tuple[str, Parameter]]`
        The trainer fills it in.
    decay : `float`, optional (default = `0.9999`)
        At least 0, below 1. After n batches it is at most (`numerator` + n) / (`denominator` + n).
    numerator, denominator : `float`, optional (default = `1.0`, `10.0`)
        See `decay`.
    """

    def __init__(self, parameters: Any, decay: float = 0.9999, **kwargs: Any) -> None:
        if not 0 <= decay < 1:
            raise ConfigurationError(f"decay: expected a number in [0, 1), got {decay}")
        super().__init__(parameters, decay, **kwargs)

    @overrides
    def state_dict(self) -> dict[str, Any]:
        return {"shadows": self._shadows, "backups": self._backups}

    @overrides
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        for name in self._shadows:
            self._shadows[name].copy_(state_dict["shadows"][name])
            self._backups[name].copy_(state_dict["backups"][name])
