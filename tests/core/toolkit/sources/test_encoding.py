from __future__ import annotations

import pytest

from core.net.bodies import declared_encoding
from core.toolkit.sources.encoding import guess_encoding

GERMAN = "Größere Städte prüfen ihre Möglichkeiten, so heißt es in einer Erklärung. „Für Übergänge“ – das wäre schön."
FRENCH = (
    "Les élèves ont été reçus à l’école où ils étudient depuis des années, déjà très tôt, précise-t-elle."
)
SPANISH = "El niño pequeño comió mañana; ¿qué pasó después? La organización anunció más atención en España."
RUSSIAN = "Новый ускоритель удваивает пропускную способность памяти при прежнем энергопотреблении."
JAPANESE = "新しいアクセラレータは消費電力を変えずにメモリ帯域を二倍にすると、メーカーは発表した。①"
CHINESE = "制造商表示，新的加速器在保持功耗不变的情况下将内存带宽提高了一倍。"
KOREAN = "새로운 가속기는 전력 소비를 유지하면서 메모리 대역폭을 두 배로 늘린다고 제조사는 밝혔다."
POLISH = (
    "Zażółć gęślą jaźń. Producent ogłosił, że nowy układ podwaja przepustowość pamięci, co jest osiągnięciem."
)
HUNGARIAN = "A gyártó bejelentette, hogy az új gyorsító megkétszerezi a sávszélességet, ami nagy előrelépés. Őszintén."
TURKISH = "Yeni hızlandırıcı, güç tüketimini değiştirmeden bellek genişliğini ikiye katlıyor, dedi şirket. Işık ağır."


def page(text: str, encoding: str, head: str = "") -> bytes:
    return f"<html><head>{head}</head><body><p>{text}</p><p>Plain words</p></body></html>".encode(encoding)


def decoded(body: bytes, charset: str = "", media_type: str = "text/html") -> str:
    return body.decode(declared_encoding(body, media_type, charset) or guess_encoding(body))


@pytest.mark.parametrize(
    ("text", "encoding", "head", "charset"),
    [
        (GERMAN, "cp1252", "", ""),
        (FRENCH, "cp1252", "", ""),
        (SPANISH, "cp1252", "", ""),
        (RUSSIAN, "cp1251", "", ""),
        (RUSSIAN, "koi8-r", "", ""),
        (JAPANESE, "cp932", "", ""),
        (CHINESE, "gb18030", "", ""),
        (KOREAN, "cp949", "", ""),
        (POLISH, "cp1250", "", ""),
        (POLISH, "iso8859-2", "", ""),
        (JAPANESE, "cp932", '<meta charset="Shift_JIS">', ""),
        (JAPANESE, "utf-16", "", ""),
        (JAPANESE, "utf-16", "", "utf-8"),
        (JAPANESE, "utf-8", "", "ISO-8859-1"),
        (JAPANESE, "utf-8", '<meta charset="gb2312">', ""),
        (JAPANESE, "utf-8-sig", "", "gb2312"),
        (GERMAN, "cp1252", "", "utf-8"),
        (RUSSIAN, "cp1251", '<meta charset="windows-1251">', "utf-8"),
        (CHINESE + "镕", "gb18030", '<meta charset="gb2312">', ""),
        (RUSSIAN, "cp1251", "", "no-such-encoding"),
    ],
)
def test_a_page_is_decoded_whatever_it_declares(text: str, encoding: str, head: str, charset: str) -> None:
    assert text in decoded(page(text, encoding, head), charset)


@pytest.mark.parametrize(
    ("language", "text", "encoding"), [("hu", HUNGARIAN, "cp1250"), ("tr-TR", TURKISH, "cp1254")]
)
def test_the_language_decides_between_latin_alphabets(language: str, text: str, encoding: str) -> None:
    assert text in decoded(
        page(text, encoding).replace(b"<html>", f'<html dir=ltr lang="{language}">'.encode())
    )


@pytest.mark.parametrize("body", [b"caf\xe9", b"<p>\x93Quoted\x94", b"plain"])
def test_a_few_characters_are_western(body: bytes) -> None:
    assert guess_encoding(body) == "cp1252"


def test_a_damaged_character_does_not_change_the_encoding() -> None:
    body = page(JAPANESE * 5, "utf-8") + b"\xff<p>"
    assert declared_encoding(body, "text/html", "") == "utf-8"
    assert declared_encoding(body, "text/html", "utf-8") == "utf-8"
    assert declared_encoding(page(JAPANESE[:-1], "iso2022_jp"), "text/html", "iso-2022-jp") == "iso2022_jp"


def test_xml_declares_its_encoding_itself() -> None:
    body = f'<?xml version="1.0" encoding="windows-1251"?><rss>{RUSSIAN}</rss>'.encode("cp1251")
    assert declared_encoding(body, "text/xml", "") == "cp1251"


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"\x00" * 5_000, b"<script" * 50_000 + b"\xff", bytes(range(256)) * 300]
)
def test_any_bytes_have_an_encoding(body: bytes) -> None:
    body.decode(guess_encoding(body), "replace")
