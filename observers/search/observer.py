"""Saves every page of search results, clean, and the list of all URLs the session came across."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, assert_never

from core.names import artifact_name
from core.observation import ToolCall, ToolResult
from observers.base import (
    Interest,
    ObserverContext,
    Outcome,
    Saved,
    moment_of,
    save_json_once,
    texts_of,
    unique_id,
)
from observers.decode import Decoded, decode_texts
from observers.search.names import Policy, is_multi_execute, policy_of, policy_of_call, short_name
from observers.search.plain import plain_text
from observers.search.recognise import Page, Scope, recognise
from observers.search.rows import Rows, normalise
from observers.search.urls import is_public_address, with_masked_parts

__all__ = ["FOLDER", "SearchResults"]

FOLDER = "search_results"
_UNPARSED = f"{FOLDER}/unparsed"
_MAX_UNPARSED = 4 << 20
_WORD = re.compile(r"[a-z0-9]")


class SearchResults:
    """Observer of every tool whose result is, or has the shape of, a page of search results.

    A tool is told by its name: a search is always looked at; the local toolkit, connections, the finding of
    tools, sandboxes, mail, files and whatever else is never a search are not. The rest is looked at out of
    curiosity: its results are saved when they have the shape of search results, and else nobody hears of it.
    """

    name = "search_results"

    def wants(self, call: ToolCall) -> Interest:
        """Any search tool by its name, and any other remote tool for what its result looks like.

        A call of several tools counts as the most promising of them.
        """
        match policy_of_call(call):
            case Policy.SEARCH:
                return Interest.SURE
            case Policy.UNKNOWN:
                return Interest.CURIOUS
            case Policy.NEVER:
                return Interest.NONE
            case never:
                assert_never(never)

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save one artifact for each list of results in `result`."""
        call = result.call
        moment = moment_of(result, context)
        texts = texts_of(result, context.workspace)
        decoded = decode_texts(texts)
        structured = getattr(result.observation, "structured", None)
        if not decoded.values and isinstance(structured, dict | list):
            decoded = Decoded(values=(structured,), prose=decoded.prose)
        pages = recognise(call, decoded)
        error = result.observation.error
        if not pages and error is not None and policy_of(call.name) is Policy.SEARCH:
            scope = Scope(short_name(call.name), Policy.SEARCH, error=error)
            pages = [Page(scope, "error", empty=True)]
        if pages:
            return _total([_save(page, decoded, result, moment, context) for page in pages])
        if decoded.problem is not None or decoded.truncated:
            return self._keep_raw(result, texts, decoded, moment, context)
        return Outcome(note="no search results in it")

    def _keep_raw(
        self,
        result: ToolResult,
        texts: list[str],
        decoded: Decoded,
        moment: datetime,
        context: ObserverContext,
    ) -> Outcome:
        """Keep a result of a search that cannot be read as it is, with the reason."""
        reason = decoded.problem or "the result is cut off before its first complete row"
        call = result.call
        if policy_of(call.name) is not Policy.SEARCH and not is_multi_execute(call.name):
            return Outcome(note=reason)
        # Masked before it is cut: half a secret would not be known for one.
        text = context.workspace.redactor.redact("\n".join(texts))
        unique = unique_id(context, call.tool_use_id, text)
        name = artifact_name(short_name(call.name), ".txt", moment, unique)
        heading = f"{reason}\ntool: {plain_text(call.name)[:200]}\ntool_use_id: {call.tool_use_id}\n"
        kept = f"{heading}\n{text[:_MAX_UNPARSED]}"
        with context.ledger.saving():
            existing = context.ledger.claim(_UNPARSED, unique, name)
            if existing is not None:
                return Outcome(duplicates=1, note=f"{reason}; kept before as {existing}")
            try:
                written = context.workspace.write_artifact(f"{_UNPARSED}/{name}", kept)
            except BaseException:
                context.ledger.release(_UNPARSED, unique)
                raise
            context.ledger.settle(_UNPARSED, unique, written.path)
        saved = Saved(written.path, "unparsed", written.size, written.sha256)
        return Outcome(artifacts=(saved,), note=f"{reason}; kept as it is")


def _save(
    page: Page, decoded: Decoded, result: ToolResult, moment: datetime, context: ObserverContext
) -> Outcome:
    scope = page.scope
    unique = unique_id(
        context,
        result.call.tool_use_id,
        page.kind,
        page.items,
        scope.answer,
        scope.error,
        scope.query if page.empty else None,
    )
    found = Rows() if page.empty else normalise(page.items, page.kind, moment)
    rows = found.rows
    if not rows and not page.empty and found.rejected == 0:
        return Outcome(note="the result is cut off before its first complete row")
    stem = scope.tool if _WORD.search(scope.tool.lower()) else "search"
    urls = [row["url"] for row in rows]
    new: list[str] = []

    def build() -> dict[str, Any]:
        for row, known in zip(rows, context.ledger.seen_before(urls), strict=True):
            if known:
                row["duplicate"] = True
            else:
                new.append(row["url"])
        return _artifact(page, found, decoded, result, moment) | {
            "results": rows,
            "url_count": len(set(urls)),
            "duplicates": len(urls) - len(new),
            "rejected": found.rejected,
        }

    redactor = context.workspace.redactor
    masked = with_masked_parts(urls, redactor)
    with context.ledger.saving():
        try:
            saved, path = save_json_once(
                context,
                build,
                folder=FOLDER,
                stem=stem,
                unique=unique,
                kind="search_results",
                moment=moment,
                exact=[url for url in masked if is_public_address(url, redactor)],
            )
        except BaseException:
            context.ledger.forget(new)
            raise
        # An artifact may be there without its URLs, when the program was killed between the two.
        context.ledger.list_urls(urls if saved is None else new)
    if saved is None:
        return Outcome(duplicates=len(rows), note=f"saved before as {path}")
    return Outcome(
        (saved,),
        items=len(rows),
        rejected=found.rejected,
        duplicates=len(urls) - len(new),
        note=_note(page, found),
    )


def _artifact(
    page: Page, found: Rows, decoded: Decoded, result: ToolResult, moment: datetime
) -> dict[str, Any]:
    scope = page.scope
    artifact: dict[str, Any] = {
        "type": page.kind,
        "tool": scope.tool,
        "query": scope.query,
        "timestamp": moment.isoformat(timespec="microseconds"),
        "tool_use_id": result.call.tool_use_id,
    }
    if scope.answer is not None and page.kind not in ("images", "videos"):
        artifact["answer"] = scope.answer
    if scope.error is not None and not found.rows:
        artifact["error"] = scope.error
    if decoded.truncated or any(row.get("truncated") for row in found.rows):
        artifact["truncated"] = True
    if scope.preview:
        artifact["preview"] = True
    return artifact


def _note(page: Page, found: Rows) -> str | None:
    if page.kind == "error":
        return "the search failed; recorded without rows"
    if page.empty:
        return "the search found nothing; recorded without rows"
    return f"{found.rejected} items are no results and were left out" if found.rejected else None


def _total(outcomes: list[Outcome]) -> Outcome:
    notes = list(dict.fromkeys(outcome.note for outcome in outcomes if outcome.note))
    return Outcome(
        artifacts=tuple(saved for outcome in outcomes for saved in outcome.artifacts),
        items=sum(outcome.items for outcome in outcomes),
        rejected=sum(outcome.rejected for outcome in outcomes),
        duplicates=sum(outcome.duplicates for outcome in outcomes),
        note="; ".join(notes) or None,
    )
