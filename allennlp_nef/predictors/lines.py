"""The requests of a file of JSON lines, or of lines of plain text."""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from allennlp.common.util import JsonDict

from allennlp_nef.errors import UserError
from allennlp_nef.predictors.errors import describe, failure_message, request_error

logger = logging.getLogger(__name__)
Parse = Callable[[Any, str], Any]
Read = Callable[[str, str], Any]
"""What gives the request of a line. It takes the beginning of messages, too."""


class LoadedRequest(dict[str, Any]):
    """The request of a line: a JSON object, not to be changed, with what `parse` returned for it."""

    parsed: Any = None
    where: str = ""
    """Which request it is: the beginning of a message about it."""
    error: str | None = None
    """Why there is no request in the line, which is then the value of `line`."""
    id: Any = None
    """That of a request with an error."""


def read_json(line: str, where: str, hint: str = "") -> Any:
    """The value of a line of JSON. Raises `request_error`, its message between `where` and `hint`."""
    try:
        return json.loads(line.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise request_error(
            f"{where}expected a JSON object on one line, got {describe(line.strip())} ({error}){hint}"
        ) from error


def load_request(line: str, parse: Parse, where: str, read: Read = read_json) -> LoadedRequest:
    """The request of a line. Raises `request_error`, its message after `where`."""
    return _checked(read(line, where), parse, where)


def _checked(request: Any, parse: Parse, where: str) -> LoadedRequest:
    parsed = parse(request, where)
    loaded = LoadedRequest(request)
    loaded.parsed, loaded.where = parsed, where
    return loaded


Predict = Callable[[list[LoadedRequest]], Iterable[JsonDict]]
"""What gives the answers to requests."""


class SkippedLines:
    """Answers lines, with an object that has `error` in place of an answer where a line cannot be answered.

    A warning for each of these has their number so far.
    """

    def __init__(self) -> None:
        self.count = 0

    def load(self, line: str, parse: Parse, where: str, read: Read = read_json) -> LoadedRequest:
        """The request of a line, or what stands for it."""
        request = None
        try:
            request = read(line, where)
            return _checked(request, parse, where)
        except UserError as error:
            loaded = LoadedRequest(line=line.strip())
            loaded.error = str(error)
            loaded.id = id_of(request)
            return loaded

    def answers(
        self,
        requests: Sequence[LoadedRequest],
        predict: Predict,
    ) -> Iterator[JsonDict]:
        """The answers to lines. Where `predict` fails for all together, each other request is tried alone."""
        good = [request for request in requests if request.error is None]
        # `predict` is called with the first `next`.
        together = chain.from_iterable(map(predict, [good])) if len(good) > 1 else None
        for request in requests:
            if request.error is None and together is not None:
                try:
                    yield next(together)
                    continue
                except Exception:  # it comes again below, for the request that it belongs to
                    logger.debug("A batch of lines failed.", exc_info=True)
                    together = None
            yield self._answer(request, predict)

    def _answer(
        self,
        request: LoadedRequest,
        predict: Predict,
    ) -> JsonDict:
        message, own_id = request.error, request.id
        if message is None:
            own_id = id_of(request)
            try:
                (answer,) = predict([request])
                return answer
            except Exception as error:  # noqa: BLE001  # whatever the model raises is the answer
                message = request.where + failure_message(error)
        self.count += 1
        logger.warning("%s (skipped, %d so far)", message, self.count)
        return {**({} if own_id is None else {"id": own_id}), "error": message}


def id_of(request: Any) -> Any:
    """The field `id` of a request, which its answer has too; None where it has none."""
    return request.get("id") if isinstance(request, dict) else None
