"""Tags shards, and writes the part of the output for each."""

import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

from allennlp.common.file_utils import cached_path
from allennlp.models.archival import CONFIG_NAME, get_weights_path

from allennlp_nef.corpora.shards import (
    READERS,
    Input,
    ParquetRows,
    Shard,
    read_instances,
    read_rows,
    sentences_of,
    warn_about,
)
from allennlp_nef.corpora.tagger import (
    ERROR,
    Item,
    Outcome,
    RowTagger,
    frozen_objects,
    values_in,
    with_columns,
)
from allennlp_nef.data.formats.conll_columns import BOUNDARIES
from allennlp_nef.data.formats.text_files import FileSlice, is_blank, open_file
from allennlp_nef.errors import UserError
from allennlp_nef.resources import archive_path, extra_files

ROW_FORMATS = ("jsonl", "parquet")
"""The formats of rows: dictionaries."""
_ENDINGS = {name: name for name in ("jsonl", "parquet", "conll", "conllu", "tags")}
_ENDINGS.update({"text": "txt", "wmt22-explanations": "txt"})
_LINES = ("tags", "text", "wmt22-explanations")
"""The formats with a line for each sentence, whatever it is."""
DRAFT = ".draft-"
"""The beginning of the names of files that are not complete."""
Record = dict[str, Any]
"""What is known of a part that was written."""
_ATTEMPTS = 5
"""How many processes may end while they write a file: a sentence that ends each would be tried for ever."""


def part_name(number: int, format: str) -> str:
    """The name of the file of a part."""
    return f"part-{number:05d}.{_ENDINGS.get(format, 'tsv')}"


@contextmanager
def writing_file(path: Path) -> Iterator[Path]:
    """A path to write a file to. At the end it becomes the file, whole; another process may write the same file.

    # Raises

    `UserError`: a file that cannot be written, or whose processes have ended several times while they wrote it.
    """
    try:
        draft = _new_draft(path)
        try:
            yield draft
            with open(draft, "rb") as file:
                os.fsync(file.fileno())
            os.replace(draft, path)
        finally:
            if draft.exists():
                draft.unlink()
    except OSError as error:
        if not Path(error.filename or draft).is_relative_to(path.parent):
            raise  # of a file that is read
        raise cannot_write(path, error) from error


def cannot_write(path: Path, error: OSError) -> UserError:
    """The error for a file that the system does not write."""
    return UserError(
        f"{path}: expected a file that can be written, got {error.strerror or error!r}"
    )


def _new_draft(path: Path) -> Path:
    for number in range(_ATTEMPTS):
        draft = path.parent / f"{DRAFT}{path.name}-{number}"
        try:
            open(draft, "x").close()
            return draft
        except FileExistsError:  # of a process that was killed, or works at the same time
            continue
    raise UserError(
        f"{path}: expected a process that writes it, but {_ATTEMPTS} ended before it was complete: does memory run "
        "out? A lower batch_size in --predictor-args takes less"
    )


def json_line(row: Mapping[str, Any]) -> str:
    """A row as a line of JSON. Letters are written as they are, but lone surrogates, for which UTF-8 has no bytes."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(row, default=str)
    return text + "\n"


def untagged(output_format: str, slices: dict[str, FileSlice], message: str) -> str:
    """What stands for a sentence that cannot be tagged, in a format of the field.

    In CoNLL-U the sentence with the message as a comment; in columns the sentence without a new column; an empty line
    in formats with a line a sentence; in others nothing.
    """
    if output_format in _LINES:
        return "\n"
    if output_format not in ("conll", "conllu"):
        return ""
    with open_file(slices["path"]) as file:
        text = file.read().decode("utf-8", "replace")
    lines = [line.strip(" \t\r") for line in text.split("\n") if not is_blank(line)]
    if output_format == "conllu":
        lines.insert(0, "# error = " + " ".join(message.split()))
    else:
        lines = [line for line in lines if line.split()[0] not in BOUNDARIES]
    return "\n".join(lines) + "\n\n"


def digest_of_archive(archive: str) -> str:
    """The SHA-256 digest of an archive; of the folder of a run, that of the files that are loaded."""
    path = Path(cached_path(archive_path(archive)))
    files = [path]
    if path.is_dir():
        files = [path / CONFIG_NAME, Path(get_weights_path(str(path)))]
        files += sorted(path.glob("vocabulary/*"))
        for extra in extra_files(path):
            files += sorted(extra.glob("*")) if extra.is_dir() else [extra]
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.read_bytes())
    return digest.hexdigest()


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
        new += [
            name for name in self._rows.fields_of_options if name in outcome and name not in new
        ]
        return {**old, **dict(zip(new, values_in(outcome, new)))}

    def _write_parquet(self, path: Path, given: Any, outcomes: Sequence[Outcome]) -> None:
        import pyarrow
        from pyarrow.parquet import write_table

        table = pyarrow.table({}) if given is None else given
        new = [*self._rows.new_fields(table.column_names), ERROR]
        values = zip(*(values_in(outcome, new) for outcome in outcomes))
        columns = dict(zip(new, map(list, values)))
        write_table(with_columns(table, columns, self._rows.schema), path)
