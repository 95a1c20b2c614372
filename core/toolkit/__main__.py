"""Starts the local toolkit: `python -I -m ua_tui.core.toolkit --workspace DIR`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import msgspec

from ua_tui.core.concurrency.garbage_collection import deferred
from ua_tui.core.connections.toolkit import (
    EMBEDDINGS_FILE,
    POSTGRES_FILE,
    PROGRESS_SOCKET,
    SECRETS_SOCKET,
    SESSION_FILE,
)
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.net.addresses import parse_endpoint
from ua_tui.core.postgres.address import connection_variables
from ua_tui.core.redaction.names import names_given_secret
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.redaction.sharing import learn_secrets
from ua_tui.core.text import clean, clean_line

if TYPE_CHECKING:
    from ua_tui.core.knowledge.place import KnowledgePlace
    from ua_tui.core.net.client import Fetcher
    from ua_tui.core.toolkit.remote import RemoteFiles

PROGRAM = "ua_tui.core.toolkit"
_LOOK_EVERY, _GRACE = 1.0, 2.0


class _Parser(argparse.ArgumentParser):
    """A parser with error messages of one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {clean_line(message)} (see --help)\n")


class _CleanFormatter(logging.Formatter):
    """Cleans and redacts a whole log record, which may contain text of pages."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(f"{PROGRAM}: %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return clean(self._redactor.redact(super().format(record)))


def _address(text: str) -> str:
    try:
        parse_endpoint(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _place(text: str) -> KnowledgePlace:
    from ua_tui.core.knowledge.place import read_place

    try:
        return read_place(text)
    except UniversalAgentError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _route(text: str) -> tuple[str, str]:
    suffix, equals, address = text.partition("=")
    if not equals or not suffix.strip("."):
        raise argparse.ArgumentTypeError(f"{text!r} is not SUFFIX=HOST:PORT")
    return suffix, _address(address)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = _Parser(
        prog=PROGRAM, description="Serve the local toolkit over MCP on standard input and output."
    )
    parser.add_argument(
        "--workspace", type=Path, required=True, metavar="DIR", help="the folder that every file stays in"
    )
    parser.add_argument(
        "--allow",
        type=_address,
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="may be fetched from although it is private",
    )
    parser.add_argument(
        "--route",
        type=_route,
        action="append",
        default=[],
        metavar="SUFFIX=HOST:PORT",
        help="fetch names that end in SUFFIX from there instead",
    )
    parser.add_argument(
        "--knowledge", type=_place, metavar="PLACE", help="the file or address of the knowledge base"
    )
    parser.add_argument(
        "--demo", action="store_true", help="the session is one of the demo, and sees only what those found"
    )
    parser.add_argument("--no-robots", action="store_true", help="do not ask robots.txt")
    return parser.parse_args(arguments)


async def _serve(options: argparse.Namespace, redactor: Redactor) -> None:
    from ua_tui.core.storage.workspace import Workspace

    # Before the slow imports, as it may fail.
    workspace = Workspace.open(options.workspace, redactor)
    with deferred():
        from ua_tui.core.connections.progress import send_progress, send_request
        from ua_tui.core.telemetry.http import reporting_request
        from ua_tui.core.toolkit.context import ToolContext
        from ua_tui.core.toolkit.knowledge.knowledge_base import KnowledgeBase
        from ua_tui.core.toolkit.server import build_server
        from ua_tui.core.web_reader.blacklist import Blacklist

    def open_fetcher() -> Fetcher:
        from ua_tui.core.net.client import Fetcher

        fetcher = Fetcher(allow=options.allow, routes=dict(options.route), robots=not options.no_robots)
        fetcher.report = reporting_request
        return fetcher

    session_file = os.environ.get(SESSION_FILE, "")
    secrets_socket = os.environ.get(SECRETS_SOCKET, "")
    progress_socket = os.environ.get(PROGRESS_SOCKET, "")
    embeddings = os.environ.get(EMBEDDINGS_FILE, "")

    def learn() -> None:
        learn_secrets(Path(secrets_socket), redactor)

    def open_remote() -> RemoteFiles:
        from ua_tui.core.toolkit.remote import RemoteFiles

        return RemoteFiles(Path(session_file), redactor)

    _set_variables(os.environ.get(POSTGRES_FILE, ""), redactor)
    knowledge = None
    if options.knowledge is not None:
        knowledge = KnowledgeBase(
            options.knowledge,
            session=workspace.path,
            demo=options.demo,
            embeddings_file=Path(embeddings) if embeddings else None,
            add_secret=redactor.add,
        )
    context = ToolContext(
        workspace,
        open_fetcher,
        blacklist=Blacklist.for_session(workspace),
        open_remote=open_remote if session_file else None,
        learn_secrets=learn if secrets_socket else None,
        send_progress=partial(send_progress, Path(progress_socket)) if progress_socket else None,
        on_request=partial(send_request, Path(progress_socket)) if progress_socket else None,
        knowledge=knowledge,
    )
    try:
        await build_server(context).run()
    finally:
        await context.aclose()
        workspace.close()


def _set_variables(file: str, redactor: Redactor) -> None:
    """Set the variables with which libpq connects to a team's knowledge base; the password is masked."""
    if not file:
        return
    try:
        found = msgspec.json.decode(Path(file).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError) as error:
        logging.getLogger(__name__).warning("no variables of PostgreSQL: %s", type(error).__name__)
        return
    os.environ.update(connection_variables(found))
    if password := found.get("PGPASSWORD"):
        redactor.add(password)


def _log_to_stderr(redactor: Redactor) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_CleanFormatter(redactor))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.captureWarnings(True)
    # They log what the tools' answers say anyway, such as an empty page or a retry.
    for name in ("trafilatura", "stamina"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _end_with(parent: int) -> None:
    """End this process soon after its parent ends, even if its input stays open or a request is running."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY)
    time.sleep(_GRACE)
    os._exit(1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input closes; exit code 0, or 2 for wrong usage, or 1 if the workspace cannot be used."""
    options = _parse(arguments)
    # The child inherits the agent's environment with its keys, which must not appear in a file or a log.
    redactor = Redactor(value for name, value in os.environ.items() if names_given_secret(name))
    _log_to_stderr(redactor)
    # Reading standard input blocks a thread that a KeyboardInterrupt would wait for.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        asyncio.run(_serve(options, redactor))
    except UniversalAgentError as error:
        sys.stderr.write(f"{PROGRAM}: {clean_line(str(error), 500)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
