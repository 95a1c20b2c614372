"""README's table and the help screen name the keys that there are, and no others."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from textual.binding import BindingsMap
from textual.dom import DOMNode
from textual.screen import Screen

import tui
from tests.core.test_docs import sections
from tui.app import UaTuiApp
from tui.lines import LineView
from tui.panes.block_view import BlockView
from tui.panes.filtered_tree import FilteredTree
from tui.panes.finding_view import FindingView
from tui.panes.live_tree import LiveTree
from tui.panes.observers import ObserversPane
from tui.panes.preview import PreviewPane
from tui.panes.prompt import Prompt
from tui.panes.trace import TracePane
from tui.panes.workspace import WorkspacePane
from tui.panes.workspace_deeds import FileDeeds
from tui.screens.artifact_list import ArtifactList
from tui.screens.auth import AuthScreen
from tui.screens.blacklist import BlacklistScreen
from tui.screens.call_view import CallView
from tui.screens.delete import DeleteScreen
from tui.screens.dialog import Dialog
from tui.screens.error import ErrorScreen
from tui.screens.fresh import FreshScreen
from tui.screens.help import KEYS, HelpScreen
from tui.screens.link import LinkScreen
from tui.screens.links import LinksScreen
from tui.screens.permission import PermissionScreen
from tui.screens.queue import QueueScreen
from tui.screens.quit import QuitScreen
from tui.screens.session_list import SessionList
from tui.screens.sessions import SessionsScreen
from tui.screens.setup import SetupScreen
from tui.screens.tool_call import ToolCallScreen
from tui.screens.viewer import ViewerScreen
from tui.screens.viewer_deeds import ViewerDeeds
from tui.viewers.steered_view import SteeredView
from tui.viewers.view import DocumentView

Classes = Sequence[type[DOMNode]]

README = Path(__file__).parents[2] / "README.md"
EVERYWHERE: Classes = (UaTuiApp, LineView)
VIEW: Classes = (SteeredView, DocumentView)
TREE = ["left", "right", "h", "l", "space", "E", "F", "enter"]

PLACES: dict[str, tuple[str, str, Classes]] = {
    "conversation": ("conversation", "In the conversation", (FindingView, BlockView)),
    "trace": ("trace", "In the trace", (FilteredTree, TracePane)),
    "observers": ("observers", "In the observers", (ObserversPane,)),
    "workspace": ("workspace", "In the workspace", (LiveTree, WorkspacePane, FileDeeds)),
    "viewer": (
        "viewer JSON in the viewer tables in the viewer search results",
        "In a file",
        (ViewerScreen, ViewerDeeds, PreviewPane, *VIEW),
    ),
    "blacklist": ("blacklist", "In the blacklist (Ctrl+P)", (BlacklistScreen,)),
    "sessions": ("sessions", "In the sessions (Ctrl+P)", (SessionsScreen, SessionList)),
    "permission": ("permission", "When a tool asks", (PermissionScreen,)),
}
SELF_TOLD: Classes = (
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
CALL: Classes = (ToolCallScreen, CallView, ArtifactList)

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
}
SECOND = {"h", "l", "j", "k", "g", "G", "ctrl+b", "ctrl+f"}
"""Second names of keys, which the help screen tells beside the first ones."""


def key_of(word: str) -> str:
    """The key that is written as `word`."""
    *held, last = word.split("+") if len(word) > 1 else [word]
    name = NAMES.get(last) or (last.lower() if held or len(last) > 1 else last)
    return "+".join([*(each.lower() for each in held), name])


def spread(first: str, last: str) -> list[str]:
    """`F2` to `F5`, `1` to `4`: each of them."""
    stem = first[:-1]
    return [f"{stem}{number}" for number in range(int(first[-1]), int(last[-1]) + 1)]


def in_help(*titles: str) -> set[str]:
    found: set[str] = set()
    for title in titles:
        for written, _ in dict(KEYS)[title]:
            words = [word for word in re.split(r"[\s,]+", written) if word]
            for at, word in enumerate(words):
                if word == "…":
                    found |= {key_of(each) for each in spread(words[at - 1], words[at + 1])}
                else:
                    found.add(key_of(word))
    return found


def in_readme(wanted: str, *, told: bool = False) -> set[str]:
    """The keys of the rows of a place; with `told` also those named in what they do."""
    found: set[str] = set()
    where = ""
    for line in sections(README.read_text(encoding="utf-8"))["Keys"].splitlines():
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
    # A screen brings the keys between panes, the application that of its palette.
    return {key for each in classes for key in BindingsMap(vars(each)["BINDINGS"]).key_to_bindings}


ALWAYS = bound(EVERYWHERE) | {"tab", "shift+tab", "ctrl+p"}


def test_textual_brings_the_keys_that_the_application_does_not_bind() -> None:
    assert {"tab", "shift+tab"} <= set(BindingsMap(Screen.BINDINGS).key_to_bindings)
    assert UaTuiApp.COMMAND_PALETTE_BINDING == "ctrl+p"


def test_the_keys_of_every_place_are_documented_and_exist() -> None:
    assert in_readme("anywhere any pane", told=True) >= ALWAYS
    assert in_readme("anywhere any pane") <= ALWAYS
    help_keys = in_help("Anywhere", "In a pane")
    # Alt with a digit is told in words, and the second names beside the first.
    assert ALWAYS - {f"alt+{number}" for number in range(1, 5)} - SECOND <= help_keys
    assert help_keys <= ALWAYS


@pytest.mark.parametrize("place", PLACES)
def test_readme_and_the_bindings_agree(place: str) -> None:
    where, _, classes = PLACES[place]
    there = bound(classes)
    assert there - in_readme(where) - in_readme("any pane") - {"question_mark", "f1"} == set()
    assert in_readme(where) - there - ALWAYS == set()


@pytest.mark.parametrize("place", PLACES)
def test_the_help_screen_and_the_bindings_agree(place: str) -> None:
    _, title, classes = PLACES[place]
    there = bound(classes)
    assert there - in_help(title) - in_help("In a pane", "Anywhere") - SECOND == set()
    assert in_help(title) - there - ALWAYS == set()


def test_the_keys_of_a_tool_call_are_documented_and_exist() -> None:
    there = bound(CALL)
    for documented in (in_readme("tool call"), in_help("In a tool call")):
        assert there - documented - {"question_mark", "f1", "j", "k"} == set()
        assert documented - there <= {*TREE, "c", "p", "tab"}
    assert set(TREE) <= bound(VIEW)


def test_the_keys_of_an_account_link_are_documented_and_exist() -> None:
    assert in_readme("account link") == bound([AuthScreen])


def test_every_class_with_keys_is_documented_somewhere() -> None:
    known = {each for _, _, classes in PLACES.values() for each in classes}
    known |= {*EVERYWHERE, *SELF_TOLD, *CALL, *VIEW, AuthScreen, Prompt}
    found: set[type[DOMNode]] = set()
    for module in pkgutil.walk_packages(tui.__path__, "tui."):
        # The child that reads PDF files is a program of its own.
        if module.name == "tui.viewers.pdf_child":
            continue
        for each in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(each) and issubclass(each, DOMNode) and vars(each).get("BINDINGS"):
                found.add(each)
    ours = {each for each in found if each.__module__.startswith("tui.")}
    assert {each.__name__ for each in ours - known} == set()
