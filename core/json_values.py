"""Reads values that were JSON and that somebody else made: of any shape, whatever they should have.

Each function follows names into objects, and returns something empty where there is no value of its type. What is our
own is in the files of data beside modules, which `table_of` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, overload

T = TypeVar("T")

JsonObject = dict[str, Any]
"""An object of JSON, or what becomes one."""
JsonMapping = Mapping[str, Any]
"""An object of JSON that is only read."""


def value_in(value: Any, *names: str) -> Any:
    """The value behind these names; None if there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def object_in(value: Any, *names: str) -> JsonObject:
    """The object behind these names."""
    found = value_in(value, *names)
    return found if isinstance(found, dict) else {}


def list_in(value: Any, *names: str) -> list[Any]:
    """The list behind these names."""
    found = value_in(value, *names)
    return found if isinstance(found, list) else []


def objects_in(value: Any, *names: str) -> list[JsonObject]:
    """The objects in the list behind these names."""
    return [each for each in list_in(value, *names) if isinstance(each, dict)]


def text_in(value: Any, *names: str) -> str:
    """The text behind these names."""
    found = value_in(value, *names)
    return found if isinstance(found, str) else ""


def values_within(value: Any, most: int = 200_000) -> Iterator[Any]:
    """A value and all that is in it, at most so many values, in the order of the document."""
    waiting = [value]
    while waiting and most:
        most -= 1
        found = waiting.pop()
        yield found
        if isinstance(found, dict | list):
            waiting += reversed(list(found.values()) if isinstance(found, dict) else found)


@overload
def table_of(module: str, name: str) -> Any: ...


@overload
def table_of(module: str, name: str, kind: type[T]) -> T: ...


def table_of(module: str, name: str, kind: Any = Any) -> Any:
    """Read a file of data, JSON or TOML, that is beside a module; `module` is its `__file__`."""
    # The toolkit, which reads none before a tool needs it, imports neither at its start.
    from pathlib import Path

    import msgspec

    path = Path(module).with_name(name)
    decode = msgspec.json.decode if path.suffix == ".json" else msgspec.toml.decode
    return decode(path.read_bytes(), type=kind)
