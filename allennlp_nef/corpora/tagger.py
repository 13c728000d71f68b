"""Columns of sentences in, columns of answers out, each with an answer or a message."""

import gc
import os
import pickle
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy
import torch
from allennlp.common.util import JsonDict
from allennlp.data import Instance

from allennlp_nef.data.metadata import metadata_of
from allennlp_nef.errors import UserError, quote
from allennlp_nef.modules.options import is_integer
from allennlp_nef.packages import import_packages
from allennlp_nef.predictors import WordQePredictor
from allennlp_nef.predictors.archives import load_predictor
from allennlp_nef.predictors.requests import failure_message

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

Batch = TypeVar("Batch")
WINDOW = 4096
"""How many instances are in memory at once."""

Item = Instance | str
"""A sentence, or why it cannot be tagged."""
Outcome = JsonDict | str
"""The answer of the predictor, or why there is none."""


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Meanwhile Python does not search what is in memory already for garbage, which takes a quarter of the time."""
    is_ours = not gc.get_freeze_count()
    if is_ours:
        gc.freeze()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()


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


def with_columns(
    batch: Any,
    columns: Mapping[str, list[Any]],
    schema: Callable[[Iterable[str]], "pyarrow.Schema"],
) -> Any:
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


def _object_array(values: Sequence[Any]) -> numpy.ndarray:
    """An array of any values; NumPy would make a matrix of lists of the same length."""
    array = numpy.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


LEFT_OUT = ("attention", "trace", "base_rate")
"""What answers may have and rows have not: it has no column, or is the same for all sentences."""
REFUSED = ("attention", "trace", "label_probabilities", "max_batch", "on_error", "input_format")
"""Options of predictors that would change nothing, or make parts much larger."""


class RowTagger:
    """Tags rows: dictionaries, of which some fields are those of a request.

    The arguments are those of `Tagger`; the options may have `output_format`, too.

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
        own = "threshold" if self._is_word_qe else "min_probability"
        self._row_options = (own, "max_steps", "halting")
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
        self.fields_of_options = ("steps", "uncertain") if fields is None else ()
        """Those that an answer may have besides, to an object with options."""

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
        """The instance of a row, or a message that begins with `where`. An object of JSON lines may have options."""
        for name in ("attention", "trace", "label_probabilities"):
            if row.get(name) is True:
                return f"{where}{name}: expected no such field for a corpus, got true"
        options = [name for name in self._row_options if name in row]
        if "bad_probabilities" in row and "threshold" in options:
            options.remove("threshold")  # that of an answer, which is tagged again
        fields = {**self.inputs, **dict(zip(options, options))}
        request = {
            name: row[column] for name, column in fields.items() if row.get(column) is not None
        }
        try:
            return self.predictor.to_instance(self.predictor.parse(request, where))
        except UserError as error:
            return str(error)

    def outcomes(self, items: Iterable[Item]) -> Iterator[Outcome]:
        """The answers for items, or messages, in their order.

        Sentences of about the same length go through the model together. Where it fails for some together, each is
        tried alone.
        """
        items, size = iter(items), self.predictor.batch_size
        while window := list(islice(items, WINDOW)):
            outcomes: list[Outcome] = [item if isinstance(item, str) else {} for item in window]
            numbered = [(i, item) for i, item in enumerate(window) if not isinstance(item, str)]
            numbered.sort(key=lambda pair: [len(side) for side in metadata_of(pair[1]).sides])
            for start in range(0, len(numbered), size):
                indices, batch = zip(*numbered[start : start + size])
                for i, outcome in zip(indices, self._answers_to(batch)):
                    outcomes[i] = outcome
            yield from outcomes

    def _answers_to(self, batch: Sequence[Instance]) -> list[Outcome]:
        try:
            return [*self.predictor.predict_batch_instance(list(batch))]
        except Exception as error:  # noqa: BLE001  # whatever the model raises is the answer
            if len(batch) == 1:
                return [failure_message(error)]
        return [outcome for each in batch for outcome in self._answers_to([each])]

    def new_fields(self, given: Container[str]) -> list[str]:
        """The fields of answers that are added to those that are given: all but those of sentences."""
        inputs = [column for column in self.inputs.values() if column in given]
        return [name for name in self.fields if name not in inputs]

    def schema(self, names: Iterable[str]) -> "pyarrow.Schema":
        """The types of new columns, by their names. Spans have severities, or the types of chunks."""
        import pyarrow as arrow

        text, number, count = arrow.string(), arrow.float64(), arrow.int64()
        texts, numbers, counts = map(arrow.list_, (text, number, count))
        kind = "severity" if self._is_word_qe else "type"
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
            "error_free_probability": number,
            "accept": arrow.bool_(),
        }
        return arrow.schema([(name, types.get(name, text)) for name in names])


def values_in(outcome: Outcome, names: Iterable[str]) -> list[Any]:
    """The values of columns for an answer or a message; None for those that it lacks."""
    answer = {ERROR: outcome} if isinstance(outcome, str) else outcome
    return [answer.get(name) for name in names]


class Tagger:
    """Tags batches of columns: `map_batches` of Ray Data and `mapInPandas` of Spark take it.

        tagged = dataset.map_batches(
            Tagger,
            fn_constructor_args=["model.tar.gz"],
            compute=ray.data.ActorPoolStrategy(size=2),
            batch_format="pyarrow",
        )

    A batch is a dictionary of arrays or lists, a data frame of pandas, or a table of Arrow; what comes back is of the
    same kind. The sentences are in the column `tokens` (lists of words) or `sentence` (text, split at whitespace); for
    quality estimation in `source` and `target` (text, or lists of words) and, optionally, `alignments` (text such as
    "0-0 1-1", or lists of pairs). All columns come back as they are. New columns have what the answers of the
    predictor have, such as `tags` and `probabilities`, as lists, numbers and texts; they replace other columns of the
    same name. The column `error` is null; where a row cannot be tagged it has a message, and the other new columns are
    null.

    Batches may be of any size: sentences of about the same length go through the model together, at most `batch_size`
    (an option of the predictor) and fewer where they are long.

    It is pickled as its arguments: the model is loaded from the archive again, once in each process. So the archive
    has to be where all processes can read it.

    # Parameters

    archive : `str`
        The archive of a trained model, or the folder of a training run.
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    threads : `int`, optional (default = `None`, as many as torch has)
        At least 1. Of torch, in this process.
    columns : `Mapping[str, str]`, optional (default = `None`)
        The names of columns that are called otherwise, such as `{"sentence": "text"}`.
    fields : `Sequence[str]`, optional (default = `None`, all)
        The new columns, besides `error`, such as `["tags"]`.
    include_package : `Sequence[str]`, optional (default = `()`)
        Packages with components of one's own, which are imported first.
    trust : `bool`, optional (default = `False`)
        Whether the archive may run code: see "Archives from elsewhere" in docs/serving.md.
    options
        Those of the predictor, such as `threshold` or `min_probability`; those for requests and output formats not.

    # Raises

    `UserError`: not an archive that can be loaded, an option that is wrong, a batch without the columns of sentences.
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
        if "output_format" in options:
            raise UserError(
                "output_format: expected no such option, got one; a Tagger gives columns"
            )
        self._arguments = dict(
            options,
            archive=os.path.abspath(archive) if os.path.exists(archive) else archive,
            cuda_device=cuda_device,
            threads=threads,
            columns=columns,
            fields=fields,
            include_package=include_package,
            trust=trust,
        )
        self._rows = RowTagger(**self._arguments)

    def __reduce__(self) -> tuple[Callable[[bytes], "Tagger"], tuple[bytes]]:
        return _unpickled, (pickle.dumps(self._arguments),)

    @frozen_objects()
    def __call__(self, batch: Batch) -> Batch:
        """The batch with the new columns."""
        names = names_of(batch)
        self._rows.check_columns(names)
        used = [column for column in self._rows.inputs.values() if column in names]
        values_by_name = {column: values_of(batch, column) for column in used}
        lengths = {column: len(values) for column, values in values_by_name.items()}
        if len(set(lengths.values())) > 1:
            got = ", ".join(f"{length} in {column}" for column, length in lengths.items())
            raise UserError(f"batch: expected columns with as many values each, got {got}")
        rows = zip(*values_by_name.values())
        items = (self._rows.item(dict(zip(used, row))) for row in rows)
        new = [*self._rows.new_fields(names), ERROR]
        values = [values_in(outcome, new) for outcome in self._rows.outcomes(items)]
        columns = dict(zip(new, map(list, zip(*values)))) if values else dict.fromkeys(new, [])
        return with_columns(batch, columns, self._rows.schema)

    def map(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Tags batches one after the other: what Spark's `mapInPandas` takes."""
        return map(self, batches)

    def spark_schema(self, schema: "StructType") -> "StructType":
        """The schema that `mapInPandas` needs, for a data frame of Spark that has the given one."""
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        names = [*self._rows.new_fields(schema.names), ERROR]
        new = from_arrow_schema(self._rows.schema(names))
        return StructType([*(each for each in schema if each.name not in new.names), *new])


@lru_cache(maxsize=1)
def _unpickled(arguments: bytes) -> Tagger:
    """A process that gets the same tagger again and again, such as Spark's, loads it once."""
    return Tagger(**pickle.loads(arguments))
