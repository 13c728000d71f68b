"""Archives: loading a trained model without running what its files say."""

import gzip
import inspect
import json
import os
import posixpath
import re
import shutil
import tarfile
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from pickle import UnpicklingError
from types import SimpleNamespace
from typing import Any, Union

import torch
from allennlp.common import Lazy, Params, Registrable, file_utils
from allennlp.common import util as allennlp_util
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.from_params import infer_constructor_params
from allennlp.common.params import remove_keys_from_params
from allennlp.data import DataLoader, DatasetReader, Vocabulary
from allennlp.evaluation import Evaluator
from allennlp.models import Model, archival, load_archive
from allennlp.predictors import Predictor
from allennlp.training.metrics import EvalbBracketingScorer
from transformers import dynamic_module_utils

from allennlp_nef.errors import ArchiveError, MissingExtraError, UserError, quote, summary_of
from allennlp_nef.models import NefTagger
from allennlp_nef.modules.options import registered_name
from allennlp_nef.predictors.base import CheckedPredictor, TaggingPredictor
from allennlp_nef.pretrained import TransformerError
from allennlp_nef.resources import archive_path
from allennlp_nef.tensor_files import TensorFileError, load_tensors

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


BUILT: Mapping[str, type] = {
    "dataset_reader": DatasetReader,
    "validation_dataset_reader": DatasetReader,
    "vocabulary": Vocabulary,
    "model": Model,
    "data_loader": DataLoader,
    "validation_data_loader": DataLoader,
    "evaluation": Evaluator,
}
"""The parts of an archive's config that AllenNLP's commands build."""
PROGRAMS = (EvalbBracketingScorer,)
"""Registered classes that run a program which the config names."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\s*/\s*/")
"""Anywhere in a text: what is taken for an address may have whitespace, or stand in brackets: `(address)#name`."""
Problems = dict[str, str]
"""What is wrong, by the place of the value in the config, such as `model.encoder.type`."""


def read_config(text: str) -> dict[str, Any]:
    """The config in a text of plain JSON, as AllenNLP archives it. It would read Jsonnet, too, which can read files.

    # Raises

    `ValueError`: another text, or JSON that is not an object.
    """
    try:
        config = json.loads(text)
    except RecursionError as error:
        raise ValueError("expected JSON that is less deep") from error
    except ValueError as error:
        raise ValueError(f"expected plain JSON, got another text ({error})") from error
    if not isinstance(config, dict):
        raise ValueError("expected a JSON object")
    return config


def problems_of(config: dict[str, Any]) -> Problems:
    """What a config would import, call or download, besides the registered components of installed packages.

    # Raises

    `ValueError`: a config that is too deep.
    """
    problems: Problems = {}
    try:
        built = built_parts(config)
        _check_values(config, "", problems)
        for name, kind in BUILT.items():
            _check_argument(built.get(name), kind, name, problems)
            if name in ("dataset_reader", "validation_dataset_reader", "model"):
                _check_addresses(built.get(name), name, problems)
    except RecursionError as error:
        raise ValueError("expected JSON that is less deep") from error
    return problems


def built_parts(config: dict[str, Any]) -> dict[str, Any]:
    """A copy of a config, without the options that AllenNLP leaves out where it builds the model of an archive."""
    remaining = Params(json.loads(json.dumps(config)))
    if "model" in remaining:
        remove_keys_from_params(remaining["model"])
    built: dict[str, Any] = remaining.as_dict(quiet=True)
    return built


def not_registered(kind: type, name: str) -> bool:
    """Whether a name stands for a class to import, or for one that runs programs."""
    registry = Registrable._registry.get(kind, {})
    return "." in name if name not in registry else registry[name][0] in PROGRAMS


def _check_values(value: Any, place: str, problems: Problems) -> None:
    """What is refused wherever it stands."""
    for key, item in items_of(value):
        inner = f"{place}.{key}" if place else str(key)
        is_import = key == "type" and isinstance(item, str) and "." in item
        if is_import and not any(item in names for names in Registrable._registry.values()):
            problems[inner] = _expected_name(item)
        if key == "trust_remote_code" and item not in (False, None):
            problems[inner] = f"expected false, got {quote(item)}"
        _check_values(item, inner, problems)


def _check_addresses(value: Any, place: str, problems: Problems) -> None:
    if isinstance(value, str) and _ADDRESS.search(value):
        problems[place] = f"expected a file, got the address {quote(value)}"
    for key, item in items_of(value):
        _check_addresses(item, f"{place}.{key}", problems)


def _check_argument(value: Any, annotation: Any, place: str, problems: Problems) -> None:
    """Follows AllenNLP's `construct_arg`, which makes a value of a config an argument with a type."""
    origin, kinds = getattr(annotation, "__origin__", None), getattr(annotation, "__args__", ())
    if hasattr(annotation, "from_params"):
        _check_component(value, annotation, place, problems)
    elif origin in (Lazy, Union):
        if not (isinstance(value, str) and str in kinds):
            for kind in kinds:
                _check_argument(value, kind, place, problems)
    elif origin is tuple and isinstance(value, list):
        for index, (item, kind) in enumerate(zip(value, kinds)):
            _check_argument(item, kind, f"{place}.{index}", problems)
    elif origin is not None and kinds:
        is_mapping = isinstance(origin, type) and issubclass(origin, Mapping)
        for key, item in items_of(value):
            # Of an object in place of a list, AllenNLP takes the keys.
            argument = key if isinstance(value, dict) and not is_mapping else item
            _check_argument(argument, kinds[-1], f"{place}.{key}", problems)


def _check_component(value: Any, kind: Any, place: str, problems: Problems) -> None:
    """Follows AllenNLP's `from_params`, which builds a component of a kind."""
    type_place = f"{place}.type"
    if isinstance(value, str):
        value, type_place = {"type": value}, place
    if not isinstance(value, dict):
        return
    constructor = None
    if kind in Registrable._registry:
        name = value.get("type", getattr(kind, "default_implementation", None))
        if not isinstance(name, str):
            return
        if not_registered(kind, name):
            problems[type_place] = _expected_name(name)
            return
        if name not in Registrable._registry[kind]:
            return  # AllenNLP names those that there are
        kind, constructor = Registrable._registry[kind][name]
    try:
        parameters = infer_constructor_params(kind, getattr(kind, constructor or "__init__"))
    except (TypeError, ValueError):  # a class of another language than Python
        return
    for key, item in value.items():
        annotation = parameters[key].annotation if key in parameters else inspect.Parameter.empty
        _check_argument(item, annotation, f"{place}.{key}", problems)


def _expected_name(name: str) -> str:
    what = "a component that runs no program" if "." not in name else "a registered name"
    return f"expected {what}, got {quote(name)}"


def items_of(value: Any) -> Iterator[Any]:
    """The keys and values of an object, or of a list; of another value none."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


MAX_DEPTH = 5
"""A model may be built from another archive, and that one's from a third."""


class _Loading(threading.local):
    """What this thread loads: the name of an archive, its path, and how many archives are built from it."""

    name = path = ""
    depth = 0
    is_trusted = False


_loading = _Loading()


@contextmanager
def trusted() -> Iterator[None]:
    """A context in which this thread loads archives as AllenNLP does, also while other threads load theirs safely."""
    _loading.is_trusted, before = True, _loading.is_trusted
    try:
        with _config_files():
            yield
    finally:
        _loading.is_trusted = before


def _unless_trusted(owner: Any, name: str, value: Any) -> Any:
    """A function that does what `value` does, and in threads that trust archives what the attribute did before."""
    before = vars(owner)[name]
    if not callable(value) or not callable(before):
        return value

    @wraps(value)
    def call(*arguments: Any, **options: Any) -> Any:
        return (before if _loading.is_trusted else value)(*arguments, **options)

    return call


class _Replacements:
    """Gives attributes other values as long as a context is open, in any thread that does not trust archives."""

    def __init__(self, replacements: Callable[[], list[tuple[Any, str, Any]]]) -> None:
        self._replacements = replacements
        self._old: list[tuple[Any, str, Any]] = []
        self._lock = threading.Lock()
        self._open = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if not self._open:
                new = [each for each in self._replacements() if each[1] in vars(each[0])]
                self._old = [(owner, name, vars(owner)[name]) for owner, name, _ in new]
                for owner, name, value in new:
                    setattr(owner, name, _unless_trusted(owner, name, value))
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    for owner, name, value in self._old:
                        setattr(owner, name, value)


def _restrictions() -> list[tuple[Any, str, Any]]:
    find = vars(Registrable)["resolve_class_name"].__func__

    def resolve_class_name(cls: Any, name: str) -> Any:
        if not _loading.is_trusted and not_registered(cls, name):
            raise ConfigurationError(
                f"expected a registered name of {cls.__name__}, got {quote(name)}; {HINT}"
            )
        return find(cls, name)

    def download(name: str) -> None:
        raise ConfigurationError(
            f"expected an installed model of spaCy, got {quote(name)}: python -m spacy download installs it"
        )

    return [
        (Registrable, "resolve_class_name", classmethod(resolve_class_name)),
        (torch, "load", load_tensors),
        (allennlp_util, "spacy_download", download),
        (dynamic_module_utils, "TIME_OUT_REMOTE_CODE", 0),  # does not ask whether to run code
    ]


only_registered = _Replacements(_restrictions)
"""A context in which configs build registered components only, and `torch.load` loads tensors only."""


def _resolved(archive_file: Any) -> str:
    _loading.name, _loading.path = str(archive_file), file_utils.cached_path(archive_file)
    return _loading.path


@contextmanager
def _extracted(path: str, cleanup: bool = True) -> Iterator[str]:
    with ExitStack() as stack:
        folder = tempfile.mkdtemp()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        unpack(path, folder, _loading.name if path == _loading.path else path)
        yield folder
        if not cleanup:
            stack.pop_all()


def _config(path: str, overrides: Any = "") -> Params:
    if not _loading.is_trusted:
        check_config(path, _loading.name)
    if os.path.isdir(path):  # Jsonnet would end the process
        raise ConfigurationError(f"{os.path.basename(path)}: expected a file, got a folder")
    return Params.from_file(path, overrides)


def check_config(path: str, name: str) -> None:
    """Checks the file of a config, and that the vocabulary beside it is no archive, which AllenNLP would unpack.

    Raises an `ArchiveError` for the archive `name`; no error where there is no such file.
    """
    if os.path.isfile(os.path.join(os.path.dirname(path), "vocabulary")):
        raise ArchiveError(f"{name}: vocabulary: expected a folder, got a file")
    if not os.path.exists(path):
        return  # AllenNLP's error says so
    file = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as opened:
            problems = problems_of(read_config(opened.read()))
    except OSError as error:
        raise ArchiveError(
            f"{name}: {file}: expected a file that can be read, got {error.strerror!r}"
        ) from error
    except ValueError as error:
        raise ArchiveError(f"{name}: {file}: {error}") from error
    for place, problem in problems.items():
        raise ArchiveError(f"{name}: {file}: {place}: {problem}; {HINT}")


def _restricted(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step of `load_archive` that builds what the config names."""

    @wraps(step)
    def run(*arguments: Any) -> Any:
        name, depth = _loading.name, _loading.depth
        if depth >= MAX_DEPTH:
            raise ArchiveError(
                f"{name}: expected at most {MAX_DEPTH} archives that are built one from another"
            )
        _loading.depth = depth + 1
        try:
            with only_registered():
                return step(*arguments)
        except TensorFileError as error:
            raise ArchiveError(f"{name}: {str(error).splitlines()[0]}") from error
        finally:
            _loading.name, _loading.depth = name, depth

    return run


_CONFIG_STEP = (archival, "Params", SimpleNamespace(from_file=_config))


def _steps() -> list[tuple[Any, str, Any]]:
    return [
        # Other archives, such as that of a vocabulary, AllenNLP unpacks itself.
        (tarfile.TarFile, "extraction_filter", staticmethod(tarfile.data_filter)),
        (archival, "cached_path", _resolved),
        (archival, "extracted_archive", _extracted),
        _CONFIG_STEP,
        (archival, "_load_dataset_readers", _restricted(archival._load_dataset_readers)),
        (archival, "_load_model", _restricted(archival._load_model)),
    ]


_config_files = _Replacements(lambda: [_CONFIG_STEP])
safe_archives = _Replacements(_steps)
"""A context in which AllenNLP's `load_archive`, whoever calls it, runs no code of archives.

It raises an `ArchiveError` for an archive that is damaged, or that would run code: see docs/serving.md. While it is
open it holds for all threads but those in the context `trusted`.
"""


def check_device(number: int) -> None:
    """Raises a `UserError` where there is no GPU of this number; -1 is the CPU."""
    try:
        check_for_gpu(number)
    except (ConfigurationError, RuntimeError, ValueError) as error:
        raise UserError(
            f"--cuda-device: expected -1 or the number of a GPU, got {number} ({summary_of(error)})"
        ) from error


def load_predictor(
    path: str,
    cuda_device: int = -1,
    name: str | None = "nef_tagger",
    *,
    trust: bool = False,
    overrides: str | dict[str, Any] = "",
    **options: Any,
) -> Any:
    """Loads the model of an archive with its predictor, one of this package's.

    An archive from elsewhere cannot run code, unless it is trusted: see docs/serving.md.

    # Parameters

    path : `str`
        The archive, the folder of a training run, or the name of a trained model of this package, such as "qe-en-de".
    cuda_device : `int`, optional (default = `-1`)
        The number of a GPU, or -1 for the CPU.
    name : `str`, optional (default = `"nef_tagger"`)
        The registered name of the predictor. "nef_tagger" is `word_qe` for a model of quality estimation. None is the
        default of the model.
    trust : `bool`, optional (default = `False`)
        Whether the archive may do what AllenNLP lets it do, such as call any function of Python.
    overrides : `str` or `dict[str, Any]`, optional (default = `""`)
        Changes to the config of the archive, such as tokenizers of its reader.
    options
        Those of the predictor, a `TaggingPredictor` where the model is a tagger.

    # Raises

    `UserError`: not an archive that can be loaded, one that would run code, a predictor of taggers and a model other
    than `nef_tagger`, a predictor of another package or none, a wrong option.
    """
    file = archive_path(path)
    with trusted() if trust else safe_archives(), naming_archive(path, overrides):
        archive = load_archive(file, cuda_device=cuda_device, overrides=overrides)
    got = registered_name(Model, archive.model)
    chosen: Any = name or archive.model.default_predictor
    try:
        kind = _kind_of(chosen) if chosen else Predictor
        if issubclass(kind, TaggingPredictor) and not isinstance(archive.model, NefTagger):
            raise UserError(f"{path}: expected a model of the type nef_tagger, got {got}")
        # Others are not built: those of AllenNLP may download a model of spaCy.
        if not issubclass(kind, CheckedPredictor):
            names = sorted(Predictor.list_available())
            ours = ", ".join(each for each in names if issubclass(_kind_of(each), CheckedPredictor))
            default = "" if name else f", the default of {got}"
            raise UserError(f"{path}: expected one of the predictors {ours}, got {chosen}{default}")
        return Predictor.from_archive(archive, chosen, extra_args=options)
    except ConfigurationError as error:
        raise UserError(f"{path}: {summary_of(error)}") from error


@contextmanager
def naming_archive(
    path: str, overrides: Any = "", weights_file: str | None = None
) -> Iterator[None]:
    """A context in which an archive is loaded. What its files or its config cause is a `UserError` that names it.

    It also names the options, where there are overrides of its config, or other weights than its own.
    """
    options = {"--overrides": overrides, "--weights-file": weights_file}
    given = " and ".join(name for name, value in options.items() if value)
    try:
        yield
    except (ArchiveError, MissingExtraError) as error:
        start = f"{path}: {os.path.basename(weights_file or '')}: "
        if weights_file and str(error).startswith(start):
            message = str(error).removeprefix(start)
            raise UserError(f"--weights-file: {weights_file}: {message}") from error
        raise
    except AssertionError as error:
        if not str(error).startswith("OOV token not found!"):
            raise
        raise UserError(
            f"{path}: vocabulary/non_padded_namespaces.txt: expected the namespace of the labels in it, got others"
        ) from error
    except TransformerError as error:
        where = f"{given}: " if given else ""
        reason = str(error).splitlines()[0]  # the versions that follow do not matter
        raise UserError(f"{where}{path}: needs its encoder: {reason}") from error
    except (*_CAUSED_BY_ARCHIVES, RuntimeError) as error:
        if type(error) is RuntimeError and not _RUNTIME_ERRORS.search(str(error)):
            raise
        message = f"got {type(error).__name__}: {summary_of(error)}"
        if given and isinstance(error, (ConfigurationError, RuntimeError)):
            raise UserError(
                f"{given}: expected what {path} can be loaded with, {message}"
            ) from error
        raise UserError(f"{path}: expected the archive of a trained model, {message}") from error


# The errors of torch and of AllenNLP for weights that do not fit the model, and those of Jsonnet for a config.
_RUNTIME_ERRORS = re.compile(
    "in loading state_dict|Error loading state dict for|^(STATIC|RUNTIME) ERROR: "
)
# What fetching and unpacking an archive, reading its files, and building what its config names raise. A RuntimeError is
# torch's or Jsonnet's.
_CAUSED_BY_ARCHIVES = (
    ConfigurationError,
    EOFError,
    OSError,
    UnicodeDecodeError,
    UnpicklingError,
    UserError,
    tarfile.TarError,
    zlib.error,
)


def _kind_of(name: str) -> type[Predictor]:
    """The class of a registered name."""
    return Predictor.resolve_class_name(name)[0]
