from collections.abc import Callable, Sequence
from typing import Any

import torch


class WordVectors(torch.nn.Embedding):
    """The embedders of a model as one layer, for `allennlp.interpret`.

    A hook is registered with each of the embedders. AllenNLP's interpreters remove the dimension of the batch in their
    hooks, and then read the vector of the first word as that of all words: their hooks get one dimension more here.

    # Parameters

    embedders : `Sequence[torch.nn.Module]`
    vectors : `Callable[[], torch.Tensor]`
        Gives the vectors of the words of the vocabulary (words, dim): `weight`, which `Hotflip` reads once.
    """

    def __init__(
        self, embedders: Sequence[torch.nn.Module], vectors: Callable[[], torch.Tensor]
    ) -> None:
        torch.nn.Module.__init__(self)  # it has no parameters of its own
        self._embedders = tuple(embedders)
        self._vectors = vectors

    @property
    def weight(self) -> torch.Tensor:  # type: ignore[override]
        return self._vectors()

    def register_forward_hook(self, hook: Any) -> "Handles":  # type: ignore[override]
        def with_one_dimension_more(module: Any, inputs: Any, output: torch.Tensor) -> None:
            hook(module, inputs, output.unsqueeze(0))

        return Handles(
            [each.register_forward_hook(with_one_dimension_more) for each in self._embedders]
        )

    def register_backward_hook(self, hook: Any) -> "Handles":  # type: ignore[override]
        return Handles([each.register_backward_hook(hook) for each in self._embedders])


class Handles:
    """Handles of hooks that are removed together."""

    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
