"""An HTTP server on loopback that is no MCP server: the first part of the path says what it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.loopback import Handler, serving_http

# The command line masks the path of an address in its errors, so no word of them is in it.
ANSWERS = {
    "a1": (200, "text/html", b"<!doctype html><p>Sign in</p>"),
    "b1": (200, "application/json", b'{"hello": 1}'),
    "c1": (200, "application/json", b'{"hel'),
}


@contextmanager
def odd_server() -> Iterator[tuple[str, list[Mapping[str, str]]]]:
    """Serve it; gives its address, and the headers of requests that came by a redirect."""
    seen: list[Mapping[str, str]] = []

    class Odd(Handler):
        def do_GET(self) -> None:
            self.body()
            first = self.path.split("/")[1]
            status, kind, data = ANSWERS.get(
                first, (int(first) if first.isdigit() else 404, "text/plain", b"no")
            )
            host, _, port = self.headers["host"].partition(":")
            other = "localhost" if host != "localhost" else "127.0.0.1"
            if first == "moved":
                seen.append({name.lower(): value for name, value in self.headers.items()})
            self.answer(status, data, kind, location=f"http://{other}:{port}/moved")

        do_POST = do_GET

    with serving_http(Odd) as url:
        yield url, seen
