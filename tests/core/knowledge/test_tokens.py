"""Tests of the preparation of texts for the full-text index."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.knowledge.search.tokens import indexed


def test_each_character_of_chinese_and_japanese_is_a_word() -> None:
    words = {
        "芯片涨价": "芯 片 涨 价", "AI芯片 2026年": "AI 芯 片 2026 年", "東京のTower": "東 京 の Tower",
        "Größe, naïve “words”": "Größe, naïve “words”", "서울 타워": "서울 타워",
    }  # fmt: skip
    assert {text: " ".join(indexed(text).split()) for text in words} == words


@given(st.text())
def test_nothing_is_lost_and_what_is_prepared_stays(text: str) -> None:
    assert "".join(indexed(text).split()) == "".join(text.split())
    assert indexed(indexed(text)).split() == indexed(text).split()
