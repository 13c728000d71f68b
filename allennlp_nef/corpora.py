"""Tags batches of rows: columns with sentences in, columns with answers out."""

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy
from allennlp.common.util import import_module_and_submodules

from allennlp_nef.archives import load_predictor
from allennlp_nef.errors import UserError
from allennlp_nef.predictors.nef_tagger import TaggingPredictor

if TYPE_CHECKING:
    import pyarrow

ERROR = "error"
# The fields of answers that become columns, by the task of the model.
FIELDS = {
    "tags": ("tokens", "tags", "probabilities", "uncertain", "offsets"),
    "chunks": ("tokens", "tags", "probabilities", "spans", "offsets"),
    "word_qe": (
        *("tokens", "tags", "bad_probabilities", "threshold", "threshold_from", "alignments"),
        *("alignments_from", "spans", "hter", "expected_bad_share", "source_bad_probabilities"),
        *("offsets", "checks"),
    ),
}


class Tagger:
    """Tags batches of rows in data engines such as Ray Data and `datasets`; each process loads the model once.

        tagged = dataset.map_batches(
            Tagger,
            fn_constructor_args=["model.tar.gz"],
            compute=ray.data.ActorPoolStrategy(size=2),
            batch_format="pyarrow",
        )

    It also works with `datasets.Dataset.map`, where the result is an Arrow table:

        tagged = dataset.map(Tagger("model.tar.gz"), batched=True)

    A batch is a dict of arrays or lists, a pandas data frame or an Arrow table; the result has the same type. A row is
    a request: it has `sentence` or `tokens`, or for quality estimation `source`, `target` and optionally `alignments`.
    The result has all columns of the batch, a column for each of the `fields`, and `error`: null, or the reason why a
    row has no answer.

    A pickled tagger contains only its arguments; unpickling it loads the model again.

    # Parameters

    archive : `str`
        The archive of a tagger, a run folder, or the name of a trained model. Every process must be able to read it.
    cuda_device : `int`, optional (default = `-1`)
        The GPU number, or -1 for the CPU.
    columns : `Mapping[str, str]`, optional (default = `None`)
        Maps fields to column names where they differ, such as `{"sentence": "text"}`.
    fields : `Sequence[str]`, optional (default = `None`, all)
        The fields of answers that become columns, such as `["tags"]`.
    include_package : `Sequence[str]`, optional (default = `()`)
        Packages with additional components, which are imported first.
    trust : `bool`, optional (default = `False`)
        Skips the safety checks: the archive can run arbitrary code.
    options
        The options of the predictor, such as `threshold`, `min_probability` or `batch_size`.

    # Raises

    `UserError`: an archive that cannot be loaded or is not a tagger, or unknown `columns` or `fields`.
    """

    def __init__(
        self,
        archive: str,
        cuda_device: int = -1,
        columns: Mapping[str, str] | None = None,
        fields: Sequence[str] | None = None,
        include_package: Sequence[str] = (),
        trust: bool = False,
        **options: Any,
    ) -> None:
        arguments = (archive, cuda_device, columns, fields, include_package, trust)
        self._copy = partial(type(self), *arguments, **options)
        for package in include_package:
            import_module_and_submodules(package)
        options = {**options, "on_error": "skip"}
        self.predictor = load_predictor(archive, cuda_device, trust=trust, **options)
        if not isinstance(self.predictor, TaggingPredictor):
            raise UserError(f"{archive}: expected the archive of a tagger")
        if self.predictor.needs_whole_input:
            raise UserError(
                "threshold: expected a number, because a tagger sees one batch at a time"
            )
        names = [name for name in self.predictor.fields if name not in self.predictor.options]
        self.inputs = {name: (columns or {}).get(name, name) for name in names}
        """The column of each field of a request."""
        known = FIELDS[self.predictor.task]
        self.fields = known if fields is None else fields
        for option, given, allowed in (
            ("columns", columns or (), names),
            ("fields", self.fields, known),
        ):
            if not set(given) <= set(allowed):
                raise UserError(
                    f"{option}: expected some of {', '.join(allowed)}, got {list(given)}"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._copy, ()

    def __call__(self, batch: Any) -> Any:
        """Tags a batch. Raises a `UserError` if no columns contain sentences."""
        # The `datasets` library would guess the type of each column from the first batch.
        batch = getattr(batch, "pa_table", batch)
        names = list(getattr(batch, "column_names", batch))
        answers = self.answers(self.rows_of(batch))
        new = [*self.new_fields(names), ERROR]
        columns = {name: [answer.get(name) for answer in answers] for name in new}
        return with_columns(batch, columns, self.predictor.task)

    def rows_of(self, batch: Any) -> list[dict[str, Any]]:
        """Returns the columns of requests, as rows."""
        inputs = self.inputs_in(list(getattr(batch, "column_names", batch)))
        values = zip(*(values_of(batch[column]) for column in inputs), strict=True)
        return [dict(zip(inputs, row)) for row in values]

    def inputs_in(self, names: Container[str]) -> list[str]:
        """Returns the request columns among these. Raises a `UserError` if no columns contain sentences."""
        inputs = [column for column in self.inputs.values() if column in names]
        if not inputs or not {self.inputs[name] for name in self.predictor.required} <= {*inputs}:
            raise UserError(f"expected the columns {', '.join(self.inputs.values())}, got {names}")
        return inputs

    def answers(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Returns the answer to each row; `{"error": ...}` if there is none."""
        requests = (
            {name: row[column] for name, column in self.inputs.items() if column in row}
            for row in rows
        )
        return list(self.predictor.stream(("", request) for request in requests))

    def new_fields(self, given: Container[str]) -> list[str]:
        """Returns the answer fields to add to the given columns. Words and links from a request are unchanged."""
        inputs = [column for column in self.inputs.values() if column in given]
        return [name for name in self.fields if name not in inputs]


def values_of(column: Any) -> list[Any]:
    """Returns the values of a column as Python types; None for missing values."""
    values = column.to_pylist() if hasattr(column, "to_pylist") else column
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, numpy.ndarray | numpy.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    is_missing = value != value if isinstance(value, float) else type(value).__name__ == "NAType"
    return None if is_missing else value


def with_columns(batch: Any, columns: Mapping[str, list[Any]], task: str) -> Any:
    """Adds columns to a batch or replaces them. The types in an Arrow table do not depend on the values."""
    if not hasattr(batch, "column_names"):
        arrays = {name: numpy.empty(len(values), dtype=object) for name, values in columns.items()}
        for name, values in columns.items():
            arrays[name][:] = values
        return {**batch, **arrays} if isinstance(batch, Mapping) else batch.assign(**arrays)
    import pyarrow

    types = arrow_types(task)
    batch = batch.drop_columns([name for name in columns if name in batch.column_names])
    for name, values in columns.items():
        batch = batch.append_column(name, pyarrow.array(values, types.get(name, pyarrow.string())))
    return batch


def arrow_types(task: str) -> dict[str, "pyarrow.DataType"]:
    """Returns the types of the columns that are not strings."""
    import pyarrow

    text, number, count = pyarrow.string(), pyarrow.float64(), pyarrow.int64()
    pairs = pyarrow.list_(pyarrow.list_(count))
    kind = "severity" if task == "word_qe" else "type"
    span = {"start": count, "end": count, kind: text, "text": text, "probability": number}
    finding = {"kind": text, "start": count, "end": count, "message": text}
    return {
        **dict.fromkeys(("tokens", "tags"), pyarrow.list_(text)),
        **dict.fromkeys(
            ("probabilities", "bad_probabilities", "source_bad_probabilities"),
            pyarrow.list_(number),
        ),
        **dict.fromkeys(("threshold", "hter", "expected_bad_share"), number),
        **dict.fromkeys(("alignments", "offsets"), pairs),
        "uncertain": pyarrow.list_(count),
        "spans": pyarrow.list_(pyarrow.struct(list(span.items()))),
        "checks": pyarrow.list_(pyarrow.struct(list(finding.items()))),
    }
