"""A session line by line, for screen readers and logs: queries come in as lines, what happens goes out as lines."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any, Literal

from ua_tui.core.concurrency.garbage_collection import deferred
from ua_tui.core.errors import FormError, UniversalAgentError
from ua_tui.core.events.describe import describe
from ua_tui.core.events.types import (
    AuthFinished,
    AuthRequired,
    BudgetReached,
    ElicitationAnswered,
    ElicitationAsked,
    Event,
    FormField,
    PermissionAnswered,
    PermissionAsked,
    QueryFinished,
    SessionFinished,
)
from ua_tui.core.session.resume import Resume
from ua_tui.core.session.session import Session
from ua_tui.core.settings.model import Settings
from ua_tui.core.tasks import until
from ua_tui.core.text import clean, clean_line
from ua_tui.tui.plain.commands import run_command
from ua_tui.tui.plain.input import TypedLines, hidden_input
from ua_tui.tui.plain.narrator import Narrator
from ua_tui.tui.plain.output import PlainOutput
from ua_tui.tui.plain.questions import (
    DENIED,
    Answer,
    Question,
    field_lines,
    question_of,
    questions_of_agent,
    server_question,
    typed_value,
)
from ua_tui.tui.terminal.exit_codes import EXIT_FAILED
from ua_tui.tui.terminal.signals import end_now

Asked = PermissionAsked | ElicitationAsked | AuthRequired

_HELP = "Type a query and press Enter. Ctrl+C stops a query; Ctrl+C twice, or Ctrl+D, quits."
_COMMANDS = (
    "/mode shows or changes the permission mode, /permissions lists the rules, "
    "and /commands lists your own commands."
)
_QUERY = "You: "
_ANSWER = "Number of the answer: "


async def run_plain(settings: Settings, first_query: str | None, resume: Resume | None = None) -> int:
    """Run queries until their end or until somebody quits; with `resume` in a past session.

    The exit code is 0; 1 when the output ended or a query failed that nobody typed at a terminal; 128 + the
    signal when one ended it.

    Raises:
        UniversalAgentError: the session cannot be made, or its conversation is gone.
        OSError: not everything could be written to standard output.
    """
    from ua_tui.tui.compose import compose_session

    if settings.demo_pace is None:
        # Answers are written when they are complete: there is nothing to watch.
        settings = replace(settings, demo_pace=0.0)
    at_terminal = sys.stdin.isatty()
    output = PlainOutput(at_terminal=at_terminal, rings=sys.stdout.isatty() and settings.notify != "off")
    narrator = Narrator(output.write, read_aloud=sys.stdout.isatty())
    session = await compose_session(settings, interactive=True, subscribers=(narrator,), resume=resume)
    with interrupt_key(sys.stdin.fileno(), at_terminal=at_terminal) as key:
        code = await _Plain(session, output, narrator, key, at_terminal=at_terminal).run(first_query)
    if output.lines.error is not None:
        raise output.lines.error
    return code


class _Plain:
    """One session between input lines and output lines."""

    def __init__(
        self,
        session: Session,
        output: PlainOutput,
        narrator: Narrator,
        key: InterruptKey | None,
        *,
        at_terminal: bool,
    ) -> None:
        self._session = session
        self._output = output
        self._narrator = narrator
        self._key = key
        self._typed = TypedLines(sys.stdin.fileno(), key.character if key else "", self._pressed)
        self._at_terminal = at_terminal
        self._quit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._presses = 0
        self._works = False
        self._failed = False
        self._totals = ""
        self._questions: deque[Asked] = deque()
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        session.bus.subscribe(self._handle_event)

    async def run(self, first_query: str | None) -> int:
        """Start the session, run queries, and close it in any case."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._pressed)
        if self._key is not None:
            loop.add_signal_handler(signal.SIGCONT, self._key.capture)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, number)
        # From the beginning, because Ctrl+C is one of the keys.
        self._typed.start()
        try:
            await until(self._converse(first_query), asyncio.shield(self._quit))
        finally:
            self._output.give_up()
            await self._session.close("interrupted" if self._quit.done() else "finished")
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
                loop.remove_signal_handler(number)
        self._output.write(self._totals)
        if self._session.workspace.path.exists():
            self._output.write(f"Session saved in {clean_line(str(self._session.workspace.path), 1000)}")
        if self._quit.done():
            return 128 + self._quit.result()
        failed = self._output.lines.ended or (self._failed and not self._at_terminal)
        return EXIT_FAILED if failed else 0

    # -- queries ----------------------------------------------------------------------------------

    async def _converse(self, first_query: str | None) -> None:
        with deferred():
            await self._session.start()
        if self._at_terminal:
            self._output.write(_HELP)
            self._output.write(_COMMANDS)
        if first_query is not None and first_query.strip():
            await self._ask_agent(first_query)
        while not self._output.lines.ended:
            ahead = self._typed.available > 0
            if not ahead:
                self._output.ask(_QUERY)
            query = await self._typed.next_line()
            if query is None:
                return
            self._output.answered()
            self._presses = 0
            if (lines := await run_command(self._session, query)) is not None:
                for line in lines:
                    self._output.write(line)
            elif query.strip():
                # A query typed at the prompt is visible already; any other is written.
                if self._at_terminal and not ahead:
                    self._narrator.typed = clean(query.strip())
                await self._ask_agent(query)

    async def _ask_agent(self, query: str) -> None:
        self._works = True
        try:
            self._session.submit(query)
            while True:
                await until(self._session.wait_idle(), self._wait_until(lambda: bool(self._questions)))
                if not self._questions:
                    break
                await self._put_question(self._questions[0])
        finally:
            self._works = False
            # What stopped this query is no half of what quits.
            self._presses = 0
        self._output.ring()

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition on the questions is true."""
        while not condition():
            self._changed.clear()
            await self._changed.wait()

    def _handle_event(self, event: Event) -> None:
        match event:
            case PermissionAsked() | ElicitationAsked() | AuthRequired():
                self._questions.append(event)
            case PermissionAnswered() | ElicitationAnswered():
                self._remove_question(event.request_id)
            case AuthFinished():
                self._remove_question("")
            case QueryFinished(status="error") | BudgetReached(refused=True):
                self._failed = True
            case SessionFinished():
                self._totals = describe(event).details[0]
            case _:
                return
        self._changed.set()

    def _remove_question(self, request_id: str) -> None:
        self._questions = deque(
            each for each in self._questions if getattr(each, "request_id", "") != request_id
        )

    # -- questions --------------------------------------------------------------------------------

    async def _put_question(self, event: Asked) -> None:
        if isinstance(event, ElicitationAsked):
            await self._answer_server(event)
            return
        answer: Answer | None = DENIED
        given: dict[str, Any] | None = None
        if isinstance(event, PermissionAsked) and event.is_question:
            texts: dict[str, str] = {}
            for text, question in questions_of_agent(event).items():
                answer = await self._put(event, question)
                if answer is None or not answer.allow:
                    break
                texts[text] = answer.text
            given = {**event.input, "answers": texts}
        else:
            answer = await self._put(event, question_of(event))
        if answer is None or event not in self._questions:
            self._output.give_up()
            return
        if answer.mode:
            # The mode approves the plan.
            await self._session.set_permission_mode(answer.mode)
        elif isinstance(event, PermissionAsked):
            self._session.answer_permission(
                event.request_id,
                allow=answer.allow,
                scope=answer.scope,
                reason=answer.reason,
                patterns=answer.rules,
                input=given if answer.allow else None,
            )
            # The answer takes effect in another task; the question counts as answered until then.
            self._remove_question(event.request_id)
        else:
            self._session.finish_auth(answer.outcome)

    async def _answer_server(self, event: ElicitationAsked) -> None:
        values: dict[str, object] | None = None
        if not self._at_terminal:
            self._session.answer_elicitation(event.request_id, "decline", unattended=True)
            self._remove_question(event.request_id)
            return
        answer = await self._put(event, server_question(event))
        if answer is not None and answer.allow:
            gone = self._wait_until(lambda: event not in self._questions)
            values = await until(self._fill_in(event.fields), gone)
        if answer is None or event not in self._questions:
            self._output.give_up()
            return
        refused: Literal["decline", "cancel"] = "decline" if answer == DENIED else "cancel"
        self._session.answer_elicitation(event.request_id, refused if values is None else "accept", values)
        self._remove_question(event.request_id)

    async def _fill_in(self, fields: Sequence[FormField]) -> dict[str, object] | None:
        """Ask for the fields of a form, one by one; None if no more lines come."""
        values: dict[str, object] = {}
        for field in fields:
            for line in field_lines(field):
                self._output.write(line)
            while (typed := await self._type_in(field)) is not None:
                try:
                    values[field.name] = typed_value(field, typed)
                    break
                except FormError as error:
                    self._output.write(str(error))
            if typed is None:
                return None
        return values

    async def _type_in(self, field: FormField) -> str | None:
        with hidden_input(sys.stdin.fileno()) if field.secret else nullcontext():
            self._output.ask(f"{clean_line(field.title)}: ")
            typed = await self._typed.next_line(self._typed.available)
        self._output.answered()
        return typed

    async def _put(self, event: Asked, question: Question) -> Answer | None:
        """Write a question, and wait for its answer; None if it is no longer needed."""
        for line in question.all_lines:
            self._output.write(line)
        self._output.ring()
        return await until(self._answer(question), self._wait_until(lambda: event not in self._questions))

    async def _answer(self, question: Question) -> Answer:
        """Wait for an answer; lines typed before the question do not count."""
        if not self._at_terminal:
            return await self._piped_answer(question)
        before = self._typed.available
        while True:
            self._output.ask(_ANSWER)
            typed = await self._typed.next_line(before)
            if typed is None:
                return DENIED
            self._output.answered()
            answer = question.answer(typed)
            if answer is not None:
                return answer
            self._output.write(question.hint)

    async def _piped_answer(self, question: Question) -> Answer:
        """Use a line as the answer if it is a number; any other is the next query, and the answer the default."""
        typed = await self._typed.next_line()
        if typed is None:
            return DENIED
        answer = question.chosen(typed)
        if answer is None and typed.strip():
            self._typed.put_back(typed)
        answer = answer or DENIED
        label = next((label for label, each in question.answers if each == answer), answer.text)
        self._output.write(f"Answer: {label}")
        return answer

    # -- signals ----------------------------------------------------------------------------------

    def _pressed(self) -> None:
        self._presses += 1
        self._output.interrupt_line()
        if self._presses > 1 or self._quit.done():
            self._end(signal.SIGINT)
        elif self._works:
            self._output.write("Stopping the query. Press Ctrl+C again to quit.")
            task = asyncio.create_task(self._stop())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._output.write("Press Ctrl+C again to quit.")

    def _end(self, number: int) -> None:
        """Quit in order for a signal; the second one ends the program at once."""
        if not self._quit.done():
            self._quit.set_result(number)
            return
        if self._key is not None:
            self._key.release()
        end_now(number)

    async def _stop(self) -> None:
        with suppress(UniversalAgentError):
            await self._session.interrupt()
        for event in list(self._questions):
            if isinstance(event, AuthRequired):
                self._session.finish_auth("cancelled")


class InterruptKey:
    """The interrupt key, changed to a key that ends a line, so that it is read at once.

    The signal of Ctrl+C would reach everything that the session started.

    Attributes:
        character: what is read for it; empty if the terminal has no such key.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before: list[Any] = termios.tcgetattr(descriptor)
        key = self._before[6][termios.VINTR]
        disabled = os.fpathconf(descriptor, "PC_VDISABLE").to_bytes(1, "big")
        self._disabled = disabled
        self._key: bytes = disabled if not isinstance(key, bytes) else key
        self.character = "" if self._key == disabled else self._key.decode("latin-1")

    def capture(self) -> None:
        """Capture the key; do so again when a shell had the terminal meanwhile, and restored it."""
        if self.character:
            modes = [*self._before[:6], list(self._before[6])]
            modes[6][termios.VINTR] = self._disabled
            modes[6][termios.VEOL] = self._key
            termios.tcsetattr(self._descriptor, termios.TCSANOW, modes)

    def release(self) -> None:
        """Leave the terminal as it was."""
        # A terminal that is gone needs nothing back.
        with suppress(termios.error):
            termios.tcsetattr(self._descriptor, termios.TCSANOW, self._before)


@contextmanager
def interrupt_key(descriptor: int, *, at_terminal: bool) -> Iterator[InterruptKey | None]:
    """Read Ctrl+C as a character within the context; None without a terminal."""
    if not at_terminal:
        yield None
        return
    key = InterruptKey(descriptor)
    key.capture()
    try:
        yield key
    finally:
        key.release()
