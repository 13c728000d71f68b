"""Columns of a batch: NumPy dictionaries, data frames of pandas, tables of Arrow."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy

from allennlp_nef.errors import UserError

if TYPE_CHECKING:
    import pyarrow

Schema = Callable[[Iterable[str]], "pyarrow.Schema"]
"""The types of columns, by their names."""
ERROR = "error"
"""The column of messages."""


def names_of(batch: Any) -> list[str]:
    """The names of the columns of a batch."""
    if isinstance(batch, Mapping):
        return list(batch)
    if hasattr(batch, "column_names"):  # of Arrow
        return list(batch.column_names)
    if hasattr(batch, "columns"):
        return list(batch.columns)
    raise UserError(
        "batch: expected a dictionary of arrays, a data frame or a table of Arrow, got "
        + type(batch).__name__
    )


def values_of(batch: Any, name: str) -> list[Any]:
    """A column as plain values: strings, numbers, lists of these, and None where there is no value."""
    column = batch[name]
    if hasattr(column, "to_pylist"):
        values: list[Any] = column.to_pylist()
        return values
    is_other = isinstance(column, (str, bytes, Mapping, Set)) or not hasattr(column, "__len__")
    if is_other or getattr(column, "ndim", 1) == 0:
        raise UserError(
            f"{name}: expected an array or a list of values, got {type(column).__name__}"
        )
    return [plain(value) for value in column]


def plain(value: Any) -> Any:
    """A value without types of NumPy and pandas."""
    if isinstance(value, str):
        return value
    if isinstance(value, numpy.ndarray):
        value = value.tolist()
    elif isinstance(value, numpy.generic):
        value = value.item()
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    is_missing = value != value if isinstance(value, float) else type(value).__name__ == "NAType"
    return None if is_missing else value


def with_columns(batch: Any, columns: Mapping[str, list[Any]], schema: "Schema") -> Any:
    """The batch, in the kind that it is, with new columns, in place of those of the same name.

    `schema` gives the types of the columns.
    """
    if not hasattr(batch, "column_names"):
        objects = {name: _object_array(values) for name, values in columns.items()}
        return {**batch, **objects} if isinstance(batch, Mapping) else batch.assign(**objects)
    import pyarrow

    old = batch.select([name for name in batch.column_names if name not in columns])
    new = schema(columns)
    arrays = [pyarrow.array(columns[field.name], field.type) for field in new]
    fields = pyarrow.schema([*old.schema, *new], metadata=batch.schema.metadata)
    return pyarrow.Table.from_arrays([*old.columns, *arrays], schema=fields)


def arrow_schema(names: Iterable[str], has_severities: bool) -> "pyarrow.Schema":
    """The types of columns of answers. Spans have severities, or the types of chunks."""
    import pyarrow as arrow

    text, number, count = arrow.string(), arrow.float64(), arrow.int64()
    texts, numbers, counts = map(arrow.list_, (text, number, count))
    kind = "severity" if has_severities else "type"
    span = {"start": count, "end": count, kind: text, "text": text, "probability": number}
    types = {
        "tokens": texts,
        "tags": texts,
        "probabilities": numbers,
        "bad_probabilities": numbers,
        "explanation": numbers,
        "uncertain": counts,
        "alignments": arrow.list_(counts),
        "offsets": arrow.list_(counts),
        "spans": arrow.list_(arrow.struct(list(span.items()))),
        "threshold": number,
        "sentence_score": number,
        "expected_bad_share": number,
    }
    return arrow.schema([(name, types.get(name, text)) for name in names])


def _object_array(values: Sequence[Any]) -> numpy.ndarray:
    """An array of any values; NumPy would make a matrix of lists of the same length."""
    array = numpy.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array
