"""Imports the Claude Agent SDK without `mcp` and `jsonschema`, which take longer to import than the rest of a session.

The SDK imports them for MCP servers in its own process, which most sessions do not have. While its modules are
executed, these imports give placeholders that only the SDK sees; each one finds the real thing when it is first used.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import Lock
from types import ModuleType
from typing import Any

from ua_tui.core.json_values import JsonObject

SDK = "claude_agent_sdk"
LATE = ("mcp", "jsonschema")
_WITHOUT = "opentelemetry"
"""The SDK imports it to pass a trace on, and there is none where nothing has imported it: it would take 20 ms."""

_lock = Lock()


def import_sdk() -> ModuleType:
    """Import the SDK; call it in a thread before anything else imports it, as it takes long."""
    with _lock:
        if SDK in sys.modules or all(name in sys.modules for name in LATE):
            return import_module(SDK)
        finder = _Finder()
        sys.meta_path.insert(0, finder)
        try:
            return import_module(SDK)
        finally:
            finder.is_loading = False
            sys.meta_path.remove(finder)


class _Late:
    """A module, class or function that is imported, or defined, when it is used."""

    def __init__(self, finder: _Finder, path: str, make: Callable[[], Any]) -> None:
        vars(self).update(_finder=finder, _path=path, _make=cache(make))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._make()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if self._finder.is_loading:
            return self._finder.late(f"{self._path}.{name}")
        return getattr(self._make(), name)

    def __instancecheck__(self, thing: object) -> bool:
        return isinstance(thing, self._make())

    def __or__(self, other: object) -> Any:
        return Any

    __ror__ = __or__


class _Finder(MetaPathFinder):
    """Finds the modules of the SDK, and gives them an `import` and a `class` of their own."""

    def __init__(self) -> None:
        self.is_loading = True
        own = {"__import__": self._import, "__build_class__": self._build_class}
        self.builtins = vars(builtins) | own

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] != SDK:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path, self.builtins)
        return spec

    def late(self, path: str) -> _Late:
        return _Late(self, path, lambda: _find(path))

    def _import(
        self,
        name: str,
        module: Mapping[str, object] | None = None,
        local: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        package = name.partition(".")[0]
        if package == _WITHOUT and package not in sys.modules:
            raise ModuleNotFoundError(name)
        if self.is_loading and level == 0 and package in LATE:
            return self.late(name if fromlist else package)
        return __import__(name, module, local, fromlist or (), level)

    def _build_class(self, body: Any, name: str, *bases: Any, **options: Any) -> Any:
        def make() -> Any:
            real = (base._make() if isinstance(base, _Late) else base for base in bases)
            return builtins.__build_class__(body, name, *real, **options)

        if any(isinstance(base, _Late) for base in bases):
            return _Late(self, name, make)
        return make()


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, names: JsonObject) -> None:
        super().__init__(name, path)
        self._names = names

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = self._names
        super().exec_module(module)


def _find(path: str) -> Any:
    """What a dotted path names: an attribute, or else a module."""
    parent, _, last = path.rpartition(".")
    found = getattr(_find(parent), last, None) if parent else None
    return import_module(path) if found is None else found
