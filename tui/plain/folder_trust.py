"""Asks at the terminal whether to trust the current folder, before a session starts in plain mode."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ua_tui.core.errors import WorkspaceError
from ua_tui.core.settings.loading import reload_folder
from ua_tui.core.settings.model import Settings
from ua_tui.core.settings.places import Places
from ua_tui.core.text import clean
from ua_tui.core.trust_question import FolderQuestion, describe_question, find_question

if TYPE_CHECKING:
    from ua_tui.core.trust import Answer

_LABELS: dict[Answer, str] = {
    "trusted": "Trust them",
    "partly": "Trust them partly: ignore their servers, addresses, keys, accounts, Logfire and sessions folder",
    "ignored": "Ignore them until a file changes",
}


def ask_about_folder(settings: Settings) -> Settings:
    """Ask if there is a question; returns the settings that follow from the answer.

    Raises:
        SettingsError: the settings cannot be read.
    """
    while (question := find_question(Places())) is not None:
        answer = _answer(question)
        if answer is None:
            return settings
        try:
            question.store(answer)
        except WorkspaceError as error:
            _write(f"Your answer could not be stored, so the files of the folder have no effect: {error}")
            return settings
    return reload_folder(settings)


def _answer(question: FolderQuestion) -> Answer | None:
    _write(f"The files of the folder {question.folder} have no effect until you answer. They would change:")
    for line in describe_question(question):
        _write(line)
    answers = list(question.answers)
    while True:
        labels = ["Not now", *(_LABELS[each] for each in answers), "Show the files"]
        for number, label in enumerate(labels, 1):
            _write(f"{number} {label}")
        sys.stdout.write("Number of the answer: ")
        sys.stdout.flush()
        typed = sys.stdin.readline()
        number = int(typed) if typed.strip().isascii() and typed.strip().isdigit() else 0
        if not typed or number == 1:
            return None
        if 1 < number <= len(answers) + 1:
            return answers[number - 2]
        if number == len(labels):
            for name, text in question.texts.items():
                _write(f"{name}:")
                _write(text)
        else:
            _write(f"Please answer with a number from 1 to {len(labels)}.")


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(clean(text).encode(encoding, "backslashreplace").decode(encoding).rstrip("\n") + "\n")
