"""The files of AllenNLP's command `predict`: the output is opened when there is something to write."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from allennlp.commands import predict
from overrides import overrides

from allennlp_nef.data.formats.text_files import undecodable
from allennlp_nef.errors import DataFormatError

_COMPRESSED = (".gz", ".bz2")
_Manager: Any = predict._PredictManager


class _CheckedManager(_Manager):
    """Opens the output when the first sentence has been read. Raises a `DataFormatError` where there is none."""

    def __init__(
        self, predictor: Any, input_file: str, output_file: str | None, *arguments: Any
    ) -> None:
        super().__init__(predictor, input_file, None, *arguments)
        self._output_path = output_file
        self._name = "standard input" if input_file == "-" else input_file

    @overrides(check_signature=False)
    def _get_json_data(self) -> Iterator[Any]:
        try:
            yield from self._opening_output(super()._get_json_data())
        except UnicodeDecodeError as error:
            if os.path.isfile(self._input_file) and not self._input_file.endswith(_COMPRESSED):
                raise undecodable(self._input_file, "utf-8") from error  # it says in which line
            raise DataFormatError(
                f"{self._name}: expected UTF-8, got byte 0x{error.object[error.start]:02x}"
            ) from error

    @overrides(check_signature=False)
    def _get_instance_data(self) -> Iterator[Any]:
        yield from self._opening_output(super()._get_instance_data())

    def _opening_output(self, sentences: Iterator[Any]) -> Iterator[Any]:
        """The sentences. Opens the output after the first one."""
        first = next(sentences, None)
        if first is None:
            raise DataFormatError(f"{self._name}: expected at least one sentence, got none")
        if self._output_path is not None:
            self._output_file = open(self._output_path, "w", encoding="utf-8")  # noqa: SIM115  # `run` closes it
        yield from chain([first], sentences)


@contextmanager
def checked_files() -> Iterator[None]:
    """Lets AllenNLP's command read its input first."""
    module: Any = predict
    module._PredictManager = _CheckedManager
    try:
        yield
    finally:
        module._PredictManager = _Manager
