from __future__ import annotations

import shlex
from pathlib import Path

from tests.core.redaction import CASES
from ua_tui.core.redaction.arguments import Masked, masked_command, masked_text, masked_variable
from ua_tui.core.redaction.values import names_given_secret, names_secret


def written(masked: Masked) -> tuple[str, list[str]]:
    return masked.shown, sorted(masked.secrets)


def test_of_a_secret_the_value_alone_is_masked() -> None:
    for words, shown, secrets in CASES["commands"]:
        assert written(masked_command(shlex.split(words))) == (shown, secrets)
    for words in CASES["plain_commands"]:
        assert written(masked_command(shlex.split(words))) == (shlex.join(shlex.split(words)), [])
    for address, shown, secrets in CASES["addresses"]:
        assert written(masked_text(address)) == (shown, secrets)
    for name, value, shown, secrets in CASES["variables"]:
        assert written(masked_variable(name, value)) == (shown, secrets)


def test_a_key_that_is_a_file_stays_readable_and_a_word_without_end_is_masked_at_once(tmp_path: Path) -> None:
    key = tmp_path / "key1"
    assert masked_command(["srv", "--key", str(key)]).secrets == (str(key),)
    key.touch()
    assert masked_command(["srv", "--key", str(key)]).shown == f"srv --key {key}"
    assert masked_command(["srv", "a:" * 4_000]).secrets == ()


def test_a_name_is_that_of_a_secret_by_its_last_word_and_a_plain_key_where_it_is_given() -> None:
    assert [
        each
        for each in CASES["secret_names"].split()
        if not (names_secret(each) and names_given_secret(each))
    ] == []
    assert [
        each for each in ("", *CASES["plain_names"].split()) if names_secret(each) or names_given_secret(each)
    ] == []
    for name in ("KEY", "key", "NOTES_KEY", "X-Maps-Key"):
        assert names_given_secret(name)
        assert not names_secret(name)
