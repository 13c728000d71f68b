"""Patches that let AllenNLP 2.10.1 run on current versions of Python and the packages that it imports.

AllenNLP is archived, and its metadata pins package versions from 2022, so it is installed without its dependencies. The
rule for this module: patch only what would crash, and do not change AllenNLP's results, checks or messages.

- While a module of AllenNLP (or of the packages that are installed like it) is executed, its `import` statements go
  through `_import`. Packages that are slow to import, or that few components need, become a `Placeholder`, which
  imports the package at its first use. `_REPLACED` supplies names that a package no longer has.
- After a module in `_CHANGES` is executed, its function there replaces what no longer works.

All other modules see the packages as they are. `_allennlp_nef_start.py` loads this file without the package, so nothing
but the standard library is imported here.
"""

import builtins
import difflib
import functools
import hashlib
import importlib
import inspect
import os
import pickle
import sys
import types
import typing
from collections.abc import Callable, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Any

WITHOUT_DEPENDENCIES = ("allennlp==2.10.1", "allennlp-server==1.0.0", "cached-path==1.8.10")
"""What is installed with `pip install --no-deps`."""


def require_allennlp() -> None:
    """Checks that AllenNLP is installed in the version that this package extends.

    # Raises

    `ImportError`: AllenNLP is missing, or another version is installed. The message contains the command to install it.
    """
    name, _, version = WITHOUT_DEPENDENCIES[0].partition("==")
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        installed = "missing"
    if installed != version:
        command = f"pip install --no-deps {' '.join(WITHOUT_DEPENDENCIES)}"
        raise ImportError(f"allennlp_nef needs AllenNLP {version} ({installed}): {command}")


# The hook.


def adapt(spec: ModuleSpec) -> None:
    """Changes how a module of AllenNLP will be executed."""
    if isinstance(spec.loader, SourceFileLoader):
        execute = functools.partial(_execute, spec.loader.exec_module)
        spec.loader.exec_module = execute  # type: ignore[method-assign]


def _execute(exec_module: Callable[[types.ModuleType], None], module: types.ModuleType) -> None:
    """Executes a module with `_import` in place of `__import__`, then changes it."""
    module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
    exec_module(module)
    change = _CHANGES.get(module.__name__)
    if change is not None:
        change(module)


def _import(
    name: str,
    globals: dict[str, Any] | None = None,
    locals: Any = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """Replaces `__import__` for statements at the top level of a module."""
    if globals is not None:
        # The running code keeps its builtins; functions that it defines from now on get the usual ones.
        globals["__builtins__"] = vars(builtins)
    if level == 0:
        if fromlist and all(f"{name}.{each}" in _REPLACED for each in fromlist):
            values = {each: _REPLACED[f"{name}.{each}"]() for each in fromlist}
            return types.SimpleNamespace(**values)
        package = _package_of(name)
        if package is not None:
            return Placeholder(name if fromlist else package)
    return builtins.__import__(name, globals, locals, fromlist, level)


# Packages that are imported when they are used.

_LAZY = (
    *("base58", "boto3", "botocore", "dill", "fairscale", "ftfy", "google.api_core", "google.auth"),
    *("google.cloud", "h5py", "huggingface_hub", "lmdb", "more_itertools", "nltk", "pytest"),
    *("rouge", "scipy", "sklearn", "spacy", "tensorboardX", "termcolor", "torchvision"),
    *("transformers", "word2number"),
)


class Placeholder:
    """Represents a module in `_LAZY`, or an object in it, and imports the module when it is used.

    It can be called, subclassed, written in annotations, and given to `isinstance`.
    """

    def __init__(self, module: str, *names: str) -> None:
        self._path = module, *names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":  # what typing and copy look for
            raise AttributeError(name)
        path = *self._path, name
        if ".".join(path) in _REPLACED:
            return _REPLACED[".".join(path)]()
        if self._path[-1].rpartition(".")[2] in ("exceptions", "errors") or name.endswith("Error"):
            return _exception(*path)
        return _resolve(*path) if self._is_imported() else Placeholder(*path)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _resolve(*self._path)(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _resolve(*self._path)[key]

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return (_resolve(*self._path),)
        except ModuleNotFoundError:  # raised again when the subclass is instantiated
            return (type("Missing", (), {"__new__": lambda cls, *_, **__: _resolve(*self._path)}),)

    def __instancecheck__(self, instance: Any) -> bool:
        # Before the package is imported, no object is an instance of its classes.
        return self._is_imported() and isinstance(instance, _resolve(*self._path))

    def _is_imported(self) -> bool:
        return _package_of(self._path[0]) in sys.modules


def _package_of(module: str) -> str | None:
    """Returns the package of `_LAZY` that contains a module."""
    return next((name for name in _LAZY if f"{module}.".startswith(f"{name}.")), None)


def _resolve(module: str, *names: str) -> Any:
    """Imports the module, or the object in it, that a dotted name refers to."""
    value: Any = importlib.import_module(module)
    for position, name in enumerate(names, 1):
        if not hasattr(value, name):  # a module that its package does not import
            importlib.import_module(".".join((module, *names[:position])))
        value = getattr(value, name)
    return value


def _exception(*path: str) -> Any:
    """Returns an exception class for `except`; without its package, a class that nothing raises."""
    try:
        return _resolve(*path)
    except ModuleNotFoundError:
        return type(path[-1], (Exception,), {})


# Names that packages no longer have.


def _amp() -> Any:
    """Returns `torch.cuda.amp`, which torch has deprecated in favor of `torch.amp`."""
    import torch

    def autocast(enabled: bool = True) -> Any:
        return torch.amp.autocast("cuda", torch.float16, enabled)

    scaler = functools.partial(torch.amp.GradScaler, "cuda")
    return types.SimpleNamespace(autocast=autocast, GradScaler=scaler)


@functools.cache
def _adamw() -> type:
    """`transformers.AdamW`, removed in transformers 4.50: torch's AdamW."""
    from torch.optim import AdamW

    class HuggingfaceAdamW(AdamW):
        def __init__(self, params: Any, *, correct_bias: bool = True, **options: Any) -> None:
            if not correct_bias:
                raise ValueError("torch.optim.AdamW always corrects the bias (correct_bias)")
            super().__init__(params, **options)

    return HuggingfaceAdamW


@functools.cache
def _adafactor() -> type:
    """Returns a base class that becomes `transformers.Adafactor` when the first object is created."""
    from torch.optim import Optimizer

    class LazyAdafactor(Optimizer):
        def __new__(cls, *args: Any, **options: Any) -> Any:
            from transformers.optimization import Adafactor

            bases = (Adafactor if base is LazyAdafactor else base for base in cls.__bases__)
            cls.__bases__ = tuple(bases)
            return object.__new__(cls)

    return LazyAdafactor


# By path, the function that returns the object.
_REPLACED: dict[str, Callable[[], Any]] = {
    "torch.cuda.amp": _amp,
    "transformers.AdamW": _adamw,
    "transformers.Adafactor": _adafactor,
    # For `push-to-hf`: slow to import, or gone since huggingface_hub 1.0.
    "huggingface_hub.HfApi": lambda: Placeholder("huggingface_hub", "HfApi"),
    "huggingface_hub.HfFolder": lambda: Placeholder("huggingface_hub", "HfFolder"),
    "huggingface_hub.Repository": lambda: Placeholder("huggingface_hub", "Repository"),
}


# What no longer works in modules of AllenNLP.


def _change_tokenizers(module: Any) -> None:
    """Omits `add_special_tokens`, which transformers 4.46 and later reject; adds methods that 5.0 has dropped.

    AllenNLP passes the argument again where it uses a tokenizer.
    """
    get_tokenizer = module.get_tokenizer

    @functools.wraps(get_tokenizer)
    def get(model_name: str, add_special_tokens: bool = True, **options: Any) -> Any:
        tokenizer = get_tokenizer(model_name, **options)
        if not hasattr(tokenizer, "encode_plus"):
            tokenizer.encode_plus = tokenizer.__call__
        if not hasattr(tokenizer, "build_inputs_with_special_tokens"):
            tokenizer.build_inputs_with_special_tokens = functools.partial(_add_special, tokenizer)
        return tokenizer

    module.get_tokenizer = get


def _add_special(tokenizer: Any, pieces: list[int]) -> list[int]:
    """Returns the pieces of a sentence with the special ones before and after them."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    special, mask = encoded["input_ids"], encoded["special_tokens_mask"]
    after = len(special) - mask[::-1].index(0)
    return [*special[: mask.index(0)], *pieces, *special[after:]]


def _change_annotations(module: Any) -> None:
    """Reads `X | Y` as `Union[X, Y]`, which AllenNLP knows."""
    infer_method_params = module.infer_method_params

    @functools.wraps(infer_method_params)
    def infer(cls: type, method: Callable[..., Any]) -> Any:
        return {
            name: parameter.replace(annotation=_with_unions(parameter.annotation))
            for name, parameter in infer_method_params(cls, method).items()
        }

    module.infer_method_params = infer


def _with_unions(annotation: Any) -> Any:
    """Returns `Union[X, Y]` for `X | Y`, even inside `list[X | Y]`, `Lazy[X | Y]` and the like."""
    args = typing.get_args(annotation)
    if isinstance(annotation, types.UnionType):
        return typing.Union[tuple(map(_with_unions, args))]  # noqa: UP007
    changed = tuple(map(_with_unions, args))
    is_same = all(one is other for one, other in zip(changed, args))  # `X | Y == Union[X, Y]`
    if is_same or typing.get_origin(annotation) in (Callable, typing.Annotated):
        return annotation
    return annotation.__origin__[changed]


def _change_suggestions(module: Any) -> None:
    """Suggests the registered name closest to a misspelled one; does not need nltk."""
    get_suggestion = module._get_suggestion

    def suggest(name: str, available: list[str]) -> str | None:
        try:
            return get_suggestion(name, available)
        except ModuleNotFoundError:
            return next(iter(difflib.get_close_matches(name, available, 1, 0.7)), None)

    module._get_suggestion = suggest


def _change_util(module: Any) -> None:
    """Hashes objects even without dill and base58, and makes a device from a number even without a GPU.

    AllenNLP then reports that there is no GPU; `torch.device(0)` itself now raises an error.
    """
    hash_object, int_to_device = module.hash_object, module.int_to_device

    def hashed(value: Any) -> str:
        try:
            return hash_object(value)
        except ModuleNotFoundError:
            return hashlib.blake2b(pickle.dumps(value)).hexdigest()

    def to_device(device: Any) -> Any:
        try:
            return int_to_device(device)
        except RuntimeError:
            return module.torch.device("cuda", device)

    module.hash_object = functools.wraps(hash_object)(hashed)
    module.int_to_device = functools.wraps(int_to_device)(to_device)


def _change_plateau(module: Any) -> None:
    """Builds torch's scheduler without `verbose`, an option that torch has dropped."""
    kind = module.ReduceOnPlateauLearningRateScheduler
    construct = kind.__init__

    @functools.wraps(construct)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        bound = inspect.signature(construct).bind(self, *args, **options)
        given = {key: value for key, value in bound.arguments.items() if key != "verbose"}
        del given["self"]
        scheduler = module.torch.optim.lr_scheduler.ReduceLROnPlateau(**given)
        super(kind, self).__init__(scheduler)

    kind.__init__ = __init__


def _change_steps(module: Any) -> None:
    """Keeps optimizer values as Python floats: a checkpoint with NumPy floats, as from `cosine`, cannot be loaded."""
    step = module.Scheduler.step

    @functools.wraps(step)
    def step_with_floats(self: Any, metric: float | None = None) -> None:
        step(self, metric)
        for group in self.optimizer.param_groups:
            value = group[self.param_group_field]
            if isinstance(value, float):
                group[self.param_group_field] = float(value)

    module.Scheduler.step = step_with_floats


def _change_caches(module: Any) -> None:
    """Finds local files even if the folder for downloads cannot be created, and loads the tensors of a `TensorCache`.

    `weights_only` rejects the pickle protocol that AllenNLP uses to save these tensors.
    """
    torch, cached_path = module.torch, module.cached_path
    load = functools.partial(torch.load, weights_only=False)
    module.torch = types.SimpleNamespace(Tensor=torch.Tensor, load=load, save=torch.save)

    @functools.wraps(cached_path)
    def find(
        url_or_filename: Any,
        cache_dir: Any = None,
        extract_archive: bool = False,
        force_extract: bool = False,
    ) -> Any:
        is_extracted = extract_archive and not os.path.isdir(url_or_filename)
        if "://" not in str(url_or_filename) and not is_extracted:
            cache_dir = os.sep  # any folder that exists
        return cached_path(url_or_filename, cache_dir, extract_archive, force_extract)

    module.cached_path = find


def _change_loader(module: Any) -> None:
    """Gives workers a lock that can be sent to them whether they are forked or spawned."""
    lock = module.mp.get_context("spawn").RLock
    module.mp = types.SimpleNamespace(get_context=module.mp.get_context, RLock=lock)


def _change_attachment_scores(module: Any) -> None:
    """Sums the counts of a batch before they are added across processes, whose batches differ in size."""
    reduce = module.dist_reduce_sum
    module.dist_reduce_sum = lambda value: reduce(value.sum() if hasattr(value, "sum") else value)


# By module, the function that is called with it after it was executed.
_CHANGES: dict[str, Callable[[Any], None]] = {
    "allennlp.common.cached_transformers": _change_tokenizers,
    "allennlp.common.file_utils": _change_caches,
    "allennlp.common.registrable": _change_suggestions,
    "allennlp.common.util": _change_util,
    "allennlp.data.data_loaders.multiprocess_data_loader": _change_loader,
    "allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers": _change_plateau,
    "allennlp.training.metrics.attachment_scores": _change_attachment_scores,
    "allennlp.training.scheduler": _change_steps,
}
if sys.version_info < (3, 14):  # since 3.14, `X | Y` and `Union[X, Y]` have the same type
    _CHANGES["allennlp.common.from_params"] = _change_annotations
