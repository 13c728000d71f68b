"""The parts of the output, and the record of those that are done."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from allennlp.common.file_utils import cached_path
from allennlp.models.archival import CONFIG_NAME, get_weights_path

from allennlp_nef.data.formats.conll_columns import BOUNDARIES
from allennlp_nef.data.formats.text_files import FileSlice, is_blank, open_file
from allennlp_nef.errors import ArchiveError, UserError
from allennlp_nef.predictors.archives import read_config

_ENDINGS = {name: name for name in ("jsonl", "parquet", "conll", "conllu", "tags")}
_ENDINGS.update({"text": "txt", "wmt22-explanations": "txt"})
_LINES = ("tags", "text", "wmt22-explanations")
"""The formats with a line for each sentence, whatever it is."""
DRAFT = ".draft-"
"""The beginning of the names of files that are not complete."""

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


MANIFEST = "_manifest.json"
PARTS = "_parts.jsonl"
LOCK = "_lock"
SHOWN = 5
"""How many messages about sentences are shown."""
Plan = dict[str, Any]
"""The content of the manifest. Where the work goes on, `archive`, `inputs` and `settings` have to be as before."""
Record = dict[str, Any]
"""What is known of a part that was written."""


def digest_of_archive(archive: str) -> str:
    """The SHA-256 digest of an archive; of the folder of a run, that of the files that are loaded.

    # Raises

    `ArchiveError`: a config that is not plain JSON. `OSError`: a file that is missing or cannot be read.
    """
    path = Path(cached_path(archive))
    files = [path]
    if path.is_dir():
        config = path / CONFIG_NAME
        try:
            names = read_config(config.read_text(encoding="utf-8")).get("include_in_archive")
        except ValueError as error:
            raise ArchiveError(f"{archive}: {CONFIG_NAME}: {error}") from error
        others = [path / str(name) for name in names] if isinstance(names, list) else []
        files = [config, Path(get_weights_path(str(path))), *sorted(path.glob("vocabulary/*"))]
        files += [
            each
            for each in others
            if each.is_file()
            and path.resolve() in each.resolve().parents  # not such as /proc/kcore
        ]
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.read_bytes())
    return digest.hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other runs from a folder, which it makes; at the end it removes one that is still empty.

    # Raises

    `UserError`: another run has the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LOCK
    # A file that is open for writing: on a network file system, the lock of a folder may hold for one host alone.
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_there = path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat())
        except BlockingIOError:
            is_there = False
        if not is_there:  # or the run that had it has just removed it
            raise UserError(
                f"{folder}: expected a folder that no other run writes to, got one that is in use"
            )
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            if not os.listdir(folder):
                folder.rmdir()


class OutputFolder:
    """An output folder with the parts that are there.

    # Parameters

    path : `Path`
    plan : `Plan`

    # Raises

    `UserError`: a folder with other files, or with the parts of another plan. The message names what differs.
    """

    def __init__(self, path: Path, plan: Plan) -> None:
        self._path = path
        self._plan = plan
        self.records: dict[str, Record] = {}
        """What is there, by the name of the part; of many messages only the first ones."""
        self._notes: list[str] = []
        for line, record in self._lines():
            self._notes.append(line)
            self._keep(record)
        manifest = path / MANIFEST
        if manifest.exists():
            old = _load(manifest)
            if any(path.glob("part-[0-9]*")):
                self._check_same(old, plan)
        elif any(not name.startswith(DRAFT) and name != LOCK for name in os.listdir(path)):
            raise UserError(
                f"{path}: expected a new or empty folder, or one that {MANIFEST} is in, got other files"
            )

    def start(self) -> None:
        """Removes what is not complete or of an earlier plan, and writes the plan."""
        for path in (*self._path.glob(f"{DRAFT}*"), *self._path.glob("part-[0-9]*")):
            if path.is_file() and path.name not in self.records:
                path.unlink()
        self.write({})
        with writing_file(self.parts) as draft:
            draft.write_text("".join(self._notes), encoding="utf-8")

    @property
    def parts(self) -> Path:
        """The file with a line for each part that is there."""
        return self._path / PARTS

    def clear(self) -> None:
        """Removes the parts, the notes and the manifest."""
        for path in (
            *(self._path / name for name in self.records),
            self.parts,
            self._path / MANIFEST,
        ):
            path.unlink(missing_ok=True)

    def write(self, figures: Mapping[str, Any]) -> None:
        """Writes the manifest: the plan, and how the work ended."""
        content = {**self._plan, **figures}
        with writing_file(self._path / MANIFEST) as draft:
            draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")

    def add(self, record: Record) -> None:
        """Notes a part that is there."""
        line = json.dumps(record) + "\n"
        try:
            with open(self.parts, "a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise cannot_write(self.parts, error) from error
        self._keep(record)

    def count(self, name: str) -> int:
        """The sum of a number, such as "sentences", of the parts that are there."""
        return sum(record[name] for record in self.records.values())

    def messages(self) -> list[str]:
        """The first messages about sentences."""
        found = (self.records[part]["messages"] for part in sorted(self.records))
        return list(islice(chain.from_iterable(found), SHOWN))

    def _keep(self, record: Record) -> None:
        self.records[record["part"]] = {**record, "messages": record["messages"][:SHOWN]}

    def _lines(self) -> Iterator[tuple[str, Record]]:
        """The notes of parts that are there as they were written. A damaged line is no note: the part is made again."""
        if not self.parts.exists():
            return
        with open(self.parts, "rb") as file:
            for line in file:
                try:
                    text = line.decode("utf-8")
                    record = json.loads(text)
                    counts = [record[name] for name in ("sentences", "errors", "bytes")]
                    part = self._path / record["part"]
                    is_there = all(type(count) is int for count in counts) and part.is_file()
                except (KeyError, RecursionError, TypeError, ValueError):
                    continue
                is_whole = text.endswith("\n") and isinstance(record.get("messages"), list)
                if is_whole and is_there and part.stat().st_size == record["bytes"]:
                    yield text, record

    def _check_same(self, old: Plan, new: Plan) -> None:
        pairs = [("the archive", _of_archive(old), _of_archive(new))]
        pairs += [("the inputs", _of_inputs(old), _of_inputs(new))]
        names = {**old["settings"], **new["settings"]}
        for name in names:
            before, now = (json.dumps(each["settings"].get(name)) for each in (old, new))
            pairs.append((name, before, now))
        for name, before, now in pairs:
            if before != now:
                raise UserError(
                    f"{self._path}: expected {name} {before}, as for the parts in the folder, got {now}: remove the "
                    "folder, or name another --output"
                )


def _load(path: Path) -> Plan:
    try:
        plan: Plan = json.loads(path.read_text(encoding="utf-8"))
        if _of_archive(plan) and _of_inputs(plan) and isinstance(plan["settings"], dict):
            return plan
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError):
        pass
    raise UserError(f"{path}: expected a manifest of tag-corpus, got another file")


def _of_archive(plan: Plan) -> str:
    return f"SHA-256 {plan['archive']['sha256'][:12]}"


def _of_inputs(plan: Plan) -> str:
    inputs: list[str] = []
    for each in plan["inputs"]:
        digests = [file["sha256"][:12] for _, file in sorted(each["files"].items())]
        inputs.append(f"{each['format']} SHA-256 {' '.join(digests)}")
    return ", ".join(inputs)
