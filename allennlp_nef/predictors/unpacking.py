"""Unpacks archives of models, wherever they come from: into one folder, and no more than a limit."""

import gzip
import os
import posixpath
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allennlp_nef.errors import ArchiveError, UserError, quote

LIMIT_VARIABLE = "ALLENNLP_NEF_MAX_UNPACKED_GIB"
"""The variable of the environment with the size, in GiB, that an archive may have when it is unpacked."""
DEFAULT_GIB = 1.0
MAX_RATIO = 20
"""Where the variable is not set, a large archive may become so many times larger. Weights hardly shrink."""
MAX_MEMBERS = 10_000
_MAX_READ = 2**20
"""Of a header: `tarfile` reads each as a whole."""
_CHUNK = 2**18
HINT = "--trust (in Python trust=True) loads it without these checks"


def unpack(path: str, folder: str, name: str) -> dict[str, int]:
    """Unpacks an archive (.tar.gz) into an empty folder.

    All that it writes are folders and regular files below `folder`. A link to an earlier file of the archive becomes a
    copy of it.

    # Parameters

    path, folder : `str`
    name : `str`
        The name of the archive in messages.

    # Returns

    `dict[str, int]`
        The sizes of the files in bytes, by their names in the archive.

    # Raises

    `ArchiveError`: a file that is not an archive, that ends early or cannot be read; a member with a name outside of
    the folder, with that of an earlier one, or that is neither a file nor a folder; too many or too large members.
    """
    with _explained(path, name), open(path, "rb") as file, gzip.open(file) as data:
        limit = _limit(os.path.getsize(path))
        stream: Any = _Limited(data, limit, name)
        with tarfile.open(fileobj=stream, mode="r:") as archive:
            return _unpacked(archive, folder, name, limit)


def _unpacked(archive: tarfile.TarFile, folder: str, name: str, limit: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    total = 0
    for number, member in enumerate(archive, 1):
        inner = posixpath.normpath(member.name)
        if number > MAX_MEMBERS:
            raise ArchiveError(f"{name}: expected at most {MAX_MEMBERS} members; {HINT}")
        if posixpath.isabs(inner) or inner.split("/")[0] == ".." or "\0" in inner:
            raise ArchiveError(
                f"{name}: expected names of members inside of a folder, got {quote(member.name)}; {HINT}"
            )
        target = os.path.join(folder, inner)
        if member.isdir():
            os.makedirs(target, exist_ok=True)
            continue
        if inner in sizes:
            raise ArchiveError(f"{name}: expected one member {inner}, got two; {HINT}")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        source = _linked(member, inner)
        if member.isreg() and member.size >= 0:
            sizes[inner] = member.size
        elif source in sizes:
            sizes[inner] = sizes[source]
        else:
            kind = f"a link to {quote(member.linkname)}" if source else "another kind of member"
            raise ArchiveError(f"{name}: {inner}: expected a file or a folder, got {kind}; {HINT}")
        total += sizes[inner]
        _check_size(total, limit, name)
        if source:
            shutil.copyfile(os.path.join(folder, source), target)
            continue
        with open(target, "xb") as output:
            shutil.copyfileobj(archive.extractfile(member), output, _CHUNK)  # type: ignore[arg-type]
    return sizes


def _linked(member: tarfile.TarInfo, name: str) -> str:
    """The name of the member that a link stands for; empty for other members."""
    if member.islnk():
        return posixpath.normpath(member.linkname)
    if member.issym():
        return posixpath.normpath(posixpath.join(posixpath.dirname(name), member.linkname))
    return ""


class _Limited:
    """A decompressed stream that is read forward, in small parts, and up to a limit."""

    def __init__(self, data: gzip.GzipFile, limit: int, name: str) -> None:
        self._data = data
        self._limit = limit + MAX_MEMBERS * tarfile.BLOCKSIZE  # the headers
        self._name = name
        self.tell = data.tell

    def read(self, size: int) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise ArchiveError(f"{self._name}: expected headers of at most 1 MiB; {HINT}")
        read = self._data.read(size)
        _check_size(self.tell(), self._limit, self._name)
        return read

    def seek(self, position: int) -> int:
        _check_size(position, self._limit, self._name)
        if position < self.tell():
            raise tarfile.ReadError("members that overlap")
        return self._data.seek(position)


def _limit(size: int) -> int:
    """How many bytes an archive of `size` bytes may have when it is unpacked."""
    text = os.environ.get(LIMIT_VARIABLE)
    if text is None:
        return max(int(DEFAULT_GIB * 2**30), MAX_RATIO * size)
    try:
        return int(float(text) * 2**30)
    except (OverflowError, ValueError) as error:
        raise UserError(f"{LIMIT_VARIABLE}: expected a number, got {text!r}") from error


def _check_size(size: int, limit: int, name: str) -> None:
    if size > limit:
        raise ArchiveError(
            f"{name}: expected at most {limit / 2**30:.3g} GiB when it is unpacked, got more; the environment variable "
            f"{LIMIT_VARIABLE} sets another limit"
        )


@contextmanager
def _explained(path: str, name: str) -> Iterator[None]:
    """A context whose errors name the archive."""
    try:
        yield
    except EOFError as error:
        raise ArchiveError(
            f"{name}: expected the archive of a trained model, got one that ends early: copy or download it again"
        ) from error
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, ValueError) as error:
        if isinstance(error, UserError):
            raise
        raise ArchiveError(
            f"{name}: expected the archive of a trained model, got another or a damaged file ({error})"
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        where = "" if error.filename == path else f" in {tempfile.gettempdir()}"
        raise ArchiveError(
            f"{name}: expected an archive that can be unpacked{where}, got {reason!r}"
        ) from error
