from __future__ import annotations

import pytest

from ua_tui.observers.search.sanitise import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<b>a</b> <em>b</em>", "a b"), ("a<br>b<p>c", "a\nb\nc"), ("<i>x</i><<b>b>", "x<b>"),
        ("<b>a</b> <i>b<i>c <<i>b>", "a bc <b>"), ("<b>1 < 2</b>", "1 < 2"),
        ("<b>a</b><a href='x'>c</a>", "ac"), ("&amp;lt; &#39;q&#39; &lt;b&gt;", "&lt; 'q' <b>"),
        ("é\u00a0\u3000é", "é é"), ("\u00a0é\u2003", "é"), ("é\ud800", "é\ufffd"),
    ],
)  # fmt: skip
def test_tags_and_entities_are_taken_out_once(text: str, plain: str) -> None:
    assert plain_text(text) == plain
