from typing import Any

import torch
from allennlp.data.fields import TensorField


class NumberField(TensorField):
    """
    A number; a batch of them is a `torch.FloatTensor` (batch,).

    It is pickled as a Python number. A pickled tensor would hold one open file an instance.

    # Parameters

    number : `float`
    """

    __slots__ = ["number"]

    def __init__(self, number: float) -> None:
        super().__init__(torch.tensor(number, dtype=torch.float))
        self.number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return NumberField, (self.number,)
