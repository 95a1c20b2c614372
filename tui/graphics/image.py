"""Pictures encoded for the graphics of a terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KittyPicture:
    """A picture as PNG, and the number of cells it fills."""

    png: bytes
    columns: int
    rows: int


@dataclass(frozen=True, slots=True)
class SixelPicture:
    """A picture as one Sixel string for each row of cells, and the number of cells it fills."""

    bands: tuple[str, ...]
    columns: int

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.bands)


Picture = KittyPicture | SixelPicture


@dataclass(slots=True, eq=False)
class PlacedPicture:
    """A picture on the screen, or on its way there.

    `ready` says that the terminal has received all of it, `begun` that it may have received a part. `attempt` counts
    how often sending was restarted.
    """

    key: int
    picture: Picture
    ready: bool = False
    begun: bool = False
    removed: bool = False
    attempt: int = 0
