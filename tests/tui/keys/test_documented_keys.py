"""The help names the keys that there are, and no others; the page of the keys is generated from the same bindings."""

from __future__ import annotations

import re
from itertools import chain

from tests.core.test_docs import sections
from tests.keys_page import classes_with_keys, every_place, named_bindings, together
from tests.paths import PROJECT
from ua_tui.tui.keys.bindings import CLASSES, PLACES
from ua_tui.tui.keys.keymap import STANDARD, TOGETHER, Keys
from ua_tui.tui.keys.names import shown_key
from ua_tui.tui.keys.places import bindings_of, sections_of

FIXED = {
    "Dialog", "HelpScreen", "LetterKeyList", "SetupScreen", "ModeScreen", "ModelScreen", "FieldChoices",
    "FieldRow", "QuestionScreen",
}  # fmt: skip
"""Have keys that no setting changes: the screen shows them."""


def test_every_class_with_keys_belongs_to_a_place_or_shows_them_itself() -> None:
    parts = ((each, *getattr(each, "PARTS", ())) for each in every_place())
    known = {base for part in chain.from_iterable(parts) for base in part.__mro__}
    assert {each.__name__ for each in classes_with_keys() - known} - FIXED == set()


def test_every_class_of_the_table_has_its_bindings() -> None:
    assert {each.__name__ for each in classes_with_keys()} == set(CLASSES)


def test_every_place_of_the_table_belongs_to_a_class() -> None:
    known = {base.__name__ for each in every_place() for base in each.__mro__}
    assert set(PLACES) - known == {"moving", "document", "question", "claims"}


def test_all_bindings_of_an_action_have_the_same_keys() -> None:
    for each, binding in named_bindings():
        assert STANDARD.get(binding.id or "") == binding.key, f"{binding.id} of {each.__name__}"
    assert {binding.id for _, binding in named_bindings()} == set(STANDARD)


def test_only_fixed_keys_have_no_name() -> None:
    nameless = {
        each for each in classes_with_keys() if any(binding.id is None for binding in vars(each)["BINDINGS"])
    }
    assert {each.__name__ for each in nameless} <= FIXED


def test_the_help_shows_every_action() -> None:
    shown = {
        name
        for lines in sections_of(every_place(), Keys()).values()
        for keys in lines.values()
        for name in keys
    }
    assert shown == set(STANDARD)


def test_no_two_actions_of_one_place_have_the_same_key() -> None:
    assert [names.split() for names in TOGETHER] == list(together().values())
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
        frozenset({"claim.accept", "results.article"}),
    }


def test_keys_that_a_subclass_replaces_are_not_in_the_help() -> None:
    names = {each.__name__: {binding.id for _, binding in bindings_of(each)} for each in every_place()}
    assert "call.copy_arguments" in names["ToolCallScreen"]
    assert "results.article" not in names["ToolCallScreen"]
    assert "results.article" in names["ViewerScreen"]


def test_the_usage_page_names_only_keys_of_the_help() -> None:
    pages = sections((PROJECT / "docs" / "usage.md").read_text(encoding="utf-8"))
    table = pages["The screen"] + pages["Queries"]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    running = [each for each in every_place() if not each.__module__.startswith("ua_tui.tui.screens")]
    help_of_panes = sections_of(running, Keys())
    keys = {
        key for lines in help_of_panes.values() for each in lines.values() for key in sum(each.values(), ())
    }
    shown = {shown_key(key) for key in keys}
    shown |= {key for place in help_of_panes for fixed, _ in place.fixed for key in fixed.split()}
    assert len(named) > 10
    assert named <= shown
