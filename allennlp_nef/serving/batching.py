"""Requests of many threads, answered together."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from itertools import accumulate
from typing import Any

import torch
from allennlp.common.util import JsonDict
from allennlp.data import Instance

from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.models.base import options_of
from allennlp_nef.predictors.base import CheckedPredictor

Waiting = tuple[list[Instance], "Future[list[JsonDict]]"]
"""The instances of a request, and where their answers go."""


class BatchingPredictor:
    """Answers requests from many threads, in a thread of its own.

    Requests that come while it is busy are answered together next. Nothing waits for others to come. The thread starts
    with the first request, so that the process can be forked before.

    # Parameters

    predictor : `CheckedPredictor`
        Its `batch_size` is the number of instances up to which requests are put together.
    observe : `Callable[[int], Any]`
        Called with the number of instances that are answered together.
    """

    def __init__(self, predictor: CheckedPredictor, observe: Callable[[int], Any]) -> None:
        self._predictor = predictor
        self._observe = observe
        self._waiting: deque[Waiting] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def answers(self, instances: list[Instance]) -> list[JsonDict]:
        """The answers to instances, in their order. Raises what the predictor raises."""
        future: Future[list[JsonDict]] = Future()
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="predicting", daemon=True)
                self._thread.start()
            self._waiting.append((instances, future))
            self._changed.notify()
        return future.result()

    def _run(self) -> None:
        torch.set_num_threads(torch.get_num_threads())  # OpenMP has a number for each thread
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                group = self._next_group()
            self._answer(group)

    def _next_group(self) -> list[Waiting]:
        """The requests that have waited longest: at least one, or as many as have at most `batch_size` instances."""
        group = [self._waiting.popleft()]
        count = len(group[0][0])
        while self._waiting and count + len(self._waiting[0][0]) <= self._predictor.batch_size:
            group.append(self._waiting.popleft())
            count += len(group[-1][0])
        return group

    def _answer(self, group: list[Waiting]) -> None:
        try:
            answers = self._answers([instance for instances, _ in group for instance in instances])
            ends = accumulate(len(instances) for instances, _ in group)
            parts = [
                answers[end - len(instances) : end] for (instances, _), end in zip(group, ends)
            ]
        except BaseException as error:  # it is raised where the answer is waited for
            if len(group) > 1 and isinstance(error, Exception):
                for request in group:  # for the request that it belongs to
                    self._answer([request])
                return
            for _, future in group:
                future.set_exception(error)
            if not isinstance(error, Exception):
                raise  # it ends this thread; the next request starts another
            return
        for (_, future), part in zip(group, parts):
            future.set_result(part)

    def _answers(self, instances: list[Instance]) -> list[JsonDict]:
        """Those of similar length, and those with a trace, go through the model together."""
        self._observe(len(instances))
        order = sorted(range(len(instances)), key=lambda index: _size(instances[index]))
        answers = self._predictor.predict_batch_instance([instances[index] for index in order])
        return [answer for _, answer in sorted(zip(order, answers), key=lambda pair: pair[0])]


def _size(instance: Instance) -> tuple[bool, int]:
    return options_of(instance).is_traced, len(metadata_of(instance))
