"""The import of packages that a user names."""

from collections.abc import Sequence

from allennlp_nef.errors import UserError, quote


def import_packages(names: Sequence[str], option: str = "include_package") -> None:
    """Imports packages with their submodules, so that what they register is known.

    # Raises

    `UserError`: naming `option`, where a package or a module that it imports is missing.
    """
    from allennlp.common.util import import_module_and_submodules

    for name in names:
        try:
            import_module_and_submodules(name)
        except ModuleNotFoundError as error:
            raise UserError(
                f"{option}: expected packages that can be imported, got {quote(name)} ({error})"
            ) from error
