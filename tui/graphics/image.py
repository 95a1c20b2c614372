"""A picture made ready for the graphics of a terminal."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Hung", "KittyPicture", "Picture", "SixelPicture"]


@dataclass(frozen=True, slots=True)
class KittyPicture:
    """A picture as PNG, and how many cells it fills."""

    png: bytes
    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class SixelPicture:
    """A picture as one string of Sixel for each row of cells, and how many cells it fills."""

    bands: tuple[str, ...]
    columns: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.bands)


Picture = KittyPicture | SixelPicture


@dataclass(slots=True, eq=False)
class Hung:
    """A picture that is shown, or about to be; `ready` once the terminal has all of it.

    `begun` says that the terminal may know of it. `attempt` counts how often sending was begun anew.
    """

    key: int
    picture: Picture
    ready: bool = False
    begun: bool = False
    down: bool = False
    attempt: int = 0
