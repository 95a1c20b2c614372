"""Taint: once the agent has read untrusted text, calls that can send data out ask.

Such text may hold instructions that the agent obeys. What can carry data out is a tool that sends, posts, uploads,
creates or changes something outside, one that can do anything, and a request to an address that did not appear in the
user's own words, in a search result or in a page that was read (`addresses.py`). Tools of an own MCP server that
acts on this machine alone, as the user said, carry nothing out.

Files that the session writes hold no more than was read before, so writing them or listing their names brings nothing
in; reading one does, unless the agent wrote it before it had read anything.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from ua_tui.core.agent.bounds import DEEPEST
from ua_tui.core.agent.permissions.actions import (
    TOOLS,
    Action,
    actions_of,
    is_open_ended,
    is_outbound,
    server_of,
)
from ua_tui.core.agent.permissions.addresses import (
    MAILBOX,
    KnownAddresses,
    addresses_in_text,
    is_local_file,
    places_in,
    shown_host,
    starts_with_address,
)
from ua_tui.core.agent.permissions.arguments import WORDS, Arguments, is_plain_option, leaves
from ua_tui.core.agent.permissions.policy import HOUSEKEEPING, KNOWLEDGE_TOOLS, PAGE_READERS, is_search
from ua_tui.core.connections.base import BUILT_IN_SERVERS
from ua_tui.core.connections.toolkit_tools import SERVER as TOOLKIT
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.events.codec import from_json
from ua_tui.core.events.types import (
    ASK_USER,
    LIST_RESOURCES,
    READ_RESOURCE,
    Event,
    FilesAttached,
    PermissionAnswered,
    PermissionAsked,
    QueryReceived,
    QuerySteered,
)
from ua_tui.core.events.units import quantity
from ua_tui.core.json_values import JsonObject, list_in, object_in, objects_in, value_in
from ua_tui.core.log import log
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.text import clean_line
from ua_tui.core.view.calls import EndedCall, OpenCalls

_MOST_KINDS = 3
_MOST_READ = 8 << 20

CRAWLER = f"mcp__{TOOLKIT}__crawl_parallel"
_FILE_READERS: Mapping[str, str] = TOOLS["file_readers"]
_FILE_WRITERS: Mapping[str, str] = TOOLS["file_writers"]
_READS_PAGES = PAGE_READERS | {"WebFetch"}
_ADDRESS_FIELD = re.compile(r"url|link|href|uri|website|citation|^id$|^sources?$", re.IGNORECASE)
# The agent's own search lists its results in one line, below which a model sums them up in its own words.
_LISTED = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
LARGEST_READ = 4 << 20
"""Larger results are not searched for addresses."""


class ForeignSource(msgspec.Struct, frozen=True):
    """Something the agent read: one and several of its kind, and where it came from."""

    one: str
    several: str
    origin: str = ""


PAGE = ForeignSource("page", "pages")
SEARCH = ForeignSource("search result", "search results")
FILE = ForeignSource("file", "files")
ATTACHED = ForeignSource("attached file", "attached files")
KNOWLEDGE = ForeignSource("result", "results", "the knowledge base")
REPORT = ForeignSource("report of a sub-agent", "reports of sub-agents")
_BRINGS = {
    **dict.fromkeys(KNOWLEDGE_TOOLS, KNOWLEDGE),
    **dict.fromkeys(_FILE_READERS, FILE),
    **dict.fromkeys(("Agent", "Task"), REPORT),
    "WebSearch": SEARCH,
}


def sources_of(tool_name: str, tool_input: Arguments, *, failed: bool = False) -> list[ForeignSource]:
    """What the result of a call brings that is not the user's; empty if it brings nothing.

    If it `failed`, it brings an error, which is only the tool's own if the tool runs here.
    """
    server = server_of(tool_name)
    if failed and (server == TOOLKIT or tool_name in _FILE_READERS):
        return []
    if tool_name == CRAWLER or tool_name in _READS_PAGES:
        found = opened_by(tool_name, tool_input)
        return [
            ForeignSource(PAGE.one, PAGE.several, clean_line(shown_host(url), 60))
            for url in (found if tool_name == CRAWLER else found or [""])
        ]
    if tool_name in _BRINGS:
        return [_BRINGS[tool_name]]
    if server == TOOLKIT:
        return []
    if server == "composio":
        names = [action.name for action in actions_of(tool_name, tool_input)]
        return [SEARCH if is_search(name) else _result(name) for name in names if name not in HOUSEKEEPING]
    if server:
        return [_result(server)]
    if tool_name in (LIST_RESOURCES, READ_RESOURCE):
        return [_result(str(tool_input.get("server") or "MCP servers"))]
    return [] if tool_name in TOOLS["bring_nothing"] else [_result(tool_name)]


def _result(name: str) -> ForeignSource:
    return ForeignSource("result", "results", clean_line(name, 60))


def opened_by(tool_name: str, tool_input: Arguments) -> list[str]:
    """The addresses of the pages that a call opens, if it reads pages."""
    if tool_name == CRAWLER:
        return [url for url in list_in(tool_input, "urls") if isinstance(url, str)]
    url = tool_input.get("url")
    return [url] if isinstance(url, str) and tool_name in _READS_PAGES else []


def _file_of(tool_name: str, tool_input: Arguments, table: Mapping[str, str]) -> str | None:
    """The path that a call of a tool in the table reads the text of, or writes; None if it is about no single file."""
    path = tool_input.get(table.get(tool_name, ""))
    return path if isinstance(path, str) else None


def has_addresses(tool_name: str, tool_input: Arguments) -> bool:
    """Whether the addresses in the result of a call count: it reads pages or only searches."""
    if tool_name in {"WebSearch", CRAWLER, *PAGE_READERS, *KNOWLEDGE_TOOLS}:
        return True
    return server_of(tool_name) == "composio" and all(
        is_search(each.name) and each.name not in HOUSEKEEPING for each in actions_of(tool_name, tool_input)
    )


def learned_from(tool_name: str, tool_input: Arguments, output: str) -> list[str]:
    """The addresses in the text of a result that `has_addresses`; reading a long one takes time: call it in a thread.

    Of a search only the addresses of its rows count, not those in its texts, which may repeat what was searched for.
    Of the knowledge base only pages that were read count.
    """
    if len(output) > LARGEST_READ or tool_name == CRAWLER:
        return []
    if tool_name in KNOWLEDGE_TOOLS:
        return _found_before(from_json(output))
    if tool_name in PAGE_READERS:
        (page,) = opened_by(tool_name, tool_input) or [""]
        return addresses_in_text(output, base=page)
    if tool_name == "WebSearch":
        listed = _LISTED.search(output)
        value = from_json(listed[1]) if listed else from_json(output)
    else:
        value = from_json(output)
    # What the call itself had is no finding.
    given = "\n".join(text for _, text in texts_in(tool_input)[0]).lower()
    return [
        each
        for field, each in texts_in(value)[0]
        if _ADDRESS_FIELD.search(field)
        and each.lower().startswith(("http://", "https://"))
        and each.lower().partition("://")[2].removeprefix("www.").rstrip("/") not in given
    ]


def _found_before(value: Any) -> list[str]:
    """The addresses in an answer of the knowledge base: those of pages that were read, and those in their text.

    A search result may repeat what an agent searched for, and a report what it wrote.
    """
    found: list[str] = []
    for each in list_in(value, "hits") if isinstance(value_in(value, "hits"), list) else [value]:
        match each:
            case {"trust": "web", "kind": "article", "url": str(url), **rest}:
                found.append(url)
                if isinstance(text := rest.get("text"), str):
                    found += addresses_in_text(text, base=url)
    return found


def texts_in(value: Any) -> tuple[list[tuple[str, str]], bool]:
    """Every text in a JSON value with the name of its field, and each of these names; and whether there are more."""
    found: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any, int]] = [("", value, 0)]
    for _ in range(50_000):
        if not waiting:
            return found, True
        field, item, depth = waiting.pop()
        if depth > DEEPEST:
            return found, False
        match item:
            case str():
                found.append((field, item))
            case dict():
                found += [("", str(name)) for name in item]
                waiting += [(str(name), each, depth + 1) for name, each in reversed(item.items())]
            case list() | tuple():
                waiting += [(field, each, depth + 1) for each in reversed(item)]
    return found, False


class Taint(msgspec.Struct, eq=False):
    """Keeps what a session has read, and gives the reason to ask about an action, for as long as the session lives.

    One object is used by every connection of the session and restored from its journal when it is resumed. `on_start`
    is called once, when the first text that is not the user's was read, with its description.

    Attributes:
        known: the addresses that may be opened unasked.
        own_folders: folders of the user whose files are as trusted as the user's words, such as those of skills.
        own_tools: shell-style patterns of the tools that reach nothing outside, such as those of the demo.
    """

    workspace: Workspace
    on_start: Callable[[str], object] = lambda _what: None
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    known: KnownAddresses = msgspec.field(default_factory=KnownAddresses)
    own_folders: tuple[Path, ...] = ()
    own_tools: tuple[str, ...] = ()
    _since: datetime | None = None
    _read: Counter[ForeignSource] = msgspec.field(default_factory=Counter)
    _servers: dict[str, None] = {}
    _own_files: set[str] = set()
    _written: set[str] = set()
    _asked: dict[str, list[str]] = {}
    _calls: OpenCalls = msgspec.field(default_factory=OpenCalls)

    @property
    def is_set(self) -> bool:
        """Whether text that is not the user's was read."""
        return self._since is not None

    def describe(self) -> str:
        """What was read, as "2 websites, 2 search results and 1 file since 14:02"; empty if nothing was."""
        if self._since is None:
            return ""
        return f"{self._listed_kinds()} since {self._began(self._since)}"

    def _began(self, since: datetime) -> str:
        began = since.astimezone()
        is_today = began.date() == self.now().astimezone().date()
        return f"{began:%H:%M}{'' if is_today else f' on {began:%d %B}'}"

    def _listed_kinds(self) -> str:
        sites = {source.origin for source in self._read if source.one == "page"}
        kinds = [
            min(sites) or "a website" if len(sites) == 1 else quantity(len(sites), "website", "websites")
        ]
        kinds = kinds if sites else []
        for source, count in self._read.most_common():
            if source.one != "page":
                words = quantity(count, source.one, source.several)
                kinds.append(f"{words} of {source.origin}" if source.origin else words)
        if self._servers:
            kinds.append(f"the tool descriptions of {_listed(list(self._servers))}")
        more = len(kinds) - _MOST_KINDS
        return _listed([*kinds[:_MOST_KINDS], "more"] if more > 0 else kinds)

    def note_read(
        self,
        tool_name: str,
        tool_input: Arguments,
        *,
        failed: bool = False,
        at: datetime | None = None,
    ) -> None:
        """Note that the agent gets the result of a call, or its error; the addresses in it are for `learn`."""
        path = _file_of(tool_name, tool_input, _FILE_WRITERS)
        if path is not None and not failed and not self.is_set:
            self._own_files.add(self._path(path))
        for source in sources_of(tool_name, tool_input, failed=failed):
            if source == FILE and self._is_own(_file_of(tool_name, tool_input, _FILE_READERS)):
                continue
            # A sub-agent that has read nothing reports nothing foreign.
            if source != REPORT or self.is_set:
                self._note(source, at)
        self.known.update(opened_by(tool_name, tool_input))

    def note_server(self, name: str) -> None:
        """Note that the agent sees the tools of an MCP server, whose descriptions somebody else wrote."""
        if name not in BUILT_IN_SERVERS and name not in self._servers:
            self._servers[name] = None
            self._start(None)

    def learn(self, tool_name: str, tool_input: Arguments, output: str) -> None:
        """Learn the addresses in the complete text of a result; takes time if that is long: call it in a thread."""
        if not has_addresses(tool_name, tool_input):
            return
        try:
            self.known.update(learned_from(tool_name, tool_input, output))
            if tool_name == CRAWLER:
                self._learn_articles(output)
        except Exception:
            # Without them the agent asks more often.
            log.exception("the addresses in a result of %s could not be read", clean_line(tool_name))

    def note_call(self, tool_name: str, tool_input: Arguments) -> None:
        """Note that the agent calls a tool: a file that it may write has no addresses that count."""
        if (path := _file_of(tool_name, tool_input, _FILE_WRITERS)) is not None:
            self._written.add(self._path(path))

    def _note(self, source: ForeignSource, at: datetime | None) -> None:
        self._read[source] += 1
        self._start(at)

    def _start(self, at: datetime | None) -> None:
        if self._since is None:
            self._since = at or self.now()
            self.on_start(self.describe())

    def _is_own(self, path: str | None) -> bool:
        if path is None:
            return False
        full = self._path(path)
        return full in self._own_files or any(Path(full).is_relative_to(each) for each in self.own_folders)

    def _path(self, path: str) -> str:
        return posixpath.normpath(posixpath.join(str(self.workspace.path), path.strip()))

    def _learn_articles(self, output: str) -> None:
        left = _MOST_READ
        value = from_json(output) if len(output) <= LARGEST_READ else None
        for article in objects_in(value, "articles"):
            path = article.get("path")
            if not isinstance(path, str) or self._path(path) in self._written or left <= 0:
                continue
            try:
                data = self.workspace.root.read(path, left)
            except WorkspaceError as error:
                log.warning("the links of a page could not be read: %s", error)
                continue
            left -= len(data)
            self.known.update(addresses_in_text(data.decode("utf-8", "replace")))

    def handle_event(self, event: Event) -> None:
        """Learn the addresses in what the user writes and allows."""
        match event:
            case QueryReceived() | QuerySteered():
                self.known.update(addresses_in_text(event.text, bare=True))
            case FilesAttached():
                for each in event.files:
                    if each.resource or not self._is_own(each.path):
                        self._note(ATTACHED, event.at)
            case PermissionAsked():
                actions = actions_of(event.tool_name, event.input)
                found = [each for one in actions for each in places_of(one) or ()]
                self._asked[event.request_id] = [] if event.is_question else found
            case PermissionAnswered():
                addresses = self._asked.pop(event.request_id, [])
                if event.decision == "allow":
                    self.known.update(addresses)
                    self.known.update(_addresses_of_person(event))
                elif event.scope == "once":
                    self.known.update(addresses_in_text(event.reason, bare=True))

    def restore(self, event: Event) -> None:
        """Restore what one event of the journal shows; reads stored results, so call it in a thread."""
        self.handle_event(event)
        ended = self._calls.ended_by(event)
        if ended is not None and ended.finished.status not in {"denied", "cancelled"}:
            self._restore_call(ended)

    def _restore_call(self, ended: EndedCall) -> None:
        call, event = ended
        # The journal has no input that a handler changed, only one that a person changed.
        self.note_call(call.name, call.input)
        self.note_read(call.name, call.input, failed=event.status == "error", at=event.at)
        found = event.observation
        if found is None or not has_addresses(call.name, call.input):
            return
        output = found.output
        if found.stored_at is not None:
            output = self._stored(found.stored_at) or output
        self.learn(call.name, call.input, output)

    def _stored(self, path: str) -> str:
        """The text of a result that was too large for its event; empty if the agent may have changed it."""
        if self._path(path) in self._written:
            return ""
        try:
            blocks = from_json(self.workspace.read_artifact(path, _MOST_READ))
        except WorkspaceError as error:
            log.warning("a stored result could not be read: %s", error)
            return ""
        texts, _ = texts_in(blocks)
        return "\n".join(text for field, text in texts if field == "text")

    def reason_to_ask(self, action: Action) -> str | None:
        """Why a person must be asked about an action, because of what the agent has read; None if nobody must."""
        if (
            self._since is None
            or action.here
            or any(fnmatchcase(action.name, each) for each in self.own_tools)
        ):
            return None
        if carries_out(action):
            why = "this sends data out"
        elif (places := places_of(action)) is None:
            why = "its arguments have more parts than can be checked"
        # The crawler does not send the fragment.
        elif (
            new := next(
                (each for each in places if not self.known.covers(each, fragment=action.tool != CRAWLER)),
                None,
            )
        ) is not None:
            shown = clean_line(new.removeprefix(MAILBOX), 200)
            why = (
                f"the address {shown} is new: it does not appear in your messages, a search result or a page"
            )
        elif has_text_beside_address(action):
            why = "it sends text along with an address"
        else:
            return None
        read = f"since {self._began(self._since)} the agent has read text from {self._listed_kinds()}"
        return f"{why}; {read}, which may contain instructions"


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _addresses_of_person(event: PermissionAnswered) -> list[str]:
    """The addresses that the person wrote into a call, or into an answer, if the agent did not propose them there."""
    given = event.input or {}
    if event.tool_name != ASK_USER:
        return [each for one in actions_of(event.tool_name, given) for each in places_of(one) or ()]
    questions, answers = objects_in(given, "questions"), object_in(given, "answers").values()
    labels = [str(option.get("label")) for each in questions for option in objects_in(each, "options")]
    # Several answers are joined by commas, which a label may have, too.
    proposed, written = (
        addresses_in_text("\n".join(map(str, texts)).replace(", ", "\n"), bare=True)
        for texts in (labels, answers)
    )
    known = KnownAddresses()
    known.update(proposed)
    return [each for each in written if not known.covers(each)]


_BUILT_IN_REQUESTS = frozenset({"WebFetch", "WebSearch"})
_OF_FILES = re.compile(r"file|path", re.IGNORECASE)
# What is searched for, and the hosts of the results.
_OF_SEARCHES = re.compile(r"^q$|quer|domain|site", re.IGNORECASE)


def carries_out(action: Action) -> bool:
    """Whether an action sends, posts, uploads, creates or changes something outside, or can do anything."""
    if not action.server:
        return action.name == "Bash"
    if action.is_own:
        return not (action.reads or action.named)
    if action.server == TOOLKIT:
        return action.name == "workbench_upload" and not action.named
    return is_open_ended(action.name) or (is_outbound(action.name) and not action.named)


def places_of(action: Action) -> list[str] | None:
    """The places in the arguments of an action that makes requests; None if the arguments cannot be read.

    An address that fills an argument is returned as it is, with whatever follows it.
    """
    is_local = action.server == TOOLKIT and action.tool != CRAWLER
    if is_local or not (action.server or action.name in _BUILT_IN_REQUESTS):
        return []
    texts, complete = texts_in(action.arguments)
    if action.arguments is None or not complete:
        return None
    return list(dict.fromkeys(each for field, text in texts for each in _places_in(action, field, text)))


def has_text_beside_address(action: Action) -> bool:
    """Whether an action that reads sends more than an address and options that can stand for nothing."""
    given = action.arguments or {}
    is_page_reader = action.tool in PAGE_READERS
    if is_page_reader and not WORDS["page_reader"].issuperset(given):
        return True
    values = list(_values_in(given))
    others = [
        (path, each) for path, each in values if not (isinstance(each, str) and starts_with_address(each))
    ]
    has_address = len(others) < len(values) and action.is_own
    return (is_page_reader or has_address) and not all(is_plain_option(path, each) for path, each in others)


def _values_in(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values in arguments with the names that lead to them, also those in texts that are JSON."""
    for names, each in leaves(value, path):
        decoded = _decoded(each) if isinstance(each, str) else None
        yield from [(names, each)] if decoded is None else _values_in(decoded, names)


def _decoded(text: str) -> JsonObject | list[Any] | None:
    """The object or list in a text that is JSON: servers decode such an argument."""
    decoded = from_json(text) if text.lstrip()[:1] in {"[", "{"} else None
    return decoded if isinstance(decoded, dict | list) else None


def _places_in(action: Action, field: str, text: str) -> Iterator[str]:
    if (decoded := _decoded(text)) is not None:
        nested, complete = texts_in(decoded)
        if not complete:
            yield text
        for name, each in nested:
            yield from _places_in(action, name or field, each)
    elif action.is_own:
        yield from [text] if is_local_file(text) else places_in(text, files=bool(_OF_FILES.search(field)))
    else:
        searches = not action.server or (action.server == "composio" and is_search(action.name))
        found = places_in(text, hosts="nowhere" if searches and _OF_SEARCHES.search(field) else "alone")
        # A mailbox in a search of mail receives nothing.
        yield from (each for each in found if not each.startswith(MAILBOX))
