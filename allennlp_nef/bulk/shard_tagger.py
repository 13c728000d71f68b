import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

from allennlp_nef.bulk.manifest import (
    Record,
    digest_of_archive,
    json_line,
    part_name,
    untagged,
    writing_file,
)
from allennlp_nef.bulk.row_tagger import (
    ERROR,
    Item,
    Outcome,
    RowTagger,
    frozen_objects,
    values_in,
    with_columns,
)
from allennlp_nef.bulk.sentences import READERS, read_instances, read_rows, warn_about
from allennlp_nef.bulk.shards import Input, ParquetRows, Shard, sentences_of
from allennlp_nef.data.formats.text_files import FileSlice
from allennlp_nef.errors import UserError

ROW_FORMATS = ("jsonl", "parquet")
"""The formats of rows: dictionaries."""


class ShardTagger:
    """Tags shards, and writes the part of each. The same shard gives the same file.

    # Parameters

    inputs : `Sequence[Input]`
    output : `str`
        The folder of the parts.
    output_format : `str`
        "jsonl", "parquet" or a format of the predictor.
    tagger : `Mapping[str, Any]`
        The arguments of the `RowTagger`, but the output format.
    digest : `str`, optional (default = `None`)
        That of the archive, as `digest_of_archive` gives it: another archive is refused.

    # Raises

    `UserError`: what `RowTagger` raises, a format that the model's dataset reader does not read.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        output: str,
        output_format: str,
        tagger: Mapping[str, Any],
        digest: str | None = None,
    ) -> None:
        self._inputs = inputs
        self._output = Path(output)
        self._format = output_format
        options = dict(tagger)
        if output_format not in ROW_FORMATS:
            options["output_format"] = output_format
        self._rows = RowTagger(**options)
        archive = options["archive"]
        if digest is not None and digest_of_archive(archive) != digest:
            raise UserError(
                f"{archive}: expected the archive as when the work was planned, got one that has changed"
            )
        self._reader = self._rows.predictor._dataset_reader
        for source in inputs:
            wanted = READERS.get(source.format)
            if wanted and not isinstance(self._reader, wanted):
                raise UserError(
                    f"{source.path}: expected a model with the dataset reader {wanted.__name__} for the format "
                    f"{source.format}, got one with {type(self._reader).__name__}"
                )
        self._parquet = ParquetRows()

    def warn_about(self, shards: Sequence[Shard]) -> None:
        """Logs what readers warn about, such as that an input has no tags. Tagging logs nothing of it."""
        for shard in shards:
            if shard.first == 0:
                warn_about(self._reader, shard, self._inputs[shard.input].format)

    @frozen_objects()
    def tag(self, shard: Shard) -> Record:
        """Writes the part of a shard.

        # Raises

        `UserError`: a part that cannot be written, an input that has changed since the work was planned.
        """
        source = self._inputs[shard.input]
        path = self._output / part_name(shard.number, self._format)
        with writing_file(path) as draft:
            given, items = self._read(shard, source.format)
            outcomes = list(self._rows.outcomes(items))
            if len(outcomes) != shard.sentences:
                first = next(iter(shard.slices.values()))
                raise UserError(
                    f"{first}:{first.line}: expected {shard.sentences} sentences, as when the work was planned, got "
                    f"{len(outcomes)}: has the file changed?"
                )
            for given_file in source.files.values():
                if not given_file.is_unchanged():
                    raise UserError(
                        f"{given_file.path}: expected the file as when the work was planned, got one that has changed"
                    )
            if self._format == "parquet":
                self._write_parquet(draft, given, outcomes)
            else:
                lines = self._lines(shard, source.format, given, outcomes)
                with open(draft, "w", encoding="utf-8", newline="\n") as file:
                    file.writelines(lines)
        messages = [outcome for outcome in outcomes if isinstance(outcome, str)]
        return {
            "part": path.name,
            "input": source.path,
            "first_sentence": shard.first,
            "sentences": len(outcomes),
            "errors": len(messages),
            "bytes": path.stat().st_size,
            "messages": messages,
            "process": f"{platform.node()}:{os.getpid()}",
        }

    def _read(self, shard: Shard, format: str) -> tuple[Any, Iterable[Item]]:
        """The rows, a table or a list, or None; and the instances."""
        if format == "jsonl":
            pairs = list(read_rows(self._rows, shard))
            return [row for row, _ in pairs], [item for _, item in pairs]
        if format == "parquet":
            place = shard.slices["path"]
            table = self._parquet.table(place)
            self._rows.check_columns(table.column_names)
            used = [name for name in self._rows.inputs.values() if name in table.column_names]
            named = enumerate(table.select(used).to_pylist(), place.line)
            return table, [self._rows.item(row, f"{place}:{number}: ") for number, row in named]
        return None, read_instances(self._reader, shard, format)

    def _lines(
        self, shard: Shard, format: str, given: Any, outcomes: Sequence[Outcome]
    ) -> Iterator[str]:
        if self._format == "jsonl":
            rows = given.to_pylist() if hasattr(given, "to_pylist") else given
            for row, outcome in zip(rows or repeat({}), outcomes):
                yield json_line(self._row(row, outcome))
            return
        slices: list[dict[str, FileSlice]] = []
        for number, outcome in enumerate(outcomes):
            if isinstance(outcome, str):
                slices = slices or sentences_of(shard, format)
                yield untagged(self._format, slices[number], outcome)
            else:
                yield self._rows.predictor.dump(outcome, shard.first + number)

    def _row(self, row: Mapping[str, Any], outcome: Outcome) -> dict[str, Any]:
        """A row with its answer; as in JSON lines, without fields that are null."""
        old = {name: value for name, value in row.items() if name != ERROR}
        if isinstance(outcome, str):
            return {**old, ERROR: outcome}
        new = self._rows.new_fields([name for name in old if old[name] is not None])
        return {**old, **dict(zip(new, values_in(outcome, new)))}

    def _write_parquet(self, path: Path, given: Any, outcomes: Sequence[Outcome]) -> None:
        import pyarrow
        from pyarrow.parquet import write_table

        table = pyarrow.table({}) if given is None else given
        new = [*self._rows.new_fields(table.column_names), ERROR]
        values = zip(*(values_in(outcome, new) for outcome in outcomes))
        columns = dict(zip(new, map(list, values)))
        write_table(with_columns(table, columns, self._rows.schema), path)
