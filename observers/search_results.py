"""Saves every list of search results, and the list of all URLs in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import repeat
from operator import contains

from msgspec.structs import replace

from ua_tui.core.json_values import JsonObject
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.files import Written
from ua_tui.core.text import without_surrogates
from ua_tui.observers.base import (
    Interest,
    ObserverContext,
    ObserverSpec,
    Outcome,
    already_saved,
    moment_of,
    texts_of,
    total_of,
)
from ua_tui.observers.decoding.decode import Decoded, decode_texts
from ua_tui.observers.decoding.urls import normal_form, public_addresses
from ua_tui.observers.output.saving import save_once, write_json
from ua_tui.observers.search.lists import UNREAD, ResultPage, recognise
from ua_tui.observers.search.privacy import is_public_search, rows_are_public
from ua_tui.observers.search.rows import set_missing_sources
from ua_tui.observers.search.sanitise import plain_text, without_controls
from ua_tui.observers.search.scope import scope_of
from ua_tui.observers.search.tool_names import (
    inner_tools,
    is_multi_execute,
    policy_of,
    policy_of_call,
    short_name,
)

FOLDER = "search_results"
_UNPARSED = f"{FOLDER}/unparsed"
_MAX_UNPARSED = 4 << 20
_SHORT_SNIPPET = 500
_NAMED = {
    "search": "has the name of a search",
    "unknown": "does not have the name of a search: its results are saved if it is known to return public content",
    "never": "is not treated as a search: its name says that it does something else, or returns private data",
}
_INTERESTS = {"search": Interest.SURE, "unknown": Interest.CURIOUS, "never": Interest.NONE}
_WORD = re.compile(r"[a-z0-9]")


class SearchResults:
    """Observer of every tool whose result is, or has the shape of, a page of search results.

    Results of known public searches are always saved, those of other searches if their rows show that anybody may
    read them. The local toolkit, connections, tool discovery, sandboxes and tools with the name of private data are not
    observed. A tool that is not named for a search is observed out of curiosity: it is not reported if nothing is
    saved.
    """

    name = "search_results"

    def wants(self, call: ToolCall) -> Interest:
        """Any search tool by its name, and any other remote tool because its result may look like search results.

        A call of several tools counts as the most promising of them.
        """
        return _INTERESTS[policy_of_call(call)]

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Save one artifact for each list of results in `result`."""
        call = result.call
        moment = moment_of(result, context)
        texts = texts_of(result, context.workspace)
        decoded = decode_texts(texts)
        found = recognise(call, decoded, moment).pages
        pages = [page for page in found if page.kind != UNREAD]
        unread = [page.scope.tool for page in found if page.kind == UNREAD]
        error = result.observation.error
        if not pages and error is not None and policy_of(call.name) == "search":
            pages = [ResultPage(replace(scope_of(call), query=None, error=error), "error")]
        outcomes = [_save(page, decoded, result, moment, context) for page in pages]
        reason = None
        if not pages and (decoded.problem is not None or decoded.truncated):
            reason = decoded.problem or "the result is cut off before its first complete row"
        elif unread and error is None:
            names = ", ".join(dict.fromkeys(plain_text(tool)[:60] for tool in unread[:4]))
            reason = f"no results were recognised in the answer of {names}"
        if reason is not None:
            # The text may have megabytes, as the copy to save has.
            del decoded
            outcomes.append(_keep_raw(result, texts, reason, context))
        return total_of(outcomes) if outcomes else Outcome(note="no search results")


def explain(result: ToolResult, context: ObserverContext) -> list[str]:
    """Why each list in a result was taken as search results or not, in sentences."""
    call = result.call
    policy = policy_of_call(call)
    lines = [f"{plain_text(call.name)[:100]} {_NAMED[policy]}."]
    if policy == "never":
        return lines
    decoded = decode_texts(texts_of(result, context.workspace))
    if decoded.problem is not None:
        lines.append(f"The result cannot be read: {decoded.problem}.")
    elif not decoded.values:
        lines.append("The result has no JSON and was read as text.")
    found = recognise(call, decoded, moment_of(result, context))
    for each in found.candidates:
        what = (
            "not taken" if each.verdict.kind is None else f"taken as results of the kind {each.verdict.kind}"
        )
        place = plain_text(each.place)[:200] or "The outermost list"
        items = "1 item" if len(each.items) == 1 else f"{len(each.items)} items"
        lines.append(f"{place} ({items}): {what}, because {each.verdict.why}.")
    for page in found.pages:
        tool, count = plain_text(page.scope.tool)[:100], len(page.rows)
        if page.kind == UNREAD:
            lines.append(
                f"{tool}: no results were recognised in its answer. The answer is saved unchanged, because {tool} is "
                "a known public search."
            )
        elif not page.items:
            lines.append(f"{tool}: {_note(page)}.")
        elif not _may_be_saved(page, context):
            lines.append(f"{tool}, {page.kind}: {_not_public(page.scope.name, context.public_searches)}.")
        else:
            lines.append(f"{tool}, {page.kind}: rows to save: {count}, items skipped: {page.rejected}.")
    return (
        lines
        if found.candidates or found.pages
        else [*lines, "There is no list and no text of results in it."]
    )


def _may_be_saved(page: ResultPage, context: ObserverContext) -> bool:
    """Whether anybody may read the rows of a page, by the name of its tool or by the rows themselves."""
    if _is_public(page.scope.name, context):
        return True
    # A call of several tools may not say which of them an answer is from.
    may_search = page.scope.policy == "search" or is_multi_execute(page.scope.name)
    return may_search and rows_are_public(page.items, [row["url"] for row in page.rows])


def _keep_raw(result: ToolResult, texts: list[str], reason: str, context: ObserverContext) -> Outcome:
    """Save the raw result of a search that cannot be parsed, with the reason."""
    call = result.call
    names = [slug for slug, _ in inner_tools(call)] if is_multi_execute(call.name) else [call.name]
    if not names or not all(policy_of(name) == "search" and _is_public(name, context) for name in names):
        return Outcome(note=reason)
    # Masked before it is cut: half a secret would not be known for one.
    first: list[str] = []
    length = 0
    for piece in context.workspace.redactor.redact_in_pieces("\n".join(texts), 1 << 20):
        if length < _MAX_UNPARSED:
            first.append(piece[: _MAX_UNPARSED - length])
        length += len(piece)
    # Of a longer text the rest only counts: it is stored elsewhere, and may be too long to be copied.
    rest = (length,) if length > _MAX_UNPARSED else ()
    kept = "saved as it is"
    if rest:
        stored = result.observation.stored_at
        kept = f"its first {_MAX_UNPARSED:,} characters are saved"
        reason = f"{reason}; the full result is in {stored}" if stored else reason
    heading = f"{reason}\ntool: {plain_text(call.name)[:200]}\ntool_use_id: {call.tool_use_id}\n"
    heading = context.workspace.redactor.redact(heading)
    content = b"".join(without_surrogates(part).encode() for part in (heading, "\n", *first))
    saved, path = save_once(
        result,
        context,
        lambda path: context.workspace.write_artifact(path, content, redacted=True),
        *(first if rest else ["".join(first)]),
        *rest,
        folder=_UNPARSED,
        stem=short_name(call.name),
        suffix=".txt",
        kind="unparsed",
    )
    if saved is None:
        return Outcome(duplicates=1, note=f"{reason}; already saved as {path}")
    return Outcome(artifacts=(saved,), note=f"{reason}; {kept}")


def _save(
    page: ResultPage, decoded: Decoded, result: ToolResult, moment: datetime, context: ObserverContext
) -> Outcome:
    scope = page.scope
    rows = page.rows
    if not _may_be_saved(page, context):
        note = _not_public(scope.name, context.public_searches) if page.items else "no search results"
        return Outcome(note=note)
    addressed = [row for row in rows if row["url"] is not None]
    urls = [row["url"] for row in addressed]
    forms = list(map(normal_form, urls))
    set_missing_sources(addressed, forms)
    artifact = _artifact(page, decoded, result, moment) | {
        "results": rows,
        "url_count": len(set(urls)),
        "duplicates": 0,
        "rejected": page.rejected,
    }
    if page.kind == "news":
        artifact["articles"] = [_in_short(row, context.workspace.redactor.redact) for row in rows]
    panel = [artifact["knowledge_panel"]] if "knowledge_panel" in artifact else []
    for row in [*rows, *artifact.get("articles", ()), *panel]:
        for column in ("title", "source", "snippet"):
            row[column] = without_controls(row[column])
    known: list[bool] = []

    def write(path: str) -> Written:
        known.extend(context.ledger.seen_before(urls, forms))
        if any(known):
            for row, is_known in zip(addressed, known, strict=True):
                if is_known:
                    row["duplicate"] = True
            artifact["duplicates"] = sum(known)
        exact = public_addresses(urls, context.workspace.redactor)
        return write_json(context.workspace, path, artifact, exact)

    stem = scope.tool if _WORD.search(scope.tool.lower()) else "search"
    with context.ledger.turn():
        try:
            saved, path = save_once(
                result,
                context,
                write,
                page.kind,
                page.items,
                scope.answer,
                scope.error,
                None if page.items else scope.query,
                folder=FOLDER,
                stem=stem,
                kind=FOLDER,
            )
        except BaseException:
            context.ledger.forget([url for url, is_known in zip(urls, known, strict=False) if not is_known])
            raise
        # An artifact may be there without its URLs, when the program was killed between the two.
        context.ledger.list_urls(urls, forms)
    if saved is None:
        return already_saved(path, len(rows))
    return Outcome(
        (saved,),
        items=len(rows),
        rejected=page.rejected,
        duplicates=sum(known),
        note=_note(page),
    )


def _artifact(page: ResultPage, decoded: Decoded, result: ToolResult, moment: datetime) -> JsonObject:
    scope = page.scope
    artifact: JsonObject = {
        "type": page.kind,
        "tool": scope.tool,
        "query": _encodable(scope.query),
        "timestamp": moment.isoformat(timespec="microseconds"),
        "tool_use_id": result.call.tool_use_id,
    }
    if scope.answer is not None and page.kind not in ("images", "videos"):
        artifact["answer"] = _encodable(scope.answer)
    artifact |= page.beside
    if scope.error is not None and not page.rows:
        artifact["error"] = scope.error
    if decoded.truncated or any(map(contains, page.rows, repeat("truncated"))):
        artifact["truncated"] = True
    if scope.preview:
        artifact["preview"] = True
    return artifact


def _in_short(row: JsonObject, redact: Callable[[str], str]) -> JsonObject:
    short = {key: row[key] for key in ("position", "title", "url", "source", "date", "snippet")}
    if row["snippet"] and len(row["snippet"]) > _SHORT_SNIPPET:
        # Masked before it is cut: half a secret would not be known for one.
        short["snippet"] = redact(row["snippet"])[:_SHORT_SNIPPET]
    return short | {"date": row["date"] and row["date"][:10]}


def _is_public(name: str, context: ObserverContext) -> bool:
    """Whether a tool is known to search what anybody may read, or the person says so."""
    return is_public_search(name) or name in context.public_searches


def _not_public(name: str, known: Sequence[str]) -> str:
    """Why the results of a search are not saved, and what the person can do about it."""
    names = ",".join([*known, plain_text(name)[:100]])
    return (
        "not saved, because this tool is not known to search the public web and its rows do not look public; "
        f"if they are, run `ua-tui config set public_searches {names}`"
    )


def _encodable(text: str | None) -> str | None:
    # With half a character in it, the artifact would be written in the way that masks public addresses, too.
    return None if text is None else without_surrogates(text)


def _note(page: ResultPage) -> str | None:
    if page.kind == "error":
        return "the search failed; recorded without rows"
    if not page.items:
        return "the search found nothing; recorded without rows"
    if page.rejected == 1:
        return "1 item is not a result and was skipped"
    return f"{page.rejected} items are not results and were skipped" if page.rejected else None


OBSERVER = ObserverSpec(lambda _rules: SearchResults(), order=10)
