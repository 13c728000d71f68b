"""Files that are either whole or not there, also after a crash."""

import errno
import os
import shutil
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from allennlp_nef.errors import UserError

TEMPORARY = ".tmp"
"""The ending of files that are being written."""


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` once it is on the disk. Where that fails, `path` is as before.

    # Raises

    `UserError`: the file cannot be written, such as on a full disk.
    """
    temporary = _temporary(path)
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _put(temporary, path)
    except (OSError, RuntimeError) as error:
        reason = _system_error(error)
        if reason is None:
            raise
        with suppress(FileNotFoundError):
            os.remove(temporary)
        free = shutil.disk_usage(os.path.dirname(path)).free / 2**20
        raise UserError(
            f"{path}: the file could not be written: {os.strerror(reason)} ({free:,.0f} MB are free); the checkpoints "
            "before it are kept, and the same command with --recover goes on from the last one"
        ) from error


def link(source: str, path: str) -> None:
    """Makes `path` a hard link to a file, or a copy where the file system has no links."""
    if os.path.exists(path) and os.path.samefile(source, path):
        return  # the temporary link would not be renamed
    temporary = _temporary(path)
    try:
        os.link(source, temporary)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            raise
        with open(source, "rb") as original, replacing(path) as copy:
            shutil.copyfileobj(original, copy)
    else:
        _put(temporary, path)


def damage_of(path: str) -> str | None:
    """What is wrong with a file of `torch.save`: it is missing, or not what was written. None where it is whole."""
    try:
        with zipfile.ZipFile(path) as archive:
            return None if archive.testzip() is None else "is damaged"
    except FileNotFoundError:
        return "is missing"
    except zipfile.BadZipFile:
        return "is incomplete"


def _temporary(path: str) -> str:
    return f"{path}.{uuid.uuid4().hex}{TEMPORARY}"  # another host may write the same file


def _put(temporary: str, path: str) -> None:
    os.replace(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _system_error(error: BaseException | None) -> int | None:
    """The number of the system's error; `torch.save` raises a `RuntimeError` of its own after it."""
    while error is not None and not (isinstance(error, OSError) and error.errno):
        error = error.__context__
    return error.errno if isinstance(error, OSError) else None
