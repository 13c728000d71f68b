"""Defers imports: packages that AllenNLP imports when it starts are imported when they are used.

While the context `deferring` is open, an import of one of its packages gives a proxy, and so do the names that are
taken from it. Afterwards an import gives the package itself. The proxies that AllenNLP has import the package at the
first use of an attribute, or at the first call. The package itself is imported as always, by Python's own importers.
"""

import sys
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Iterator, Optional, Sequence, Set, Tuple


@contextmanager
def deferring(packages: Sequence[str]) -> Iterator[None]:
    """A context in which imports of packages, and of what is in them, are deferred.

    # Parameters

    packages : `Sequence[str]`
        Their dotted names. A package that has been imported already, or that is not installed, is not deferred.
    """
    finder = _Finder({name for name in packages if name not in sys.modules})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for package in list(finder.packages):
            finder.release(package)


class _Finder(MetaPathFinder, Loader):
    def __init__(self, packages: Set[str]) -> None:
        self.packages = packages

    def package_of(self, module: str) -> Optional[str]:
        """The deferred package that a module is in."""
        within = [name for name in self.packages if f"{module}.".startswith(f"{name}.")]
        return within[0] if within else None

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[ModuleSpec]:
        if self.package_of(fullname) is None:
            return None
        found = PathFinder.find_spec(fullname, path)
        if found is None:
            return None
        spec = ModuleSpec(fullname, self, origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _DeferredModule(spec.name, self)

    def exec_module(self, module: ModuleType) -> None:
        pass

    def release(self, package: str) -> None:
        """Lets later imports of the package give the package itself."""
        self.packages.discard(package)
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            proxy = sys.modules[name]
            if isinstance(proxy, _DeferredModule):
                del sys.modules[name]
                parent, _, attribute = name.rpartition(".")
                if vars(sys.modules.get(parent, proxy)).get(attribute) is proxy:
                    delattr(sys.modules[parent], attribute)

    def resolve(self, module: str, names: Tuple[str, ...]) -> Any:
        """Imports a module, and returns what it has under a dotted name."""
        package = self.package_of(module)
        if package is not None:
            self.release(package)
        value: Any = import_module(module)
        for name in names:
            value = getattr(value, name)
        return value


class _DeferredModule(ModuleType):
    def __init__(self, name: str, finder: _Finder) -> None:
        super().__init__(name)
        self.__deferral__ = finder

    def __getattr__(self, name: str) -> Any:
        finder = self.__deferral__
        if finder.package_of(self.__name__) is None:
            return finder.resolve(self.__name__, (name,))
        if name == "__path__":  # Python asks whether this is a package
            raise AttributeError(name)
        if name.startswith("__"):
            return finder.resolve(self.__name__, (name,))
        return _DeferredName(finder, self.__name__, (name,))


class _DeferredName:
    """A function or a class. It can be called, subclassed, written in annotations, and given to `isinstance`."""

    def __init__(self, finder: _Finder, module: str, names: Tuple[str, ...]) -> None:
        self._of = finder, module, names

    def _resolve(self) -> Any:
        finder, module, names = self._of
        return finder.resolve(module, names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what typing and copy look for
            raise AttributeError(name)
        finder, module, names = self._of
        if finder.package_of(module) is not None:
            return _DeferredName(finder, module, (*names, name))
        return getattr(self._resolve(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._resolve()(*args, **kwargs)

    def __mro_entries__(self, bases: Tuple[Any, ...]) -> Tuple[Any, ...]:
        return (self._resolve(),)

    def __instancecheck__(self, instance: Any) -> bool:
        finder, module, _ = self._of
        if finder.package_of(module) is not None or module.partition(".")[0] not in sys.modules:
            return False  # the package is not imported: there is no instance
        return isinstance(instance, self._resolve())
