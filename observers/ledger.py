"""What a session has saved already, so that nothing is saved twice and no URL is listed twice."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from core.errors import WorkspaceError
from core.workspace import Workspace
from observers.search.urls import is_public_address, is_web_url, normal_form, with_masked_parts

__all__ = ["URL_LIST", "Ledger"]

URL_LIST = "search_results/urls.txt"

_ID = re.compile(r"_([a-z2-7]{13})\.[a-z0-9.]+$")
_CONTENT = 9


class Ledger:
    """The session's memory of its artifacts and URLs, read from its folder once and kept up to date.

    Safe to use from several threads. `editing` is held by whoever rewrites an artifact that exists; with it held,
    `rows_of` keeps which URLs, in their normal form, the rows of an artifact of search results have.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._appending = threading.Lock()
        self.editing = threading.RLock()
        self._artifacts: dict[str, dict[str, str]] = {}
        self._urls: set[str] | None = None
        self.rows_of: dict[str, frozenset[str]] = {}

    def claim(self, folder: str, unique: str, name: str, *, by_content: bool = True) -> str | None:
        """Take a name in `folder` for an artifact; returns the path of the one already there, if any.

        `unique` is made by `observers.base.unique_id`. With `by_content` an artifact with the same content
        counts as the same one, whichever call it came from.
        """
        key = unique[:_CONTENT] if by_content else unique
        with self._lock:
            known = self._known(folder)
            found = known.get(key)
            if found is None:
                known[unique[:_CONTENT]] = known[unique] = f"{folder}/{name}"
            return found

    def release(self, folder: str, unique: str) -> None:
        """Give a claimed name back, because the artifact could not be written."""
        with self._lock:
            for key in (unique, unique[:_CONTENT]):
                self._known(folder).pop(key, None)

    def paths(self, folder: str) -> list[str]:
        """The artifacts of `folder`, as paths in the workspace."""
        with self._lock:
            return sorted(set(self._known(folder).values()))

    def seen_before(self, urls: Sequence[str]) -> list[bool]:
        """Tell for each URL whether the session has had it before, and remember all of them."""
        with self._lock:
            if self._urls is None:
                self._urls = self._read_urls()
            answers = []
            for url in urls:
                form = normal_form(url)
                answers.append(form in self._urls)
                self._urls.add(form)
            return answers

    def forget(self, urls: Sequence[str]) -> None:
        """Undo `seen_before` for URLs that were new and were not saved after all."""
        with self._lock:
            if self._urls is not None:
                self._urls.difference_update(normal_form(url) for url in urls)

    def list_urls(self, urls: Sequence[str]) -> None:
        """Append new URLs to the session's list, one a line and all in one write."""
        redactor = self._workspace.redactor
        secret = {url for url in with_masked_parts(urls, redactor) if not is_public_address(url, redactor)}
        with self._appending:
            self._workspace.root.append_lines(
                URL_LIST, [(redactor.redact(url) if url in secret else url).encode() for url in urls]
            )

    def exclusively(self, action: Callable[[], None]) -> None:
        """Run `action` while no other thread rewrites an artifact."""
        with self.editing:
            action()

    def _known(self, folder: str) -> dict[str, str]:
        known = self._artifacts.get(folder)
        if known is None:
            known = {}
            with suppress(WorkspaceError):
                for entry in self._workspace.list(folder):
                    if not entry.is_dir and (found := _ID.search(entry.name)):
                        known[found[1]] = known[found[1][:_CONTENT]] = f"{folder}/{entry.name}"
            self._artifacts[folder] = known
        return known

    def _read_urls(self) -> set[str]:
        try:
            lines = self._workspace.read(URL_LIST).decode("utf-8", "replace").splitlines()
        except WorkspaceError:
            return set()
        return {normal_form(line) for line in lines if is_web_url(line)}
