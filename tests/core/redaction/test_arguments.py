from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from core.redaction.arguments import masked_address, masked_command, masked_variable


@pytest.mark.parametrize(
    ("words", "shown", "secrets"),
    [
        (
            "./notes --password hunter2xyz --key plainsecret99 -p shortpw77",
            "./notes --password [redacted] --key [redacted] -p [redacted]",
            {"hunter2xyz", "plainsecret99", "shortpw77"},
        ),
        ("npx -y notes -p shortpw77", "npx -y notes -p [redacted]", {"shortpw77"}),
        ("python3 -m notes -p shortpw77", "python3 -m notes -p [redacted]", {"shortpw77"}),
        ("npx --pass hunter2xyz -p shortpw7", "npx --pass [redacted] -p [redacted]", {"hunter2xyz", "shortpw7"}),
        ("npx -y notes --api-key=sk-live-1", "npx -y notes --api-key=[redacted]", {"sk-live-1"}),
        ("srv --token=a.b-c --pass 'two words'", "srv --token=[redacted] --pass [redacted]", {"a.b-c", "two words"}),
        ("srv -H 'Authorization: Bearer abcdef1'", "srv -H 'Authorization: Bearer [redacted]'", {"abcdef1"}),
        ("docker run -e GITHUB_TOKEN=abc12345 img", "docker run -e GITHUB_TOKEN=[redacted] img", {"abc12345"}),
        ("srv --env=NOTES_TOKEN=abc12345", "srv --env=NOTES_TOKEN=[redacted]", {"abc12345"}),
        ("srv ghp_0123456789abcdefghij0123", "srv [redacted]", {"ghp_0123456789abcdefghij0123"}),
        ("srv postgres://u:pw99@h/db", "srv postgres://u:[redacted]@h/db", {"pw99"}),
        ("mysql -pHunter22 db", "mysql -p[redacted] db", {"Hunter22"}),
        ("srv --token '${T:-plain-default}'", "srv --token '${T:-[redacted]}'", {"plain-default"}),
        ("srv --key documents", "srv --key [redacted]", set()),
    ],
)  # fmt: skip
def test_of_a_secret_the_value_alone_is_masked(words: str, shown: str, secrets: set[str]) -> None:
    masked = masked_command(shlex.split(words))
    assert (masked.shown, set(masked.secrets)) == (shown, secrets)


@pytest.mark.parametrize(
    "words",
    [
        "npx -y notes --max-tokens 100 --port 8080",
        "npx -p @scope/pack1 run",
        "npx -y -p pack1age run",
        'node -p \'require("child_process").execSync("id1")\'',
        "bash -p ./evil1.sh",
        "docker run -p 8080:80 image1",
        "srv -p 8080 --key-file ./a.pem --private-key ./server.key --no-auth evil1",
        "srv --auth oauth2 --token '${NOTES_TOKEN}' --password --verbose",
        "srv --sort-key created_at1 --public-key abcdef12",
        "srv https://a.example/mcp?page=2#top --url=http://localhost:8080/x",
        "srv 'Authorization: Bearer ${NOTES_KEY}'",
    ],
)
def test_whoever_is_asked_can_judge_the_rest(words: str) -> None:
    masked = masked_command(shlex.split(words))
    assert (masked.shown, masked.secrets) == (shlex.join(shlex.split(words)), ())


def test_a_key_that_is_a_file_stays_readable(tmp_path: Path) -> None:
    key = tmp_path / "key1"
    assert masked_command(["srv", "--key", str(key)]).secrets == (str(key),)
    key.touch()
    assert masked_command(["srv", "--key", str(key)]).shown == f"srv --key {key}"


@pytest.mark.parametrize(
    ("address", "shown", "secrets"),
    [
        (
            "https://u:p%40ss@host.example/mcp?api_key=k-123&q=1",
            "https://u:[redacted]@host.example/mcp?api_key=[redacted]&q=1",
            {"p%40ss", "p@ss", "k-123"},
        ),
        ("https://h.example/mcp?key=abc", "https://h.example/mcp?key=[redacted]", {"abc"}),
        ("https://long-token-99@h.example/", "https://[redacted]@h.example/", {"long-token-99"}),
        ("https://me@h.example/?q=a", "https://me@h.example/?q=a", set()),
        ("https://u:${PW}@h.example/?token=${T}", "https://u:${PW}@h.example/?token=${T}", set()),
    ],
)
def test_an_address_loses_its_password_and_its_secret_parameters(
    address: str, shown: str, secrets: set[str]
) -> None:
    masked = masked_address(address)
    assert (masked.shown, set(masked.secrets)) == (shown, secrets)


@pytest.mark.parametrize(
    ("name", "value", "shown", "secrets"),
    [
        ("NOTES_TOKEN", "hunter2xyz", "NOTES_TOKEN=(not shown: 10 characters)", {"hunter2xyz"}),
        ("KEY", "hunter2xyz", "KEY=(not shown: 10 characters)", {"hunter2xyz"}),
        ("Authorization", "Bearer abc-1", "Authorization=(not shown: 12 characters)", {"Bearer abc-1", "abc-1"}),
        ("Authorization", "Bearer ${K}", "Authorization=Bearer ${K}", set()),
        ("A_TOKEN", "${A:-fallback1}", "A_TOKEN=${A:-[redacted]}", {"fallback1"}),
        ("DB", "postgres://u:pw99@h/db", "DB=postgres://u:[redacted]@h/db", {"pw99"}),
        ("MODE", "fast", "MODE=fast", set()),
    ],
)  # fmt: skip
def test_a_variable_that_is_a_secret_shows_its_length(
    name: str, value: str, shown: str, secrets: set[str]
) -> None:
    masked = masked_variable(name, value)
    assert (masked.shown, set(masked.secrets)) == (shown, secrets)


def test_a_word_made_to_be_taken_apart_for_ever_is_masked_at_once() -> None:
    assert masked_command(["srv", "a:" * 4_000]).secrets == ()
