"""The help names the keys that there are, and no others; the page of the keys is generated from the same facts."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from textual.dom import DOMNode

from tests.core.test_docs import sections
from tests.keys_page import classes_with_keys, named_bindings
from tests.paths import PROJECT
from tui.app.app import UaTuiApp
from tui.app.base_app import BaseApp
from tui.app.main_screen import MainScreen
from tui.keys.keymap import Keys
from tui.keys.names import shown_key
from tui.keys.standard import STANDARD
from tui.keys.table import HANDLED, PLACES, Row, together
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
from tui.screens.tool_call.screen import CallView, ToolCallScreen
from tui.viewers.view.document_view import DocumentView
from tui.virtual_list.virtual_list import VirtualList
from tui.widgets.dialog import Dialog
from tui.widgets.modal import Modal

Classes = Sequence[type[DOMNode]]

EVERYWHERE: Classes = (UaTuiApp, BaseApp, MainScreen, Frame, VirtualList)
VIEW: Classes = (DocumentView,)

PLACE_CLASSES: dict[str, Classes] = {
    "conversation": (ConversationPane,),
    "trace": (TracePane,),
    "observers": (ObserversPane,),
    "workspace": (WorkspaceTree, WorkspacePane, FileActions),
    "file": (DocumentScreen, ViewerScreen, PreviewPane, *VIEW),
    "blacklist": (BlacklistScreen,),
    "sessions": (SessionsScreen, SessionList),
    "connections": (ConnectionsScreen, ServerList),
    "agents": (AgentsScreen, AgentList),
    "permission": (PermissionScreen,),
}
WITH_BUTTONS: Classes = (
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

# A call is a document of a viewer, which has more keys than a call needs.
CALL: Classes = (DocumentScreen, ToolCallScreen, CallView, ArtifactList)
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
"""Have keys that no setting changes: the screen shows them."""


def bound(classes: Classes) -> set[str]:
    """The names of the actions that the classes bind."""
    return {binding.id or "" for each, binding in named_bindings() if each in classes}


@pytest.mark.parametrize("place", PLACE_CLASSES)
def test_the_help_of_a_place_and_its_bindings_agree(place: str) -> None:
    bindings = bound(PLACE_CLASSES[place])
    assert bindings - together()[place] - {"help.here", "help.all"} == set()
    own = {name for row in PLACES[place].rows for name in row.ids}
    assert own - bindings - bound(EVERYWHERE) - bound([DocumentScreen]) == set()


def test_every_class_with_keys_belongs_to_a_place_or_shows_them_itself() -> None:
    known = {each for classes in PLACE_CLASSES.values() for each in classes}
    known |= {*EVERYWHERE, *WITH_BUTTONS, *CALL, *VIEW, AuthScreen, Prompt}
    assert {each.__name__ for each in classes_with_keys() - known} - FIXED == set()


def test_all_bindings_of_an_action_have_the_same_keys() -> None:
    for each, binding in named_bindings():
        assert STANDARD.get(binding.id or "") == binding.key, f"{binding.id} of {each.__name__}"
    assert {binding.id for _, binding in named_bindings()} | set(HANDLED) == set(STANDARD)


def test_only_fixed_keys_have_no_name() -> None:
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
    modules = {binding.id: each for each, binding in named_bindings()}
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
    pages = sections((PROJECT / "docs" / "usage.md").read_text(encoding="utf-8"))
    table = pages["The screen"] + pages["Queries"]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    places = ("anywhere", "prompt", "pane", "moving", "conversation")
    names = {name for place in places for row in PLACES[place].rows for name in row.ids}
    shown = {shown_key(key) for name in names for key in STANDARD[name].split(",")}
    shown |= {key for place in places for row in PLACES[place].rows for key in row.fixed.split()}
    assert len(named) > 10
    assert named <= shown
