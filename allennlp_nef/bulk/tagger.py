import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import (
    TYPE_CHECKING,
    Any,
    TypeVar,
)

from allennlp_nef.bulk.row_tagger import (
    ERROR,
    RowTagger,
    frozen_objects,
    names_of,
    values_in,
    values_of,
    with_columns,
)
from allennlp_nef.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

Batch = TypeVar("Batch")


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
        Whether the archive may run code: see docs/serving.md.
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
