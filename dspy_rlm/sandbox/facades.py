"""Facades: a cell gets a module's public names on a read-only object, never the module, whose globals hold `os`."""

from __future__ import annotations

import importlib
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import guards
from .facades_table import DENIED, MODULES, SUBMODULES
from .policy_names import is_dunder


class Facade:
    """The public names of one module."""

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError(f"{self!r} is read-only: assign to a variable of your own")

    def __delattr__(self, name: str) -> None:
        raise TypeError(f"{self!r} is read-only")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        module = self.__dict__["__name__"]
        hint = DENIED.get(module, {}).get(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r} here" + (f": {hint}" if hint else ""))

    def __repr__(self) -> str:
        return f"<module {self.__dict__['__name__']!r}>"

    def __dir__(self) -> list[str]:
        return sorted(self.__dict__)

    def __reduce_ex__(self, protocol: Any) -> str:
        raise TypeError(f"{self!r} cannot be copied")


class OptInFacade(Facade):
    """The public names and submodules of an opt-in package, found when asked for."""

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_module"]
        if name.startswith("_") and name != "__version__":
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        value = getattr(module, name)
        if not isinstance(value, types.ModuleType):
            return frozen(value)
        if value.__name__.partition(".")[0] != module.__name__.partition(".")[0]:
            raise AttributeError(f"{self!r} has no attribute {name!r} here: import it by its own name")
        return opt_in_facade(value)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self.__dict__["_module"]) if not name.startswith("_")]


def frozen(value: Any) -> Any:
    """Hand over a module's tables as read-only copies."""
    if type(value) is dict:
        return types.MappingProxyType(dict(value))
    if type(value) is list:
        return tuple(value)
    return frozenset(value) if type(value) is set else value


def make_facade(module: str, names: Mapping[str, Any]) -> Facade:
    """Make the facade of a module from its name and its public names."""
    facade = Facade()
    facade.__dict__.update(names, __name__=module)
    return facade


_opted_in: dict[str, OptInFacade] = {}


def opt_in_facade(module: types.ModuleType) -> OptInFacade:
    """Make, or find, the facade of a module of an opt-in package."""
    facade = _opted_in.get(module.__name__)
    if facade is None:
        facade = _opted_in[module.__name__] = OptInFacade()
        facade.__dict__.update(__name__=module.__name__, _module=module)
    return facade


def _build() -> dict[str, Facade]:
    built = {name: make_facade(name, {key: frozen(value) for key, value in MODULES[name].items()}) for name in MODULES}
    for name in SUBMODULES:
        parent, _, child = name.rpartition(".")
        built[parent].__dict__[child] = built[name]
    return built


FACADES = _build()


class Importer:
    """The import statements of a session.

    Args:
        extra_modules: Names of packages opted in besides the allowed part of the standard library.

    Raises:
        ImportError: When an extra module is not installed.
    """

    def __init__(self, extra_modules: Sequence[str] = ()) -> None:
        self._extra = {name.partition(".")[0] for name in extra_modules}
        for name in extra_modules:
            importlib.import_module(name)
        guards.OPTED_IN.update(self._extra)

    def _find(self, module: str) -> Facade | None:
        facade = FACADES.get(module)
        if facade is not None or module.partition(".")[0] not in self._extra:
            return facade
        try:
            return opt_in_facade(importlib.import_module(module))
        except ImportError:
            return None

    def public_names(self, module: str) -> Iterable[str] | None:
        """List what `from module import *` binds, or return None for a module that cells do not have."""
        facade = self._find(module)
        return None if facade is None else [name for name in dir(facade) if not is_dunder(name)]

    def load(self, module: str, name: str | None, top: bool) -> Any:
        """Run one import: the module itself, its topmost package, or one of its names.

        Raises:
            ModuleNotFoundError: When cells do not have the module.
            ImportError: When the module does not have the name.
        """
        facade = self._find(module)
        if facade is None:
            raise ModuleNotFoundError(f"No module named {module!r} here", name=module)
        if name is None:
            return self._find(module.partition(".")[0]) if top else facade
        try:
            return getattr(facade, name)
        except AttributeError as error:
            submodule = self._find(f"{module}.{name}")
            if submodule is None:
                raise ImportError(f"cannot import name {name!r} from {module!r}: {error}", name=module) from None
            return submodule
