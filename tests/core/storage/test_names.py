from __future__ import annotations

import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ua_tui.core.storage.paths import artifact_name, is_protected, safe_name, short_id, split_path

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
any_text = st.text(st.characters(exclude_categories=()), max_size=120)


def test_plain_names_stay_readable_and_long_ones_differ() -> None:
    plain = {"report": "report", "AI Chip News": "ai_chip_news", "GMAIL_SEND_EMAIL": "gmail_send_email",
             "notes-2026.md": "notes-2026.md"}  # fmt: skip
    assert {text: safe_name(text) for text in plain} == plain
    assert re.fullmatch(r"resume_final_[0-9a-f]{8}\.pdf", safe_name("Résumé final.pdf"))
    assert safe_name("x" * 300 + ".html").endswith(".html")
    addresses = [f"https://news.example/{'section/' * 10}{number}" for number in range(20)]
    assert len({safe_name(address) for address in addresses}) == 20


HOSTILE = ["", "..", ".", "~", "../../x", "a/b", "CON", "nul.txt", "con_", "CLAUDE.md", ".git", ".env.local", "漢字",
           "\u202e\u200b", "🙂", "a\nb", "x" * 400, "https://..", "http://CON", "\ud800", " ", "-rf"]  # fmt: skip


@given(any_text | st.sampled_from(HOSTILE), st.integers(min_value=16, max_value=100))
def test_every_text_has_a_safe_name(text: str, limit: int) -> None:
    name = safe_name(text, limit)
    assert split_path(name) == (name,)
    assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", name)
    assert len(name) <= limit
    assert ".." not in name
    assert not is_protected(name)
    assert name.split(".")[0] not in {"con", "nul", "aux", "prn", "com1", "lpt9"}
    assert safe_name(name, limit) == name


def test_hostile_names_become_files_a_root_accepts() -> None:
    for text in HOSTILE:
        name = safe_name(text)
        assert split_path(name) == (name,)
        assert re.fullmatch(r"[a-z0-9_][a-z0-9_.-]*", name)


@given(any_text, any_text)
def test_texts_that_lose_something_get_names_of_their_own(one: str, other: str) -> None:
    def plain(text: str) -> str:
        return re.sub(r"(?<=\S) (?=\S)", "_", text.lower())

    if plain(one) != plain(other) and not re.search(r"_[0-9a-f]{8}", one + other):
        assert safe_name(one) != safe_name(other)


def test_artifact_names_hold_no_path() -> None:
    for stem in ("../../../tmp/pwn", "a/b", "x" * 400, "", "search.results"):
        name = artifact_name(stem, ".json", NOW, short_id())
        assert re.fullmatch(r"[a-z0-9_-]+_050607_[a-z2-7]{8}\.json", name)
        assert len(name) <= 110
    name = artifact_name("media", "/../.ENV/..x", NOW, "../a/b")
    assert split_path(name) == (name,)
