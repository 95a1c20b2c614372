"""The graphics of terminals: what is written decodes to the picture it was made of, and goes to whom it should."""

from __future__ import annotations

import base64
import io
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.color import Color
from textual.geometry import Region

from ua_tui.tui.graphics.capabilities import DEFAULT_CELL, cell_size, detect_graphics
from ua_tui.tui.graphics.image import SixelPicture
from ua_tui.tui.graphics.kitty import (
    MAX_CELLS,
    PICTURE_KEYS,
    PLACEHOLDER,
    PLACEHOLDER_COLOUR,
    deletion,
    image_id,
    is_cells,
    row_of,
    transmission,
)
from ua_tui.tui.graphics.sixel import encode_rows
from ua_tui.tui.graphics.store import is_overwritten, repainted_rows
from ua_tui.tui.terminal.output_filter import ControlFilter

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))

PIECE = re.compile("\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\\\")


def colourful(width: int, height: int) -> Image.Image:
    """A picture with many colours in a pattern that no mistake in order survives."""
    data = bytes(
        part
        for y in range(height)
        for x in range(width)
        for part in (x * x * 7 % 251, (y * 11 + x) % 256, (x * y) % 256)
    )
    return Image.frombytes("RGB", (width, height), data)


def png(picture: Image.Image) -> bytes:
    target = io.BytesIO()
    picture.save(target, "PNG")
    return target.getvalue()


def keys_of(head: str) -> dict[str, str]:
    return dict(each.split("=", 1) for each in head.split(","))


def shown_in_24_bits(number: int) -> RichColor:
    return RichColor.from_triplet(RichColor.from_ansi(number).get_truecolor())


class TestKitty:
    """The data once, then cells."""

    def test_the_pieces_are_the_picture(self) -> None:
        picture = colourful(150, 90)
        pieces = list(transmission(7, png(picture), 15, 5))
        assert len(pieces) > 2
        found = [PIECE.fullmatch(piece) for piece in pieces]
        heads = [keys_of(each[1]) for each in found if each]
        assert len(heads) == len(pieces)
        assert heads[0] == {
            "a": "T", "U": "1", "f": "100", "i": str(image_id(7)), "c": "15", "r": "5", "q": "2", "m": "1",
        }  # fmt: skip
        assert all(set(head) <= {"m", "q"} and head["q"] == "2" for head in heads[1:])
        assert [head["m"] for head in heads] == ["1"] * (len(heads) - 1) + ["0"]
        data = [each[2] for each in found if each]
        assert all(len(each) == 4096 for each in data[:-1])
        decoded = Image.open(io.BytesIO(base64.b64decode("".join(data), validate=True))).convert("RGB")
        (piece,) = transmission(1, png(colourful(3, 3)), 1, 1)
        assert "m=0;" in piece, "a small picture is one piece"
        assert ImageChops.difference(decoded, picture).getbbox() is None

    def test_every_cell_has_number_row_and_column(self) -> None:
        # The protocol's own example: 0 is U+0305, 1 is U+030D, 2 is U+030E.
        strip = row_of(2, 1, 3)
        assert strip.text == "".join(f"{PLACEHOLDER}\u030d{mark}\u030e" for mark in "\u0305\u030d\u030e")
        assert strip.cell_length == 3
        (segment,) = strip
        assert segment.style is not None
        assert segment.style.color == RichColor.from_ansi(PLACEHOLDER_COLOUR)
        assert image_id(2) == 2 << 24 | PLACEHOLDER_COLOUR
        assert strip.crop(1, 2).text == f"{PLACEHOLDER}\u030d\u030d\u030e"

    def test_the_largest_rows_and_columns_have_a_mark(self) -> None:
        assert MAX_CELLS == 297
        assert row_of(PICTURE_KEYS[-1], MAX_CELLS - 1, MAX_CELLS).cell_length == MAX_CELLS

    def test_what_is_no_whole_cell_is_none(self) -> None:
        cell = row_of(1, 0, 1).text
        assert is_cells(cell * 3)
        assert not any(
            map(is_cells, ("", PLACEHOLDER, cell[:-1], cell + "a", cell + "\u0305", "a\u0305\u0305\u0305"))
        )

    def test_a_deletion_names_the_picture_and_its_data(self) -> None:
        head = PIECE.fullmatch(deletion(3))
        assert head is not None
        assert keys_of(head[1]) == {"a": "d", "d": "I", "i": str(image_id(3)), "q": "2"}


class TestTheFence:
    """Our own cells pass, and nothing that looks like them."""

    @pytest.mark.parametrize("convert", [RichColor.from_ansi, shown_in_24_bits])
    def test_cells_keep_the_number_of_their_picture(self, convert: Callable[[int], RichColor]) -> None:
        text = row_of(5, 0, 4).text
        cells = Segment(text, Style(color=convert(PLACEHOLDER_COLOUR), bgcolor="blue"))
        (segment,) = ControlFilter().apply([cells], Color(0, 0, 0))
        assert segment.text == text
        assert segment.style is not None
        assert segment.style.color == RichColor.from_ansi(PLACEHOLDER_COLOUR)
        assert segment.style.bgcolor == cells.style.bgcolor  # type: ignore[union-attr]

    def test_cells_behind_a_dialog_are_empty_as_a_picture_cannot_be_dimmed(self) -> None:
        dimmed = Segment(row_of(5, 0, 4).text, Style(color=RichColor.from_rgb(3, 4, 5), bgcolor="blue"))
        assert ControlFilter().apply([dimmed], Color(0, 0, 0)) == [Segment("    ", dimmed.style)]

    def test_placeholders_in_a_text_are_replaced(self) -> None:
        text = f"a{row_of(5, 0, 1).text}"
        (segment,) = ControlFilter().apply([Segment(text)], Color(0, 0, 0))
        assert PLACEHOLDER not in segment.text
        assert segment.text[1] == "\ufffd"


class TestMeans:
    """Which terminal gets what."""

    @pytest.mark.parametrize(("environment", "means"), TABLES["terminals"])
    def test_the_environment_identifies_the_terminal(self, environment: dict[str, str], means: str) -> None:
        assert detect_graphics("auto", environment, colours=1 << 24) == means

    def test_the_person_decides_but_not_against_colours(self) -> None:
        for chosen in ("kitty", "sixel", "blocks"):
            assert detect_graphics(chosen, {"TERM": "xterm-kitty", "TMUX": "x"}, colours=256) == chosen
            assert detect_graphics(chosen, {"NO_COLOR": "1"}, colours=256) == "blocks"
        assert detect_graphics("kitty", {"TERM": "xterm-kitty"}, colours=16) == "blocks"
        assert detect_graphics("sixel", {"TERM": "foot"}, colours=16) == "sixel"

    @pytest.mark.parametrize(("answer", "size"), [
        ((40, 100, 900, 800), (9, 20)),
        ((40, 100, 0, 0), (DEFAULT_CELL.width, DEFAULT_CELL.height)),
        ((0, 0, 900, 800), (DEFAULT_CELL.width, DEFAULT_CELL.height)),
        ((1, 1, 60000, 60000), (DEFAULT_CELL.width, DEFAULT_CELL.height)),
    ])  # fmt: skip
    def test_the_system_knows_the_size_of_a_cell(
        self, answer: tuple[int, ...], size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("fcntl.ioctl", lambda *_: struct.pack("HHHH", *answer))
        cell = cell_size(0)
        assert (cell.width, cell.height) == size

    def test_without_a_terminal_a_usual_size_is_taken(self) -> None:
        assert cell_size(-1) == DEFAULT_CELL


def drawn(text: str, background: tuple[int, int, int] = (1, 2, 3)) -> Image.Image:
    """What a terminal draws of one string of Sixel: a small decoder of its own."""
    head = re.fullmatch('\x1bP0;1;0q"1;1;(\\d+);(\\d+)(.*)\x1b\\\\', text, re.DOTALL)
    assert head is not None
    width, height = int(head[1]), int(head[2])
    pixels = {}
    registers: dict[int, tuple[int, ...]] = {}
    x = top = current = 0
    for match in re.finditer(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|([$-])", head[3]):
        register, red, green, blue, count, repeated, single, move = match.groups()
        if red is not None:
            registers[int(register)] = tuple(round(int(part) * 255 / 100) for part in (red, green, blue))
        elif register is not None:
            current = int(register)
        elif move is not None:
            x, top = 0, top + (6 if move == "-" else 0)
        else:
            bits = ord(repeated or single) - 63
            for _ in range(int(count or 1)):
                for bit in range(6):
                    if bits >> bit & 1:
                        assert (x, top + bit) not in pixels, "a pixel is drawn once"
                        pixels[x, top + bit] = registers[current]
                x += 1
            assert x <= width
    assert all(y < height for _, y in pixels), "nothing is drawn below the row"
    assert "".join(re.findall(r"#\d+(?:;2;\d+;\d+;\d+)?|!\d+[?-~]|[?-~]|[$-]", head[3])) == head[3]
    picture = Image.new("RGB", (width, height), background)
    for place, colour in pixels.items():
        picture.putpixel(place, colour)
    return picture


def joined(rows: tuple[str, ...]) -> Image.Image:
    pictures = [drawn(row) for row in rows]
    whole = Image.new("RGB", (pictures[0].width, sum(each.height for each in pictures)))
    top = 0
    for each in pictures:
        whole.paste(each, (0, top))
        top += each.height
    return whole


class TestSixel:
    """Rows of cells, each of which is drawn by itself."""

    @pytest.mark.parametrize("height", [6, 31])
    def test_few_colours_come_back_as_they_were(self, height: int) -> None:
        picture = Image.new("RGB", (70, 50), (255, 0, 0))
        picture.paste((0, 0, 255), (10, 5, 40, 33))
        picture.paste((255, 255, 255), (69, 49, 70, 50))
        rows = encode_rows(picture.convert("RGBA"), height)
        assert len(rows) == -(-50 // height)
        assert ImageChops.difference(joined(rows), picture).getbbox() is None

    def test_many_colours_come_back_nearly(self) -> None:
        gradient = Image.linear_gradient("L").resize((240, 120))
        picture = Image.merge("RGB", (gradient, gradient.transpose(Image.Transpose.ROTATE_180), gradient))
        difference = ImageChops.difference(joined(encode_rows(picture.convert("RGBA"), 20)), picture)
        assert max(high for _, high in difference.getextrema()) <= 12  # type: ignore[misc]

    def test_no_more_than_256_colours_are_sent(self) -> None:
        rows = encode_rows(colourful(300, 120).convert("RGBA"), 20)
        assert all(row[2:-2].isascii() and row[2:-2].isprintable() for row in rows)
        registers = {int(number) for row in rows for number in re.findall(r"#(\d+);2;", row)}
        assert len(registers) > 16
        assert max(registers) < 255
        parts = [
            int(part)
            for row in rows
            for each in re.findall(r"#\d+;2;([\d;]+)", row)
            for part in each.split(";")
        ]
        assert max(parts) <= 100

    def test_what_is_transparent_is_left_as_it_was(self) -> None:
        picture = Image.new("RGBA", (30, 20), (0, 255, 0, 255))
        picture.paste((9, 9, 9, 0), (5, 5, 25, 15))
        result = joined(encode_rows(picture, 20))
        assert result.getpixel((0, 0)) == (0, 255, 0)
        assert result.getpixel((10, 10)) == (1, 2, 3)

    def test_runs_are_sent_as_their_length(self) -> None:
        (row,) = encode_rows(Image.new("RGBA", (700, 6), (0, 0, 0, 255)), 6)
        assert len(row) < 60
        assert joined((row,)).getcolors() == [(4200, (0, 0, 0))]


class TestPainting:
    """Only rows that were written over, that are seen, and on which nothing lies."""

    picture = SixelPicture(("a", "b", "c", "d"), 10)

    def rows(
        self, place: Region, seen: Region, wanted: Callable[[Region], bool], bottom: int = 23
    ) -> list[str]:
        return list(repainted_rows(self.picture, place, seen, bottom, wanted))

    def test_each_row_is_painted_at_its_place(self) -> None:
        found = self.rows(Region(4, 2, 10, 4), Region(0, 0, 80, 24), lambda _: True)
        assert found == ["\x1b[3;5Ha", "\x1b[4;5Hb", "\x1b[5;5Hc", "\x1b[6;5Hd"]

    def test_what_is_scrolled_away_or_not_wanted_is_not_painted(self) -> None:
        assert self.rows(Region(4, -2, 10, 4), Region(0, 0, 80, 24), lambda _: True) == [
            "\x1b[1;5Hc",
            "\x1b[2;5Hd",
        ]
        assert self.rows(Region(4, 21, 10, 4), Region(0, 0, 80, 24), lambda _: True) == [
            "\x1b[22;5Ha",
            "\x1b[23;5Hb",
        ]
        assert self.rows(Region(4, 2, 10, 4), Region(0, 3, 80, 2), lambda row: row.y != 3) == ["\x1b[5;5Hc"]
        assert self.rows(Region(4, 2, 10, 4), Region(0, 0, 12, 24), lambda _: True) == []

    def test_a_frame_reports_what_it_overwrote(self) -> None:
        row = Region(10, 5, 20, 1)
        for span, over in (
            ((5, 0, 10), False),
            ((5, 0, 11), True),
            ((5, 30, 40), False),
            ((4, 0, 80), False),
        ):
            assert is_overwritten(ChopsUpdate([], [span], []), row) is over
        assert is_overwritten(LayoutUpdate([], Region(0, 0, 80, 24)), row)
        assert not is_overwritten(LayoutUpdate([], Region(0, 6, 80, 2)), row)
