import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
)

import torch

from allennlp_nef.bulk.answers import Item, Outcome, answers_to
from allennlp_nef.bulk.columns import ERROR, arrow_schema
from allennlp_nef.errors import UserError, quote
from allennlp_nef.modules.checks import is_integer
from allennlp_nef.packages import import_packages
from allennlp_nef.predictors import WordQePredictor
from allennlp_nef.predictors.archives import load_predictor

if TYPE_CHECKING:
    import pyarrow

LEFT_OUT = ("attention", "trace", "base_rate")
"""What answers may have and rows have not: it has no column, or is the same for all sentences."""
REFUSED = ("attention", "trace", "max_batch", "on_error", "input_format")
"""Options of predictors that would change nothing."""


class RowTagger:
    """Tags rows: dictionaries, of which some fields are those of a request.

    # Parameters

    archive : `str`
    cuda_device : `int`, optional (default = `-1`)
    threads : `int`, optional (default = `None`)
    columns : `Mapping[str, str]`, optional (default = `None`)
    fields : `Sequence[str]`, optional (default = `None`)
    include_package : `Sequence[str]`, optional (default = `()`)
    trust : `bool`, optional (default = `False`)
        See `Tagger`.
    options
        Those of the predictor, also `output_format`.

    # Raises

    `UserError`: what `load_predictor` raises, an unknown field, an option that would change nothing.
    """

    def __init__(
        self,
        archive: str,
        cuda_device: int = -1,
        threads: int | None = None,
        columns: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
        include_package: Sequence[str] = (),
        trust: bool = False,
        **options: Any,
    ) -> None:
        for name in REFUSED:
            if name in options:
                raise UserError(f"{name}: expected no such option for a corpus, got one")
        if threads is not None:
            if not is_integer(threads):
                raise UserError(f"threads: expected an integer of at least 1, got {threads!r}")
            torch.set_num_threads(threads)
        import_packages(include_package)
        if not isinstance(columns, (type(None), Mapping)):
            raise UserError(f"columns: expected names by names, got {quote(columns)}")
        self.predictor = load_predictor(os.fspath(archive), cuda_device, trust=trust, **options)
        self._is_word_qe = isinstance(self.predictor, WordQePredictor)
        inputs = ("source", "target", "alignments") if self._is_word_qe else ("sentence", "tokens")
        for name, column in (columns or {}).items():
            if name not in inputs or not isinstance(column, str):
                raise UserError(
                    f"columns: expected the columns of {', '.join(inputs)}, got {quote({name: column})}"
                )
        self.inputs = {name: (columns or {}).get(name, name) for name in inputs}
        """The column of each field of a request."""
        pair = {"source": "a", "target": "a", "alignments": "0-0"}
        sample = self.predictor.predict_json(pair if self._is_word_qe else {"sentence": "a"})
        known = [name for name in sample if name not in LEFT_OUT]
        if getattr(self.predictor, "tokenizer", None) is None and "offsets" in known:
            known.remove("offsets")  # of words between whitespace
        for name in fields or ():
            if name not in known:
                raise UserError(f"fields: expected some of {', '.join(known)}, got {quote(name)}")
        self.fields: list[str] = list(known if fields is None else fields)
        """The fields of answers that are given."""

    def check_columns(self, names: Sequence[str]) -> None:
        """Raises a `UserError` where the columns of a table hold no sentences, or two have one name."""
        for name in names:
            if list(names).count(name) > 1:
                raise UserError(f"columns: expected different names, got {quote(name)} twice")
        needed = [column for name, column in self.inputs.items() if name != "alignments"]
        missing = [column for column in needed if column not in names]
        if missing and (self._is_word_qe or missing == needed):
            expected = (" and " if self._is_word_qe else " or ").join(needed)
            raise UserError(
                f"columns: expected {expected}, got {', '.join(map(str, names)) or 'none'}"
            )

    def item(self, row: Mapping[str, Any], where: str = "") -> Item:
        """The instance of a row, or a message that begins with `where`."""
        request = {
            name: row[column] for name, column in self.inputs.items() if row.get(column) is not None
        }
        try:
            return self.predictor.to_instance(self.predictor.parse(request, where))
        except UserError as error:
            return str(error)

    def outcomes(self, items: Iterable[Item]) -> Iterator[Outcome]:
        """The answers for items, or messages, in their order."""
        return answers_to(self.predictor, items)

    def new_fields(self, given: Container[str]) -> list[str]:
        """The fields of answers that are added to those that are given: all but those of sentences."""
        inputs = [column for column in self.inputs.values() if column in given]
        return [name for name in self.fields if name not in inputs]

    def schema(self, names: Iterable[str]) -> "pyarrow.Schema":
        """The types of new columns."""
        return arrow_schema(names, has_severities=self._is_word_qe)


def values_in(outcome: Outcome, names: Iterable[str]) -> list[Any]:
    """The values of columns for an answer or a message; None for those that it lacks."""
    answer = {ERROR: outcome} if isinstance(outcome, str) else outcome
    return [answer.get(name) for name in names]
