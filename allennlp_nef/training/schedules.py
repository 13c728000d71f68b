"""The `inverse_time` learning rate scheduler."""

import torch
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from allennlp_nef.options import check_numbers


@LearningRateScheduler.register("inverse_time")
class InverseTime(LearningRateScheduler):
    """The learning rate eta_0 / (1 + rho t) after t epochs, where eta_0 is the learning rate of the optimizer.

    Used by Cui & Zhang (EMNLP 2019) with rho = 0.035, and by Wei et al., "Position-Aware Self-Attention based Neural
    Sequence Labeling", with rho = 0.05.

    # Parameters

    optimizer : `torch.optim.Optimizer`
        The trainer supplies it.
    rate : `float`
        rho, at least 0.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, rate: float, last_epoch: int = -1) -> None:
        check_numbers(0, rate=rate)
        self.rate = rate
        super().__init__(optimizer, last_epoch)

    def get_values(self) -> list[float]:
        # `last_epoch` is 0 when AllenNLP calls this after the first epoch.
        return [value / (1 + self.rate * (self.last_epoch + 1)) for value in self.base_values]
