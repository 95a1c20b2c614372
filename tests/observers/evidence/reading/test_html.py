from __future__ import annotations

import pytest

from tests.observers.evidence.reading.reading import blocks, links, page, texts


def test_blocks_are_what_a_reader_sees() -> None:
    report = """<!doctype html><html><head><title>T &amp; U</title><style>p {color: red}</style></head><body>
    <script>var a = "<p>no</p>"</script><noscript>no</noscript><template><p>no</p></template><!-- <p>no</p> -->
    <h2>One</h2><p>A  <b>bold</b>\nword<br>and more</p><ul><li>x<ul><li>y</li></ul></li></ul>
    <pre>code 1</pre><figure><img alt="no"><figcaption>Cap</figcaption></figure>
    <details><summary>S</summary>D</details></body></html>"""
    assert page(report).title == "T & U"
    assert blocks(report) == [
        ("heading", "One"), ("paragraph", "A bold word and more"), ("item", "x"), ("item", "y"),
        ("code", "code 1"), ("caption", "Cap"), ("paragraph", "S"), ("paragraph", "D"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("<svg><path d='M1 2'/><text>8 %</text></svg>", "1 SVG picture"),
        ("<svg><text>8</text></svg><svg><text>9</text></svg>", "2 SVG pictures"),
        ("<pre>8 %</pre>", "1 code block"),
        ("<input value='8 %'><textarea>8</textarea><select><option>8</select>", "3 form fields"),
        ("<style>p::before { content: 'up ' '8 %' }</style>", "1 style text"),
        ("<math><mn>8</mn></math>", "1 formula"),
        ("<ruby>x<rt>8</rt></ruby>", "1 annotation"),
        ("<noscript>8</noscript>", "1 noscript part"),
        ("<iframe srcdoc='8'></iframe>", "1 frame"),
        ("<svg><path d='M1 2'/></svg><style>p { color: red; content: '' }</style><input type=hidden value=8>", None),
        ("<script>8</script><template>8</template><pre>x</pre><noscript> </noscript><iframe></iframe>", None),
    ],
)  # fmt: skip
def test_parts_that_are_not_read_are_named(part: str, named: str | None) -> None:
    assert page(f"<h1>Loss</h1>{part}<p>x</p>").notices == ((f"Not read: {named}.",) if named else ())


def test_sections_and_levels_come_from_headings() -> None:
    first, second = (
        block for block in page("<h1>A</h1><h3>B</h3><p>x</p>").blocks if block.kind == "heading"
    )
    assert (first.level, second.level) == (1, 3)
    assert page("<h1>A</h1><h3>B</h3><p>x</p>").blocks[-1].section == "B"
    assert page("<h2>B</h2><h1>A</h1>").title == "A"


@pytest.mark.parametrize(
    "style",
    [
        "hidden", 'style="display:none"', 'style="color:red; DISPLAY : none"', 'style="visibility:hidden"',
        'style="font-size:0"', 'style="font-size:0px"', 'style="opacity:0"', 'style="opacity: 0.0"',
        'style="position:absolute;left:-9999px"',
    ],
)  # fmt: skip
def test_hidden_text_is_a_block_of_its_own(style: str) -> None:
    report = page(
        f"<p>It cost 5<span {style}>9 <b>9</b></span>0 euros.</p><div {style}><p>no</p></div><p>z</p>"
    )
    assert [(block.text, block.is_hidden) for block in report.blocks] == [
        ("It cost 50 euros.", False), ("9 9", True), ("no", True), ("z", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "style", ['aria-hidden="true"', 'style="opacity:0.9"', 'style="font-size:0.8em"', "open"]
)
def test_other_text_is_not_hidden(style: str) -> None:
    (block,) = page(f"<p {style}>seen</p>").blocks
    assert not block.is_hidden


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("<p>a<p>b", ["a", "b"]), ("<p>a<div>b</div>c", ["a", "b", "c"]), ("a</b></p></div>b", ["ab"]),
        ("<li>a<li>b", ["a", "b"]), ("<dl><dt>a<dd>b</dl>", ["a", "b"]), ("a <b c", ["a <b c"]),
        ("a < b > c", ["a < b > c"]), ('<p title="a > b">c</p>', ["c"]), ('<p title="a>b</p>', ["b"]),
        ("<p>a<!-- b", ["a"]), ("<p>a<!--> b", ["a b"]), ("a<![CDATA[x]]>b", ["ab"]),
        ("<p>a<script>b", ["a"]), ("<h1>a<h2>b", ["a", "b"]), ("<P>a</P><BR/><P CLASS=x>b", ["a", "b"]),
        ("<p>&lt;b&gt; &#8364;5 &eacute;&nbsp;x &unknown; &amp;amp;", ["<b> €5 é\u00a0x &unknown; &amp;"]),
        ("", []),
    ],
)  # fmt: skip
def test_damaged_markup_is_read_as_browsers_read_it(source: str, expected: list[str]) -> None:
    assert texts(source) == expected


def test_high_numbers_are_marks_or_exponents_and_never_digits_of_a_number() -> None:
    source = '<p>In 2020<sup><a href="#n1">1</a></sup> it was 10<sup>9</sup> m<sup>2</sup>, the 5<sup>th</sup>.</p>'
    assert texts(source) == ["In 2020 1 it was 10⁹ m², the 5th."]
    assert texts('<p>In 2020<a href="#n1">1</a> and [<a href="#n1">1</a>]</p>') == ["In 2020 1 and [1]"]


def test_marks_of_a_quotation_element_lead_to_its_tag() -> None:
    report = page("<p>He said <q>yes</q>.</p>")
    (block,) = report.blocks
    assert block.text == "He said “yes”."
    assert report.source[block.offsets[8] :].startswith("<q>")


def test_addresses_are_as_written_with_entities_decoded() -> None:
    source = '<p><a href="https://a.de/?a=1&amp;b=2&copy=3">x</a> <a href=../s/r.json>y</a> see https://b.de/c_(d).'
    assert links(source) == [
        ("x", "https://a.de/?a=1&b=2&copy=3"),
        ("y", "../s/r.json"),
        ("https://b.de/c_(d)", "https://b.de/c_(d)"),
    ]


def test_addresses_in_code_are_no_links() -> None:
    source = (
        "<p><code>curl https://a.de</code> https://b.de <kbd>https://c.de</kbd></p><pre>https://d.de</pre>"
    )
    assert links(source) == [("https://b.de", "https://b.de")]
    assert links('<a href="https://a.de"><code>a</code></a>') == [("a", "https://a.de")]


def test_a_link_around_blocks_is_a_link_in_each() -> None:
    assert links('<a href="https://a.de"><h3>T</h3><p>x</p></a><p>y</p>') == [
        ("T", "https://a.de"),
        ("x", "https://a.de"),
    ]


def test_cells_have_their_headers() -> None:
    source = """<figure><figcaption>In euros</figcaption><table><tr><th rowspan=2>Land<th colspan=2>GDP
    <tr><th>2020<th>2021<tr><td rowspan=2>FR<td>7<td>8<tr><td>9<td><p>10</p><p>11</p></table></figure>"""
    cells = {block.text: block.cell for block in page(source).blocks if block.cell}
    assert [text for text, cell in cells.items() if cell.is_header] == ["Land", "GDP", "2020", "2021"]
    nine, last = cells["9"], cells["10 11"]
    assert (nine.row, nine.column, nine.row_header, nine.column_header) == (3, 1, "FR", "GDP 2020")
    assert (last.column_header, last.caption) == ("GDP 2021", "In euros")


def test_a_first_row_of_words_is_a_header_without_being_marked() -> None:
    rows = "<tr><td>Year<td>Sales<tr><td>2020<td>5"
    assert [block.cell.is_header for block in page(f"<table>{rows}</table>").blocks if block.cell] == [
        True, True, False, False,
    ]  # fmt: skip
    layout = page(f'<table role="presentation">{rows}</table>')
    assert all(block.cell is None for block in layout.blocks)


def test_large_pictures_in_the_source_are_passed_over() -> None:
    source = f'<p>a</p><img src="data:image/png;base64,{"QUJD" * 500_000}"><p>b</p>'
    report = page(source)
    assert ([block.text for block in report.blocks], report.is_cut) == (["a", "b"], False)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbf<p>\xc3\xa9", "é"),
        ("<p>é".encode("utf-16"), "é"),
        (b"<meta charset=iso-8859-1><p>\xe9t\xe9 \x80 and more words", "été € and more words"),
        (b"<p>\xff words around it", "\ufffd words around it"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    from ua_tui.observers.evidence.reading.document import read_report

    assert [block.text for block in read_report(data, "a.html").blocks] == [text]
