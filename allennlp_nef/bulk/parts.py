"""The parts of the output."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from allennlp_nef.data.formats.conll_columns import BOUNDARIES
from allennlp_nef.data.formats.text_files import FileSlice, is_blank, open_file
from allennlp_nef.errors import UserError

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
