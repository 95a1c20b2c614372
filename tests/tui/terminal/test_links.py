from __future__ import annotations

import pytest

from ua_tui.tui.terminal.links import browser_link


@pytest.mark.parametrize("url", [
    "vscode://file/etc/passwd", "-rf", "--renderer-cmd-prefix=/x", "ssh://-oProxyCommand=x", "smb://e/s",
    "javascript:alert(1)", "file:///etc/passwd", "view-source:https://a.example",
    "https://user@evil.example/", "https://good.example\\@evil.example/", "https://",
    "https://a.example/\x1b]0;x\x07", "https://a.example/a b", "https://a.example:99999999/", "https://[::1",
    "",
])  # fmt: skip
def test_only_plain_web_links_are_opened(url: str) -> None:
    assert browser_link(url) is None


@pytest.mark.parametrize(("url", "host"), [
    ("https://connect.example/link/1?x=y", "connect.example"),
    ("http://127.0.0.1:8080/", "127.0.0.1:8080"),
    ("https://[2001:db8::1]:444/", "[2001:db8::1]:444"),
    ("https://аpple.example/", "xn--pple-43d.example"),
])  # fmt: skip
def test_the_host_is_shown_as_it_will_be_dialled(url: str, host: str) -> None:
    link = browser_link(url)
    assert link is not None
    assert link.host == host
