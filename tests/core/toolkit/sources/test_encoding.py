from __future__ import annotations

import json
from pathlib import Path

from tests.core.cases import cases_of
from ua_tui.core.net.bodies import declared_encoding
from ua_tui.core.toolkit.sources.web_page import guess_encoding

CASES = cases_of(__file__)

TEXTS: dict[str, str] = json.loads(Path(__file__).with_name("texts.json").read_text("utf-8"))


def page(text: str, encoding: str, head: str = "") -> bytes:
    return f"<html><head>{head}</head><body><p>{text}</p><p>Plain words</p></body></html>".encode(encoding)


def decoded(body: bytes, charset: str = "", media_type: str = "text/html") -> str:
    return body.decode(declared_encoding(body, media_type, charset) or guess_encoding(body))


def test_a_page_is_decoded_whatever_it_declares() -> None:
    texts = TEXTS | {"rare chinese": TEXTS["chinese"] + "镕"}
    for language, encoding, head, charset in CASES["a_page_is_decoded_whatever_it_declares"]:
        text = texts[language]
        assert text in decoded(page(text, encoding, head), charset)


def test_the_language_decides_between_latin_alphabets() -> None:
    for language, text, encoding in (
        ("hu", TEXTS["hungarian"], "cp1250"),
        ("tr-TR", TEXTS["turkish"], "cp1254"),
    ):
        assert text in decoded(
            page(text, encoding).replace(b"<html>", f'<html dir=ltr lang="{language}">'.encode())
        )


def test_a_few_characters_are_western() -> None:
    for body in (b"caf\xe9", b"<p>\x93Quoted\x94", b"plain"):
        assert guess_encoding(body) == "cp1252"


def test_a_damaged_character_does_not_change_the_encoding() -> None:
    body = page(TEXTS["japanese"] * 5, "utf-8") + b"\xff<p>"
    assert declared_encoding(body, "text/html", "") == "utf-8"
    assert declared_encoding(body, "text/html", "utf-8") == "utf-8"
    assert (
        declared_encoding(page(TEXTS["japanese"][:-1], "iso2022_jp"), "text/html", "iso-2022-jp")
        == "iso2022_jp"
    )


def test_xml_declares_its_encoding_and_any_bytes_have_one() -> None:
    body = f'<?xml version="1.0" encoding="windows-1251"?><rss>{TEXTS["russian"]}</rss>'.encode("cp1251")
    assert declared_encoding(body, "text/xml", "") == "cp1251"
    for body in (b"", b"\xff", b"\x00" * 5_000, b"<script" * 50_000 + b"\xff", bytes(range(256)) * 300):
        body.decode(guess_encoding(body), "replace")
