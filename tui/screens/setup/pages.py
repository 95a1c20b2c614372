"""The pages of the setup dialog: connection methods, their forms, the Claude login, and the result."""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from textual.app import App
from textual.containers import Horizontal, Vertical
from textual.content import Content

from ua_tui.core.json_values import table_of
from ua_tui.core.provider.credentials import claude_program, find_login, login_command, login_environment
from ua_tui.core.provider.setup import SetupInput, SetupMethod, normalize_address, normalize_key
from ua_tui.core.settings.model import Settings
from ua_tui.tui.screens.requests.arguments import reveal
from ua_tui.tui.terminal.foreground import NoProgram, run_suspended
from ua_tui.tui.widgets.dialog import Choice, Words
from ua_tui.tui.widgets.input_line import InputLine


def command_to_log_in(settings: Settings) -> Sequence[str]:
    """Return the command that logs in.

    Raises:
        NoProgram: there is no Claude Code CLI.
    """
    program = claude_program(settings)
    if program is None:
        raise NoProgram("The Claude Code CLI was not found: set cli_path to it.")
    return login_command(program)


async def log_in(app: App[object], settings: Settings) -> int:
    """Run the command that logs in on the terminal, in a job of `start_in_front`; returns its exit code.

    Raises:
        NoProgram: it cannot be started, or there is no terminal.
    """
    environment = login_environment(settings, os.environ)
    return await run_suspended(app, command_to_log_in(settings), "The Claude Code CLI", environment)


_TEXTS = table_of(__file__, "pages.toml")
METHODS: Sequence[tuple[str, str, str]] = tuple(
    (name, method["title"], method["about"]) for name, method in _TEXTS["methods"].items()
)
"""The connection methods in their order: name, title, description."""
_TITLE_WIDTH = max(len(title) for _, title, _ in METHODS)


LOGIN_TERMS = (
    "Anthropic's terms do not allow other programs to offer claude.ai logins without its approval, "
    "and ua-tui has none. An API key has no such limit."
)
LOGIN_HELP = "The Claude Code CLI logs you in: it opens a browser, or shows a link and asks for a code."


class MethodRow(Choice):
    """A method to choose, on its own line."""

    def __init__(self, number: int, name: str, title: str, description: str) -> None:
        label = Content.assemble(f" {title:<{_TITLE_WIDTH}}  ", (description, "$text-muted"))
        super().__init__(f"{number}", label, name, f"choose('{name}')")


class FormField(InputLine):
    """A line of a form; what is pasted is normalised."""

    def __init__(
        self, field: str, text: str, normalize: Callable[[str], str], example: str, *, hidden: bool
    ) -> None:
        super().__init__(text, example, normalize, hidden=hidden)
        self.field = field


@dataclass(frozen=True)
class FormText:
    """The text of a form: its title, where to get a key, and its lines (field, label, example)."""

    title: str
    where: str
    lines: Sequence[Sequence[str]]


FORMS: dict[SetupMethod, FormText] = {name: FormText(**form) for name, form in _TEXTS["forms"].items()}
_NORMALIZE: dict[str, Callable[[str], str]] = {
    "key": normalize_key,
    "address": normalize_address,
    "model": str.strip,
}


class Form(Vertical):
    """Asks for what one method needs; keeps what was entered."""

    def __init__(self, method: SetupMethod, known: SetupInput) -> None:
        self.method = method
        text = FORMS[method]
        rows = (
            Horizontal(
                Words(label, "label"),
                FormField(field, getattr(known, field), _NORMALIZE[field], example, hidden=field == "key"),
            )
            for field, label, example in text.lines
        )
        super().__init__(
            Words(text.title, "heading"),
            Words(text.where, "facts"),
            Vertical(*rows, classes="entries"),
            Words(kind="wrong"),
            Words(kind="advice"),
            id=f"page-{method}",
            classes="page",
        )

    def fill_in(self) -> None:
        """Fill in the default address if the line is empty."""
        for entry in self.query(FormField):
            if entry.field == "address" and not entry.text:
                entry.value = entry.placeholder

    @property
    def entered(self) -> SetupInput:
        """The input."""
        return SetupInput(**{entry.field: entry.text for entry in self.query(FormField)})

    def begin(self, stored: str) -> None:
        """Show where the input will be stored, and focus the first line."""
        self.query_one(".advice", Words).update(reveal(stored))
        self.query(FormField).first().focus()

    def show_problem(self, field: str, problem: str) -> None:
        """Show what is wrong with a line, and focus it."""
        self.query_one(".wrong", Words).update(reveal(problem))
        for entry in self.query(FormField):
            if entry.field == field:
                entry.focus()

    def on_input_changed(self) -> None:
        """Clear the problem while the person fixes it."""
        self.query_one(".wrong", Words).update("")


class MessagePage(Vertical):
    """A heading with paragraphs below it."""

    def __init__(self, id: str) -> None:
        super().__init__(Words(kind="heading"), Words(kind="facts"), id=id, classes="page")

    def show(self, heading: str, *texts: str, warnings: Sequence[str] = ()) -> None:
        """Replace heading and paragraphs."""
        self.query_one(".heading", Words).update(reveal(heading))
        self.query_one(".facts", Words).update(paragraphs(texts, warnings))


class LoginPage(MessagePage):
    """Shows the Claude login; logs in on this terminal, or shows the command for another one.

    Args:
        settings: the settings with the command line and its folder.
        log_in: runs that command line on this terminal; returns its exit code.
    """

    def __init__(self, settings: Settings, log_in: Callable[[App[Any], Settings], Awaitable[int]]) -> None:
        super().__init__("page-login")
        self._settings = settings
        self._log_in = log_in

    def check(self) -> bool:
        """Check for a login and show the result; returns whether it can be used."""
        login = find_login(self._settings)
        try:
            command = shlex.join(command_to_log_in(self._settings))
            advice = f"{LOGIN_HELP} You can also run this in another terminal:\n{command}"
        except NoProgram as error:
            advice = str(error)
        self.show("Claude login", login.message, LOGIN_TERMS, advice)
        return login.usable

    async def log_in(self) -> bool:
        """Log in; returns whether the command could be run, whatever its result."""
        try:
            code = await self._log_in(self.app, self._settings)
        except NoProgram as error:
            self.notify(f"{str(error).rstrip('.')}: run the command in another terminal.")
            return False
        if code:
            self.notify(f"The command exited with code {code}.")
        return True


def paragraphs(texts: Sequence[str], warnings: Sequence[str] = (), gap: str = "\n\n") -> Content:
    """Join paragraphs with a gap, warnings last and marked; markup is not interpreted."""
    parts = [Content(reveal(each)) for each in texts if each]
    parts += [Content.assemble(("⚠ ", "bold $warning"), reveal(each)) for each in warnings]
    return Content(gap).join(parts)
