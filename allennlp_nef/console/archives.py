"""Archives and predictors of AllenNLP's commands: what is wrong with them is named."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any

from allennlp.common import params
from allennlp.models import archival
from allennlp.predictors import Predictor

from allennlp_nef.errors import UserError, unknown_option
from allennlp_nef.predictors.archives import naming_archive


class _OverridesError(Exception):
    """Overrides change what the config of an archive does not have."""


@contextmanager
def naming_archives() -> Iterator[None]:
    """A context in which AllenNLP's commands raise a `UserError` for archives, overrides and predictor arguments.

    They name an archive that cannot be loaded, and an option that the predictor does not have before it is built.
    """
    load_archive, with_overrides = archival.load_archive, params.with_overrides
    from_archive = vars(Predictor)["from_archive"]

    def load(archive_file: Any, *arguments: Any, **options: Any) -> Any:
        try:
            with naming_archive(str(archive_file)):
                return load_archive(archive_file, *arguments, **options)
        except _OverridesError as error:
            raise UserError(f"--overrides: {error}") from error

    def override(original: Any, overrides: Any, prefix: str = "") -> Any:
        try:
            return with_overrides(original, overrides, prefix)
        except ValueError as error:
            raise _OverridesError(str(error)) from error

    def make(cls: Any, archive: Any, predictor_name: str | None = None, **options: Any) -> Any:
        name = predictor_name or archive.model.default_predictor
        if name is not None:
            known = Predictor.list_available()
            if name not in known and "." not in name:
                raise UserError(unknown_option("--predictor", name, known, "predictors"))
            _check_options(name, options.get("extra_args") or {})
        return from_archive.__func__(cls, archive, predictor_name, **options)

    replacements: list[tuple[Any, str, Any]] = [
        (params, "with_overrides", override),
        (Predictor, "from_archive", classmethod(make)),
        # The modules of AllenNLP that have imported the function, and its own.
        *(
            (module, "load_archive", load)
            for name, module in sys.modules.items()
            if name.startswith("allennlp.") and vars(module).get("load_archive") is load_archive
        ),
    ]
    with ExitStack() as stack:
        for owner, name, value in replacements:
            stack.callback(setattr, owner, name, vars(owner)[name])
            setattr(owner, name, value)
        yield


def _check_options(predictor: str, options: dict[str, Any]) -> None:
    """Raises a `UserError` for an option of `--predictor-args` that a predictor does not have.

    Those that take any are not checked here; those of this package check themselves.
    """
    kind, constructor = Predictor.resolve_class_name(predictor)
    parameters = signature(getattr(kind, constructor or "__init__")).parameters
    known = parameters.keys() - {"self", "model", "dataset_reader"}
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        for name in sorted(options.keys() - known):
            raise UserError(unknown_option("--predictor-args", name, known))
