"""What has changed since AllenNLP 2.10.1, in Python and in the packages that it imports.

AllenNLP is archived, and its metadata asks for packages of 2022. So it is installed without its requirements, and its
modules get what they expect from this one:

- The `import` statements in its modules, and in those of the other packages that are installed so, go through
  `_import`. Of packages that few components use, it gives a placeholder, which imports the package at the first use, or
  says what to install. So AllenNLP starts without them, and starts quickly. Names that a package no longer has come
  from `_NAMES`.
- When some of its modules have been executed, a function of `_CHANGES` replaces what no longer works.

Nothing else in the process changes: all other modules see the packages as they are. `_allennlp_nef_start.py`, outside
the package, finds these modules with `find_spec`. It loads this file without the package, so the standard library
alone is imported here, and `allennlp_nef.errors` where a component cannot be built.
"""

import builtins
import difflib
import functools
import hashlib
import importlib.util
import inspect
import pickle
import re
import sys
import tarfile
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

WITHOUT_REQUIREMENTS = ("allennlp==2.10.1", "allennlp-server==1.0.0", "cached-path")
"""What is installed with `pip install --no-deps`."""
OLDEST = ("torch>=2.8", "transformers>=4.46")
"""The oldest versions that work, as in pyproject.toml."""

# The packages that get a placeholder, with the names that pip knows them by.
_OPTIONAL = {
    "base58": "base58",
    "boto3": "boto3",
    "botocore": "boto3",
    "dill": "dill",
    "fairscale": "fairscale",
    "ftfy": "ftfy",
    "google.api_core": "google-cloud-storage",
    "google.auth": "google-cloud-storage",
    "google.cloud": "google-cloud-storage",
    "h5py": "h5py",
    "lmdb": "lmdb",
    "nltk": "nltk",
    "pytest": "pytest",
    "rouge": "py-rouge",
    "scipy": "scipy",
    "sklearn": "scikit-learn",
    "spacy": "spacy",
    "tensorboardX": "tensorboardX",
    "torchvision": "torchvision",
    "word2number": "word2number",
}


def find_spec(name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
    """The spec that Python has for a module, with the loader of this file."""
    spec = PathFinder.find_spec(name, path, target)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _Loader(name, spec.loader.path)
    return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "allennlp":
            check_versions()
        # Python looks up `__import__` here for each `import` statement of the module and of its functions.
        module.__dict__["__builtins__"] = _BUILTINS
        super().exec_module(module)
        change = _CHANGES.get(module.__name__)
        if change is not None:
            change(module)


def _import(
    name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
) -> Any:
    """The `__import__` of the modules of `PACKAGES`."""
    if level == 0:
        package = _optional_package(name)
        if package is not None and package not in sys.modules:
            return _Placeholder(name if fromlist else package)
        if name in _NAMES:
            return _StandIn(name)
    return builtins.__import__(name, globals, locals, fromlist, level)


def _optional_package(module: str) -> str | None:
    """The package of `_OPTIONAL` that a module is in."""
    return next((name for name in _OPTIONAL if f"{module}.".startswith(f"{name}.")), None)


_BUILTINS = {**vars(builtins), "__import__": _import}


# What is installed.


def install_commands() -> list[str]:
    """The commands that install this package and AllenNLP, in any folder."""
    root = Path(__file__).resolve().parent.parent
    package = (
        f"-e '{root}[serve,plot]'"
        if (root / "pyproject.toml").is_file()
        else "'allennlp_nef[serve,plot]'"
    )
    return [f"pip install {package}", f"pip install --no-deps {' '.join(WITHOUT_REQUIREMENTS)}"]


def require_allennlp() -> None:
    """Imports what this package extends of AllenNLP.

    # Raises

    `ImportError`: it cannot be imported. The message says what is wrong and how to mend it.
    """
    if importlib.util.find_spec("allennlp") is None:
        raise ImportError(
            f"allennlp_nef needs AllenNLP, which is not installed: {' && '.join(install_commands())}"
        )
    import allennlp.commands
    import allennlp.models
    import allennlp.predictors  # noqa: F401


def check_versions() -> None:
    """Checks what AllenNLP needs, before it is imported.

    # Raises

    `ImportError`: another version of AllenNLP, a torch or a transformers that is too old, no jsonnet.
    """
    for requirement in (*WITHOUT_REQUIREMENTS[:1], *OLDEST):
        name, relation, version = re.split("(==|>=)", requirement)
        installed = _version_of(name)
        if installed is None:
            continue  # it is in a folder of `sys.path` without its metadata
        is_right = (
            installed == version if relation == "==" else _numbers(installed) >= _numbers(version)
        )
        if not is_right:
            no_deps = "--no-deps " if relation == "==" else "--upgrade "
            raise ImportError(
                f"allennlp_nef needs {requirement}, got {name} {installed}: pip install {no_deps}'{requirement}'"
            )
    if importlib.util.find_spec("_jsonnet") is None:
        raise ImportError("allennlp_nef needs jsonnet, which is not installed: pip install jsonnet")


def _version_of(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


# Placeholders.


class NotInstalledError(ModuleNotFoundError):
    """A package is used that is not installed. The message says how to install it."""


class _Placeholder:
    """A module that is not imported yet, or what a dotted name in it stands for.

    It can be called, subclassed, written in annotations, and given to `isinstance`. It imports the package where it is
    used, and not where a name is taken from it.
    """

    def __init__(self, module: str, *names: str) -> None:
        self._placeholder = module, names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":  # what typing and copy look for
            raise AttributeError(name)
        module, names = self._placeholder
        if _is_imported(module):
            return getattr(_resolve(self), name)
        return _Placeholder(module, *names, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _resolve(self)(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return _resolve(self)[key]

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        try:
            return (_resolve(self),)
        except ModuleNotFoundError:  # raised again where an object of the subclass is made
            return (type("Missing", (), {"__new__": lambda cls, *args, **kwargs: _resolve(self)}),)

    def __instancecheck__(self, instance: Any) -> bool:
        # Without the package there is no instance.
        return _is_imported(self._placeholder[0]) and isinstance(instance, _resolve(self))


def _is_imported(module: str) -> bool:
    return (_optional_package(module) or module.partition(".")[0]) in sys.modules


def _resolve(placeholder: _Placeholder) -> Any:
    """What a placeholder stands for.

    # Raises

    `NotInstalledError`: the package is not installed.
    """
    module, names = placeholder._placeholder
    try:
        value: Any = importlib.import_module(module)
        for position, name in enumerate(names, 1):
            if not hasattr(value, name):  # a module that its package does not import
                importlib.import_module(".".join((module, *names[:position])))
            value = getattr(value, name)
    except ModuleNotFoundError as error:
        package = str(_optional_package(module))
        if not f"{package}.".startswith(f"{error.name}."):
            raise
        raise NotInstalledError(
            f"{'.'.join((module, *names))} is used here, and {package} is not installed: "
            f"pip install {_OPTIONAL[package]}",
            name=error.name,
        ) from error
    return value


# Names that packages no longer have.


class _StandIn(types.ModuleType):
    """A package with other objects for some of its names."""

    def __getattr__(self, name: str) -> Any:
        if name in _NAMES[self.__name__]:
            return _NAMES[self.__name__][name]()
        return getattr(importlib.import_module(self.__name__), name)


@functools.cache
def _adamw() -> type:
    from torch.optim import AdamW

    class HuggingfaceAdamW(AdamW):
        """torch's AdamW, for the option of that of transformers."""

        def __init__(self, params: Any, *, correct_bias: bool = True, **options: Any) -> None:
            if not correct_bias:
                raise ValueError("correct_bias: expected true, got false: torch always corrects it")
            super().__init__(params, **options)

    return HuggingfaceAdamW


@functools.cache
def _adafactor() -> type:
    from torch.optim import Optimizer

    class LazyAdafactor(Optimizer):
        """A base class that the one of transformers replaces where the first object is made."""

        def __new__(cls, *args: Any, **options: Any) -> Any:
            from transformers.optimization import Adafactor

            cls.__bases__ = tuple(
                Adafactor if base is LazyAdafactor else base for base in cls.__bases__
            )
            return object.__new__(cls)

    return LazyAdafactor


class _PushToHub:
    """What AllenNLP's `push-to-hf` takes from huggingface_hub before version 1."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.get_token()

    @staticmethod
    def get_token() -> Any:
        raise RuntimeError(
            "push-to-hf does not work with huggingface_hub 1.0 and later. Upload the archive with its own program: "
            "hf upload NAME model.tar.gz"
        )


def _placeholders(module: str, *names: str) -> dict[str, Callable[[], Any]]:
    return {name: functools.partial(_Placeholder, module, name) for name in names}


# By package and name, what gives the object.
_NAMES: dict[str, dict[str, Callable[[], Any]]] = {
    "transformers": {
        "AdamW": _adamw,  # gone since 4.50
        # Slow to import, and AllenNLP's modules take them when they start.
        "Adafactor": _adafactor,
        **_placeholders(
            "transformers",
            *("AutoConfig", "AutoModel", "PreTrainedModel", "PreTrainedTokenizer", "XLNetConfig"),
        ),
    },
    "transformers.data.data_collator": _placeholders(
        "transformers.data.data_collator", "DataCollatorForLanguageModeling"
    ),
    "transformers.models.bert.modeling_bert": _placeholders("transformers.activations", "ACT2FN"),
    "transformers.optimization": _placeholders(
        "transformers.optimization",
        *("get_constant_schedule", "get_constant_schedule_with_warmup"),
        *("get_cosine_schedule_with_warmup", "get_cosine_with_hard_restarts_schedule_with_warmup"),
    ),
    # Gone since 1.0.
    "huggingface_hub": {"HfFolder": lambda: _PushToHub, "Repository": lambda: _PushToHub},
}


# Functions of AllenNLP that are replaced.


def _infer_types_with_bars(module: Any) -> None:
    """Lets constructors be annotated with `X | None`, which Python has since 3.10 and AllenNLP does not know."""
    infer_method_params = module.infer_method_params

    def infer(cls: type, method: Callable[..., Any]) -> Any:
        return {
            name: parameter.replace(annotation=_with_unions(parameter.annotation))
            for name, parameter in infer_method_params(cls, method).items()
        }

    module.infer_method_params = functools.wraps(infer_method_params)(infer)


def _change_from_params(module: Any) -> None:
    _infer_types_with_bars(module)
    _name_what_cannot_be_built(module)


def _with_unions(annotation: Any) -> Any:
    """`typing.Union[X, Y]` for `X | Y`, also inside `list[X | Y]`, `Lazy[X | Y]` and the like."""
    args = typing.get_args(annotation)
    if isinstance(annotation, types.UnionType):
        return typing.Union[tuple(map(_with_unions, args))]  # noqa: UP007
    changed = tuple(map(_with_unions, args))
    is_same = all(one is other for one, other in zip(changed, args))  # `X | Y == Union[X, Y]`
    if is_same or typing.get_origin(annotation) is Callable:
        return annotation
    return annotation.__origin__[changed]


def _get_tokenizer_of_today(module: Any) -> None:
    """Leaves out an argument that tokenizers refuse since transformers 4.46, and adds methods that 5 dropped."""
    get_tokenizer = module.get_tokenizer

    def get(model_name: str, add_special_tokens: bool = True, **options: Any) -> Any:
        from allennlp_nef.pretrained import explaining

        with explaining(model_name):
            tokenizer = get_tokenizer(model_name, **options)
        if not hasattr(tokenizer, "encode_plus"):
            tokenizer.encode_plus = tokenizer.__call__
        if not hasattr(tokenizer, "build_inputs_with_special_tokens"):
            tokenizer.build_inputs_with_special_tokens = functools.partial(_add_special, tokenizer)
        return tokenizer

    module.get_tokenizer = functools.wraps(get_tokenizer)(get)


def _add_special(tokenizer: Any, pieces: list[int]) -> list[int]:
    """Pieces of a sentence with the special ones before and after them."""
    encoded = tokenizer("a", return_special_tokens_mask=True)
    special, mask = encoded["input_ids"], encoded["special_tokens_mask"]
    after = len(special) - mask[::-1].index(0)
    return [*special[: mask.index(0)], *pieces, *special[after:]]


def _change_util(module: Any) -> None:
    """Hashes arguments without dill and base58, and has a device for a number also where there is no GPU.

    Of such a number AllenNLP then says that there is none; `torch.device(0)` is an error now.
    """

    def int_to_device(device: Any) -> Any:
        torch = module.torch
        if isinstance(device, torch.device):
            return device
        return torch.device("cpu") if device < 0 else torch.device("cuda", device)

    module.hash_object = lambda value: hashlib.blake2b(pickle.dumps(value)).hexdigest()
    module.int_to_device = int_to_device


def _reduce_on_plateau_without_verbose(module: Any) -> None:
    """Builds the scheduler of torch, which no longer has the option `verbose`."""
    kind = module.ReduceOnPlateauLearningRateScheduler
    construct = kind.__init__

    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        bound = inspect.signature(construct).bind(self, *arguments, **options)
        bound.apply_defaults()
        given = {**bound.arguments}
        del given["self"], given["verbose"]
        scheduler = module.torch.optim.lr_scheduler.ReduceLROnPlateau(**given)
        super(kind, self).__init__(scheduler)

    kind.__init__ = functools.wraps(construct)(__init__)


def _use_amp_of_today(module: Any) -> None:
    """Gives the trainer `torch.amp` in place of `torch.cuda.amp`, which warns at each training since torch 2.4."""
    import torch

    def autocast(enabled: bool) -> Any:
        return torch.amp.autocast("cuda", enabled=enabled)

    scaler = functools.partial(torch.amp.GradScaler, "cuda")
    module.amp = types.SimpleNamespace(autocast=autocast, GradScaler=scaler)


def _step_with_floats(module: Any) -> None:
    """Keeps learning rates as floats. Those of NumPy, which `cosine` computes, are not loaded from a checkpoint."""

    def step(self: Any, metric: float | None = None) -> None:
        self.last_epoch += 1
        self.metric = metric
        for group, value in zip(self.optimizer.param_groups, self.get_values()):
            group[self.param_group_field] = float(value)

    module.Scheduler.step = functools.wraps(module.Scheduler.step)(step)


def _suggest_without_nltk(module: Any) -> None:
    """Finds the registered name that is nearest to a wrong one without nltk."""

    def suggest(name: str, available: list[str]) -> str | None:
        nearest = difflib.get_close_matches(name, available, 1, 0.7)
        return nearest[0] if nearest else None

    module._get_suggestion = suggest


def _import_plugins_quickly(module: Any) -> None:
    """Lists the folders of `sys.path` once for all plugins, not for each of their modules."""
    import_plugins, import_all = module.import_plugins, module.import_module_and_submodules

    def import_them() -> None:
        invalidate = importlib.invalidate_caches
        invalidate()
        importlib.invalidate_caches = lambda: None
        try:
            import_plugins()
        finally:
            importlib.invalidate_caches = invalidate

    def import_without_scripts(name: str, exclude: Any = None) -> None:
        # A folder of scripts. One tries to download data of nltk when it is imported.
        import_all(name, {*(exclude or ()), "allennlp_models.rc.tools"})

    module.import_plugins = functools.wraps(import_plugins)(import_them)
    module.import_module_and_submodules = import_without_scripts


# The types of simple values in configs.
_KINDS = {int: "an integer", float: "a number", bool: "true or false", str: "a string"}
# The classes of AllenNLP whose constructors check the values of a config, and the errors that they raise then.
_CHECKING = tuple(
    f"allennlp.{name}"
    for name in ("data.token_indexers", "data.tokenizers", "modules", "training.optimizers")
)
COMPRESSION = 1
"""Of archives, as gzip has it."""
# Options that have to be integers of at least 1. AllenNLP does not check its own, or not as errors of a config.
_POSITIVE = (
    *("batch_size", "embedding_dim", "keep_most_recent_by_count", "max_instances", "max_tokens"),
    *("num_epochs", "num_gradient_accumulation_steps", "save_every_num_batches", "step_size"),
)
# The modules whose options with a type are not null.
_WITHOUT_NULL = ("allennlp_nef", "allennlp.data.samplers")
_CHECKS = (AssertionError, OSError, ValueError)
_OF_ALLENNLP_MODELS = ("biaffine_parser", "esim")


class _WrongValue(TypeError):
    """A value of a config is of another type than its option."""


class _RefusedValue(ValueError):
    """A constructor that also reads data refuses a value of a config."""


def _name_what_cannot_be_built(module: Any) -> None:
    """Raises a `ConfigurationError` that names component and option where a config does not fit a component.

    AllenNLP takes null for any option, and true for the integer 1; here that is an error.

    An error inside a constructor stays as it is: it may be a bug. Only those with which a constructor of AllenNLP
    refuses values become a `ConfigurationError`.
    """
    construct, pop, create = (
        module.construct_arg,
        module.pop_and_construct_arg,
        module.create_kwargs,
    )
    build = module.FromParams.from_params.__func__

    # `/`, as the extras may have the same names.
    def construct_arg(
        class_name: str, name: str, value: Any, annotation: Any, default: Any, /, **extras: Any
    ) -> Any:
        is_lazy = typing.get_origin(annotation) is module.Lazy and value is not default
        built_later = typing.get_args(annotation)[0] if is_lazy else annotation
        expected = _expected(module, value, built_later)
        try:
            if is_lazy and expected or annotation is int and isinstance(value, bool):
                raise TypeError
            return construct(class_name, name, value, annotation, default, **extras)
        except (TypeError, module.ConfigurationError):
            if not expected:
                raise
            from allennlp_nef.errors import quote

            raise _WrongValue(f"{name}: expected {expected}, got {quote(value)}") from None

    def pop_and_construct_arg(
        class_name: str, name: str, annotation: Any, default: Any, params: Any, /, **extras: Any
    ) -> Any:
        try:
            return pop(class_name, name, annotation, default, params, **extras)
        except _WrongValue as error:
            raise module.ConfigurationError(f"{_place(params, class_name)}: {error}") from None

    def create_kwargs(constructor: Any, cls: Any, params: Any, /, **extras: Any) -> Any:
        options = module.infer_params(cls, constructor)
        if cls.__module__.startswith(_WITHOUT_NULL):
            for name in sorted(params.keys() & options.keys()):
                option = options[name]
                kind = _KINDS.get(option.annotation)
                if option.default is option.empty and hasattr(option.annotation, "from_params"):
                    kind = "an object"
                if kind and params[name] is None and option.default is not None:
                    raise module.ConfigurationError(
                        f"{_place(params, cls.__name__)}: {name}: expected {kind}, got None"
                    )
        if cls.__module__.startswith("allennlp"):
            for name in params.keys() & options.keys() & {*_POSITIVE}:
                if isinstance(params[name], int) and (params[name] is True or params[name] < 1):
                    raise module.ConfigurationError(
                        f"{_place(params, cls.__name__)}: {name}: expected an integer of at least 1, got {params[name]}"
                    )
        if not any(option.kind is option.VAR_KEYWORD for option in options.values()):
            for name in sorted(params.keys() - options.keys()):
                raise _unknown_option(module, name, options, extras, _place(params, cls.__name__))
        return create(constructor, cls, params, **extras)

    def from_params(
        cls: Any,
        params: Any,
        constructor_to_call: Any = None,
        constructor_to_inspect: Any = None,
        **extras: Any,
    ) -> Any:
        if not isinstance(params, module.Params):
            return build(cls, params, constructor_to_call, constructor_to_inspect, **extras)
        if constructor_to_call is None:  # then AllenNLP looks up the type
            name = params.get("type")
            is_missing = name in _OF_ALLENNLP_MODELS and cls.__name__ == "Model"
            if is_missing and name not in cls.list_available():
                raise module.ConfigurationError(
                    f"model: {name} needs allennlp-models: pip install --no-deps allennlp-models==2.10.1"
                )
            return build(cls, params, None, constructor_to_inspect, **extras)
        place, given = _place(params, cls.__name__), set(params)

        def call(**arguments: Any) -> Any:
            try:
                return constructor_to_call(**arguments)
            except TypeError as error:
                options = module.infer_params(cls, constructor_to_inspect)
                for name in given - options.keys():
                    if f"unexpected keyword argument {name!r}" in str(error):
                        raise _unknown_option(module, name, options, extras, place) from error
                raise
            except module.ConfigurationError as error:
                from allennlp_nef.pretrained import TransformerError

                if not isinstance(error, TransformerError):
                    raise
                raise TransformerError(f"{place}: {error}") from error
            except _CHECKS as error:
                from allennlp_nef.errors import UserError, summary_of

                is_named = isinstance(error, UserError) or getattr(error, "filename", None)
                is_check = cls.__module__.startswith(_CHECKING) or isinstance(error, _RefusedValue)
                if is_named or not str(error) or not is_check:
                    raise
                raise module.ConfigurationError(f"{place}: {summary_of(error)}") from error

        return build(cls, params, call, constructor_to_inspect, **extras)

    module.construct_arg = functools.wraps(construct)(construct_arg)
    module.pop_and_construct_arg = functools.wraps(pop)(pop_and_construct_arg)
    module.create_kwargs = functools.wraps(create)(create_kwargs)
    module.FromParams.from_params = classmethod(functools.wraps(build)(from_params))


def _expected(module: Any, value: Any, annotation: Any) -> str | None:
    """What an annotation asks for, where AllenNLP builds no component to find out whether a value is that."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    kinds = args if origin is typing.Union else (annotation,)
    if all(kind in _KINDS for kind in kinds):
        return " or ".join(_KINDS[kind] for kind in kinds)
    if hasattr(annotation, "from_params"):
        return None if isinstance(value, (str, Mapping)) else "an object"
    if isinstance(origin, type) and args and module.can_construct_from_params(args[-1]):
        if issubclass(origin, Mapping):
            return None if isinstance(value, Mapping) else "an object"
        if issubclass(origin, Iterable):
            return None if isinstance(value, Iterable) else "a list"
    return None


def _place(params: Any, class_name: str) -> str:
    """A component in a config, for messages."""
    return f"{params.history.rstrip('.') or 'the config'} ({class_name})"


def _unknown_option(
    module: Any, name: str, options: Any, extras: Mapping[str, Any], place: str
) -> Exception:
    """The error for an option that a component does not have. `extras` are arguments that no config gives."""
    from allennlp_nef.errors import unknown_option

    is_variable = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    known = {key for key, option in options.items() if option.kind not in is_variable}
    message = unknown_option(place, name, known - {"self", *extras})
    error: Exception = module.ConfigurationError(message)
    return error


def _name_dimensions(module: Any) -> None:
    """Lets the error for encoders of `compose` that do not fit name their dimensions."""
    construct = module.ComposeEncoder.__init__

    def __init__(self: Any, encoders: Any) -> None:
        dims = [(encoder.get_input_dim(), encoder.get_output_dim()) for encoder in encoders]
        if any(before[1] != after[0] for before, after in zip(dims, dims[1:])):
            got = ", ".join(f"{input_dim} to {output_dim}" for input_dim, output_dim in dims)
            raise ValueError(
                f"encoders: expected each input dimension to be the output dimension before it, got {got}"
            )
        construct(self, encoders)

    module.ComposeEncoder.__init__ = functools.wraps(construct)(__init__)


def _check_before_reading(module: Any) -> None:
    """Lets a data loader check its values before it reads data, in which an error may be a bug."""
    construct = module.MultiProcessDataLoader.__init__

    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        self.iter_instances = tuple  # reads nothing
        try:
            construct(self, *arguments, **options)
        except ValueError as error:
            raise _RefusedValue(str(error)) from error
        except RuntimeError as error:
            got = f"{options.get('cuda_device')!r} ({error})"
            raise _RefusedValue(f"cuda_device: expected a device of torch, got {got}") from error
        del self.iter_instances
        # A lock of AllenNLP's loader is made in the way that is Python's default.
        methods = {"fork": None, module.mp.get_start_method(): None}
        if self.num_workers and self.start_method not in methods:
            raise _RefusedValue(
                f"start_method: expected {' or '.join(methods)}, got {self.start_method!r}"
            )
        if self.max_instances_in_memory is None:
            for _ in self.iter_instances():
                pass

    module.MultiProcessDataLoader.__init__ = functools.wraps(construct)(__init__)


def _archive_quickly(module: Any) -> None:
    """Compresses archives less. Python's default takes 134 seconds for the weights of multilingual-e5-small (470 MB) in
    place of 10, and makes the archive 5% smaller."""

    def open_file(name: Any, mode: Any = "r", **options: Any) -> tarfile.TarFile:
        if mode == "w:gz":
            options.setdefault("compresslevel", COMPRESSION)
        return tarfile.open(name, mode, **options)

    module.tarfile = types.SimpleNamespace(**{**vars(tarfile), "open": open_file})


def _change_archival(module: Any) -> None:
    _archive_quickly(module)
    _name_damaged_parts(module)


def _name_damaged_parts(module: Any) -> None:
    """Raises a `ConfigurationError` where the config of an archive lacks a part, or its other file has no version.

    The dataset reader may be a name alone, as in the config of the training.
    """
    load, from_path = module._load_dataset_readers, module.Meta.from_path

    def load_readers(config: Any, folder: Any) -> Any:
        for name in ("dataset_reader", "model"):
            value = config.get(name) if isinstance(config.params, dict) else None
            if isinstance(value, str):
                config[name] = {"type": value}
            elif not isinstance(value, Mapping):
                raise module.ConfigurationError(
                    f"config.json: expected an object with {name}, got {value}"
                )
        return load(config, folder)

    def read_meta(path: Any) -> Any:
        try:
            meta = from_path(path)
            module._parse_version(meta.version)
        except (AttributeError, TypeError, ValueError) as error:
            got = "other fields" if isinstance(error, TypeError) else error
            raise module.ConfigurationError(
                f'meta.json: expected {{"version": "{module.VERSION}"}} or such, got {got}'
            ) from error
        return meta

    module._load_dataset_readers = functools.wraps(load)(load_readers)
    module.Meta.from_path = functools.wraps(from_path)(read_meta)


def _name_damaged_weights(module: Any) -> None:
    """Raises a `TensorFileError` for weights that torch cannot load."""
    read = module.read_state_dict

    def read_state_dict(path: Any, *arguments: Any, **options: Any) -> Any:
        from allennlp_nef.tensor_files import explaining_weights

        with explaining_weights(path):
            return read(path, *arguments, **options)

    module.read_state_dict = functools.wraps(read)(read_state_dict)


def _suggest_choice(module: Any) -> None:
    """Raises a `ConfigurationError` that names the place and the nearest one for a registered name that is unknown."""
    pop_choice = module.Params.pop_choice

    def pop(self: Any, key: str, choices: list[str], *arguments: Any, **options: Any) -> Any:
        from allennlp_nef.errors import unknown_option

        name = self.get(key)
        if isinstance(name, str) and name not in choices and "." not in name.lstrip("."):
            message = unknown_option(f"{self.history}{key}", name, choices, "names")
            raise module.ConfigurationError(f"{message} (--include-package loads further ones)")
        return pop_choice(self, key, choices, *arguments, **options)

    module.Params.pop_choice = functools.wraps(pop_choice)(pop)


def _name_namespaces(module: Any) -> None:
    """Raises a `ConfigurationError` that names the option for a `min_count` of a namespace that no data have."""
    extend = module.Vocabulary._extend

    def extended(
        self: Any, counter: Any = None, min_count: Any = None, *args: Any, **kw: Any
    ) -> Any:
        from allennlp_nef.errors import unknown_option

        for name in min_count or ():
            if name not in (counter or {}):
                message = unknown_option("vocabulary.min_count", name, counter or (), "namespaces")
                raise module.ConfigurationError(message)
        return extend(self, counter, min_count, *args, **kw)

    module.Vocabulary._extend = functools.wraps(extend)(extended)


def _name_validation_metric(module: Any) -> None:
    """Lets the errors for `validation_metric` name it, and the metrics that there are."""
    construct, combined = module.MetricTracker.__init__, module.MetricTracker.combined_score
    place = "trainer.validation_metric"

    def __init__(self: Any, metric_name: Any, *arguments: Any, **options: Any) -> None:
        for name in [metric_name] if isinstance(metric_name, str) else metric_name:
            if not name.startswith(("+", "-")):
                raise module.ConfigurationError(
                    f"{place}: expected + (higher is better) or - and the name of a metric, got {name!r}"
                )
        construct(self, metric_name, *arguments, **options)

    def combined_score(self: Any, metrics: Any) -> Any:
        from allennlp_nef.errors import unknown_option

        for _, name in self.tracked_metrics:
            if name not in metrics:
                raise module.ConfigurationError(unknown_option(place, name, metrics, "metrics"))
        return combined(self, metrics)

    module.MetricTracker.__init__ = functools.wraps(construct)(__init__)
    module.MetricTracker.combined_score = functools.wraps(combined)(combined_score)


def _name_changed_values(module: Any) -> None:
    """Lets the error for a recovery with another config name the values that differ."""
    create = module.create_serialization_dir

    def create_dir(params: Any, folder: Any, recover: bool, force: bool) -> None:
        config = Path(folder, "config.json")
        if recover and not force and config.is_file():
            given, saved = params.as_flat_dict(), module.Params.from_file(config).as_flat_dict()
            changed = [
                f"{name} {given.get(name, 'missing')} instead of {saved.get(name, 'missing')}"
                for name in sorted({*given, *saved})
                if given.get(name) != saved.get(name)
            ]
            if changed:
                raise module.ConfigurationError(
                    f"--recover: expected the config that the training began with, {config}, got {', '.join(changed)}"
                )
        create(params, folder, recover, force)

    module.create_serialization_dir = functools.wraps(create)(create_dir)


# By module, what is called with the module when it has been executed.
_CHANGES: dict[str, Callable[[Any], None]] = {
    "allennlp.common.cached_transformers": _get_tokenizer_of_today,
    "allennlp.common.from_params": _change_from_params,
    "allennlp.common.params": _suggest_choice,
    "allennlp.common.plugins": _import_plugins_quickly,
    "allennlp.common.registrable": _suggest_without_nltk,
    "allennlp.common.util": _change_util,
    "allennlp.data.data_loaders.multiprocess_data_loader": _check_before_reading,
    "allennlp.data.vocabulary": _name_namespaces,
    "allennlp.models.archival": _change_archival,
    "allennlp.modules.seq2seq_encoders.compose_encoder": _name_dimensions,
    "allennlp.nn.util": _name_damaged_weights,
    "allennlp.training.gradient_descent_trainer": _use_amp_of_today,
    "allennlp.training.learning_rate_schedulers.pytorch_lr_schedulers": _reduce_on_plateau_without_verbose,
    "allennlp.training.metric_tracker": _name_validation_metric,
    "allennlp.training.scheduler": _step_with_floats,
    "allennlp.training.util": _name_changed_values,
}
