"""The files of a data set: those of a prefix, or one path for each part."""

import json
import os
from collections.abc import Mapping, Sequence

from allennlp_nef.data.formats.text_files import (
    FileSlice,
    TextPath,
    check_file,
    path_name,
    read_bytes,
)
from allennlp_nef.errors import DataFormatError, FileError, quote

Path = str | os.PathLike[str]
DataPath = Path | Mapping[str, Path]
"""A prefix, the path of each part, or the path of a `.json` file that holds these."""


def is_explicit(path: DataPath) -> bool:
    """Whether each part has a path of its own: in a dict, or in a `.json` file."""
    if isinstance(path, Mapping):
        return True
    return path_name(path).endswith(".json") and os.path.isfile(path)


def name_of(path: DataPath) -> str:
    """What a message calls the data: the prefix, the `.json` file, or of a dict the first path."""
    if isinstance(path, Mapping):
        return str(next(iter(path.values()), "{}"))
    return path_name(path)


def holds_paths(path: str) -> bool:
    """Whether a `.json` file holds the paths of a data set, not a request whose fields have the same names."""
    if not is_explicit(path):
        return False
    try:
        paths, _ = _load(path)
    except DataFormatError:
        return False
    return any(isinstance(file, str) and os.path.isfile(file) for file in paths.values())


def files_of(path: DataPath) -> list[str]:
    """The paths that are named: the prefix, or the file of each part and the `.json` file that names them."""
    if isinstance(path, Mapping):
        return [str(file) for file in path.values()]
    name = name_of(path)
    return [name, *map(str, _load(name)[0].values())] if is_explicit(name) else [name]


def has_part(path: DataPath, part: str) -> bool:
    """Whether explicit paths have one of a part. Raises the `DataFormatError` of `find_data_files`."""
    if not is_explicit(path):
        return False
    return part in (path if isinstance(path, Mapping) else _load(name_of(path))[0])


def find_data_files(
    path: DataPath, required: Mapping[str, str], optional: Mapping[str, Sequence[str]]
) -> dict[str, TextPath]:
    """
    The file of each part.

    # Parameters

    path : `str`, `PathLike` or a dict of these
        - A prefix: what the paths of all files begin with, folder and stem.
        - A dict: the path of each part, or a `FileSlice`. All of them have to exist.
        - The path of a `.json` file with such an object. Its paths are relative to the folder of the file.
    required : `Mapping[str, str]`
        The file ending of each part that has to be there.
    optional : `Mapping[str, Sequence[str]]`
        File endings of each part that may be missing, the preferred one first.

    # Raises

    `DataFormatError`: an unknown part, a required part that is missing, a path that is no file, a `.json` file without
    an object of strings.
    """
    if not is_explicit(path):
        return {**_files_of_prefix(name_of(path), required, optional)}
    parts, location = (path, "data path") if isinstance(path, Mapping) else _load(os.fspath(path))
    names = [*required, *optional]
    for part, file in parts.items():
        if part not in names:
            raise DataFormatError(
                f"{location}: expected the parts {', '.join(names)}, got {quote(part)}"
            )
        if not isinstance(file, (str, os.PathLike)):
            raise DataFormatError(f"{location}: expected the path of {part}, got {quote(file)}")
        check_file(os.fspath(file), f"a file ({part})")
    for part in required:
        if part not in parts:
            raise DataFormatError(
                f"{location}: expected the parts {' and '.join(required)}, got no {part}"
            )
    return {
        part: file if isinstance(file, FileSlice) else os.fspath(file)
        for part, file in parts.items()
    }


def _files_of_prefix(
    prefix: str, required: Mapping[str, str], optional: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The required files, and of the optional ones those that exist. The message for one that is missing names all."""
    paths = {part: prefix + ending for part, ending in required.items()}
    endings = [*required.values(), *(e for several in optional.values() for e in several)]
    for ending in endings:
        path = prefix + ending
        if os.path.lexists(path):
            check_file(path)
    missing = [path for path in paths.values() if not os.path.isfile(path)]
    if missing:
        raise FileError(
            f"{missing[0]}: expected the files {' and '.join(paths.values())}, "
            f"got no {' and no '.join(missing)}{_hint(prefix, endings)}"
        )
    for part, several in optional.items():
        existing = [prefix + ending for ending in several if os.path.isfile(prefix + ending)]
        if existing:
            paths[part] = existing[0]
    return paths


def _load(path: str) -> tuple[Mapping[str, Path], str]:
    data = read_bytes(path)
    try:
        parts = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataFormatError(f"{path}: expected a JSON object, got no JSON ({error})") from error
    if not isinstance(parts, dict):
        raise DataFormatError(
            f"{path}: expected a JSON object, the path of each part, got {quote(parts)}"
        )
    folder = os.path.dirname(path)
    paths = {p: os.path.join(folder, f) if isinstance(f, str) else f for p, f in parts.items()}
    return paths, path


def _hint(prefix: str, endings: Sequence[str]) -> str:
    """What may be wrong with a prefix whose files are missing; "" where nothing is known."""
    folder = os.path.dirname(prefix)
    if os.path.isfile(prefix):
        stems = [prefix[: -len(ending)] for ending in endings if prefix.endswith(ending)]
        advice = f": {stems[0]}" if stems else ""
        return f" (the path is a prefix{advice}, and {prefix} is a file)"
    if os.path.isdir(prefix):
        return f" (the path is a prefix such as {os.path.join(prefix, 'train')}, not a folder)"
    if prefix.endswith(".json") and (not folder or os.path.isdir(folder)):
        return f" (there is no file {prefix})"
    if folder and not os.path.isdir(folder):
        return f" (there is no folder {folder})"
    return ""
