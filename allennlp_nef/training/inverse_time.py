from typing import Any

from allennlp.common.checks import ConfigurationError
from allennlp.training.learning_rate_schedulers import LearningRateScheduler
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
