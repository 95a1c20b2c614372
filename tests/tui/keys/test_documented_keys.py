"""The table of the keys and the help screen name the keys that there are, and no others."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence

import pytest
from textual.binding import Binding, BindingsMap
from textual.dom import DOMNode

import tui
from tests.core.test_docs import sections
from tests.paths import PROJECT
from tui.app.app import UaTuiApp
from tui.app.base_app import BaseApp
from tui.app.main_screen import MainScreen
from tui.keys.key_table import HANDLED, STANDARD
from tui.keys.keymap import Keys
from tui.keys.names import shown_key
from tui.keys.table import PLACES, Row, together
from tui.layout.frame import Frame
from tui.panes.conversation.pane import ConversationPane
from tui.panes.observers.pane import ObserversPane
from tui.panes.prompt.pane import Prompt
from tui.panes.trace.pane import TracePane
from tui.panes.workspace.file_actions import FileActions
from tui.panes.workspace.pane import WorkspacePane
from tui.panes.workspace.preview import PreviewPane
from tui.panes.workspace.tree import WorkspaceTree
from tui.screens.application.error import ErrorScreen
from tui.screens.application.help import HelpScreen, row_of
from tui.screens.files.artifact_list import ArtifactList
from tui.screens.files.confirm_delete import DeleteScreen
from tui.screens.files.document import DocumentScreen
from tui.screens.files.link import LinkScreen
from tui.screens.files.links import LinksScreen
from tui.screens.files.viewer import ViewerScreen
from tui.screens.files.viewer_actions import ViewerDeeds
from tui.screens.requests.auth import AuthScreen
from tui.screens.requests.permission import PermissionScreen
from tui.screens.services.agents import AgentList, AgentsScreen
from tui.screens.services.blacklist import BlacklistScreen
from tui.screens.services.connections import ConnectionsScreen, ServerList
from tui.screens.session.confirm_fresh import FreshScreen
from tui.screens.session.queue import QueueScreen
from tui.screens.session.quit import QuitScreen
from tui.screens.session.session_list import SessionList
from tui.screens.session.sessions import SessionsScreen
from tui.screens.setup.screen import SetupScreen
from tui.screens.tool_call.call_view import CallView
from tui.screens.tool_call.screen import ToolCallScreen
from tui.viewers.view.document_view import DocumentView
from tui.virtual_list.virtual_list import VirtualList
from tui.widgets.dialog import Dialog
from tui.widgets.modal import Modal

Classes = Sequence[type[DOMNode]]

ROOT = PROJECT
PAGE = ROOT / "docs" / "keys.md"
EVERYWHERE: Classes = (UaTuiApp, BaseApp, MainScreen, Frame, VirtualList)
VIEW: Classes = (DocumentView,)
TREE = ["left", "right", "h", "l", "space", "E", "F", "enter"]

READ: dict[str, tuple[str, Classes]] = {
    "conversation": ("conversation", (ConversationPane,)),
    "trace": ("trace", (TracePane,)),
    "observers": ("observers", (ObserversPane,)),
    "workspace": ("workspace", (WorkspaceTree, WorkspacePane, FileActions)),
    "file": (
        "viewer JSON in the viewer tables in the viewer search results",
        (DocumentScreen, ViewerScreen, ViewerDeeds, PreviewPane, *VIEW),
    ),
    "blacklist": ("blacklist", (BlacklistScreen,)),
    "sessions": ("sessions", (SessionsScreen, SessionList)),
    "connections": ("connections", (ConnectionsScreen, ServerList)),
    "agents": ("agents", (AgentsScreen, AgentList)),
    "permission": ("permission", (PermissionScreen,)),
}
SELF_TOLD: Classes = (
    Modal,
    DeleteScreen,
    Dialog,
    ErrorScreen,
    FreshScreen,
    HelpScreen,
    LinkScreen,
    LinksScreen,
    QueueScreen,
    QuitScreen,
    SetupScreen,
)
"""Their buttons name their keys."""

# A call is a document of a viewer, which takes more keys than a call has a use for.
CALL: Classes = (DocumentScreen, ToolCallScreen, CallView, ArtifactList)

NAMES = {
    "↑": "up",
    "↓": "down",
    "←": "left",
    "→": "right",
    "PgUp": "pageup",
    "PgDn": "pagedown",
    "Esc": "escape",
    "Del": "delete",
    "/": "slash",
    ".": "full_stop",
    "?": "question_mark",
    "<": "less_than_sign",
    ">": "greater_than_sign",
    "+": "plus",
    "=": "equals_sign",
    "-": "minus",
    "_": "underscore",
}


def key_of(word: str) -> str:
    """The key that is written as `word`."""
    *held, last = word.split("+") if len(word) > 1 else [word]
    name = NAMES.get(last) or (last.lower() if held or len(last) > 1 else last)
    return "+".join([*(each.lower() for each in held), name])


def spread(first: str, last: str) -> list[str]:
    """`F2` to `F5`, `1` to `4`: each of them."""
    stem = first[:-1]
    return [f"{stem}{number}" for number in range(int(first[-1]), int(last[-1]) + 1)]


def in_table(wanted: str, *, told: bool = False) -> set[str]:
    """The keys of the rows of a place; with `told` also those named in what they do."""
    found: set[str] = set()
    where = ""
    for line in sections(PAGE.read_text(encoding="utf-8"))["Every key"].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[0] in {"where", "---"}:
            continue
        where = cells[0] or where
        if where in wanted:
            written = cells[1] + (cells[2] if told else "")
            for first, last in re.findall(r"`([^`]+)` to `([^`]+)`", written):
                found |= {key_of(each) for each in spread(first, last)}
            found |= {key_of(word) for word in re.findall(r"`([^`]+)`", written)}
    return found


def bound(classes: Iterable[type[DOMNode]]) -> set[str]:
    return {key for each in classes for key in BindingsMap(vars(each)["BINDINGS"]).key_to_bindings}


ALWAYS = bound(EVERYWHERE)


def test_the_keys_of_every_place_are_documented_and_exist() -> None:
    assert in_table("anywhere any pane", told=True) >= ALWAYS
    assert in_table("anywhere any pane") <= ALWAYS


@pytest.mark.parametrize("place", READ)
def test_the_table_and_the_bindings_agree(place: str) -> None:
    where, classes = READ[place]
    there = bound(classes)
    assert there - in_table(where) - in_table("any pane") - {"question_mark", "f1"} == set()
    assert in_table(where) - there - ALWAYS == set()


def test_the_keys_of_a_tool_call_are_documented_and_exist() -> None:
    there, documented = bound(CALL), in_table("tool call")
    assert there - documented - {"j", "k"} == set()
    assert documented - there <= {*TREE, "c", "p", "tab"}
    assert set(TREE) <= bound(VIEW)


def test_the_keys_of_an_account_link_are_documented_and_exist() -> None:
    assert in_table("account link") == bound([AuthScreen])


FIXED = {
    "Dialog",
    "HelpScreen",
    "LinksScreen",
    "ArtifactList",
    "SetupScreen",
    "BudgetScreen",
    "StatusScreen",
    "ModelScreen",
    "TrustScreen",
}
"""Have keys that no setting changes: they stand on the screen."""


def classes_with_keys() -> set[type[DOMNode]]:
    found: set[type[DOMNode]] = set()
    for module in pkgutil.walk_packages(tui.__path__, "tui."):
        # The child that reads PDF files is a program of its own.
        if module.name == "tui.viewers.types.pdf_child":
            continue
        for each in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(each) and issubclass(each, DOMNode) and vars(each).get("BINDINGS"):
                found.add(each)
    return {each for each in found if each.__module__.startswith("tui.")}


def test_every_class_with_keys_is_documented_somewhere() -> None:
    known = {each for _, classes in READ.values() for each in classes}
    known |= {*EVERYWHERE, *SELF_TOLD, *CALL, *VIEW, AuthScreen, Prompt}
    assert {each.__name__ for each in classes_with_keys() - known} - FIXED == set()


def named() -> Iterator[tuple[type[DOMNode], Binding]]:
    """Every binding with a name, its keys not taken apart."""
    for each in classes_with_keys():
        for binding in vars(each)["BINDINGS"]:
            if binding.id is not None and each.__name__ != "SetupScreen":
                yield each, binding


def test_the_table_has_the_keys_of_every_binding_and_no_others() -> None:
    for each, binding in named():
        assert STANDARD.get(binding.id or "") == binding.key, f"{binding.id} of {each.__name__}"
    assert {binding.id for _, binding in named()} | HANDLED == set(STANDARD)


def test_only_what_is_told_on_the_spot_has_no_name() -> None:
    nameless = {
        each for each in classes_with_keys() if any(binding.id is None for binding in vars(each)["BINDINGS"])
    }
    assert {each.__name__ for each in nameless} <= FIXED


def test_the_help_tells_every_key() -> None:
    told = {name for place in PLACES.values() for row in place.rows for name in row.ids}
    assert told == set(STANDARD)
    for name, place in PLACES.items():
        for row in place.rows:
            assert (row_of(row, name, Keys()) is not None) == (not row.names or row_keys(row, name)), row


def row_keys(row: Row, place: str) -> bool:
    keys = [key for name in row.ids for key in STANDARD[name].split(",")]
    return place != "anywhere" or any(len(key) > 1 for key in keys)


@pytest.mark.parametrize("place", PLACES)
def test_what_the_help_says_of_a_place_works_there(place: str) -> None:
    """Each name is bound by a class of the place, or by one that is about it."""
    modules = {binding.id: each for each, binding in named()}
    for row in PLACES[place].rows:
        for name in row.ids:
            assert name in HANDLED or name in modules


def test_no_two_actions_of_one_place_have_the_same_key() -> None:
    shared = set()
    for names in together().values():
        by_key: dict[str, set[str]] = {}
        for name in names:
            for key in STANDARD[name].split(","):
                by_key.setdefault(key, set()).add(name)
        shared |= {frozenset(both) for both in by_key.values() if len(both) > 1}
    assert shared == {
        # The nearer one takes the key: of a part of the screen before the whole, of one kind of file before another.
        frozenset({"workspace.leave_filter", "stop"}),
        frozenset({"file.page_down", "file.toggle"}),
    }


def test_the_usage_page_names_only_keys_of_the_table() -> None:
    pages = sections((ROOT / "docs" / "usage.md").read_text(encoding="utf-8"))
    table = pages["The screen"] + pages["Queries"]
    named = [cell for line in table.splitlines() if line.startswith("| `") for cell in [line.split("|")[1]]]
    first = {key_of(key) for cell in named for key in re.findall(r"`([^`]+)`", cell)}
    assert len(first) > 10
    assert first <= in_table("anywhere prompt any pane conversation")


def test_the_page_of_the_keys_has_every_name_with_its_keys() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_.]+)` \| (.*?) \|", page, flags=re.MULTILINE)
    assert [name for name, _ in rows] == list(STANDARD)
    for name, written in rows:
        keys = [shown_key(key) for key in STANDARD[name].split(",")]
        assert re.findall(r"`([^`]+)`", written) == keys, name
