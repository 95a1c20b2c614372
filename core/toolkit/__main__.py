"""Starts the local toolkit: `python -I -m ua_tui.core.toolkit START`, a `ToolkitStart` as JSON."""

from __future__ import annotations

from ua_tui.core.concurrency.garbage_collection import deferred, pause_collection

if __name__ == "__main__":
    # The imports below make hardly any garbage.
    pause_collection()

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
from typing import TYPE_CHECKING, Any

import msgspec

from ua_tui.core.connections.toolkit import ToolkitStart
from ua_tui.core.errors import UniversalAgentError
from ua_tui.core.postgres.address import connection_variables
from ua_tui.core.redaction.names import names_given_secret
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.redaction.sharing import learn_secrets
from ua_tui.core.text import clean, clean_line

if TYPE_CHECKING:
    from ua_tui.core.net.client import Fetcher
    from ua_tui.core.toolkit.remote import RemoteFiles

PROGRAM = "ua_tui.core.toolkit"
_LOOK_EVERY, _GRACE = 1.0, 2.0


class _CleanFormatter(logging.Formatter):
    """Cleans and redacts a whole log record, which may contain text of pages."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(f"{PROGRAM}: %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return clean(self._redactor.redact(super().format(record)))


async def _serve(start: ToolkitStart, redactor: Redactor) -> None:
    from ua_tui.core.storage.workspace import Workspace

    # Before the slow imports, as it may fail.
    workspace = Workspace.open(start.workspace, redactor)
    with deferred():
        from ua_tui.core.connections.progress import send_progress, send_request
        from ua_tui.core.telemetry.http import reporting_request
        from ua_tui.core.toolkit.context import ToolContext
        from ua_tui.core.toolkit.knowledge.knowledge_base import KnowledgeBase
        from ua_tui.core.toolkit.server import build_server
        from ua_tui.core.web_reader.blacklist import Blacklist

    def open_fetcher() -> Fetcher:
        from ua_tui.core.net.client import Fetcher

        fetcher = Fetcher(routes=start.routes)
        fetcher.report = reporting_request
        return fetcher

    _set_variables(start.postgres_file, redactor)
    knowledge = None
    if start.knowledge:
        from ua_tui.core.knowledge.place import read_place

        knowledge = KnowledgeBase(
            read_place(start.knowledge),
            session=workspace.path,
            demo=start.demo,
            embeddings_file=start.embeddings_file,
            add_secret=redactor.add,
        )

    def open_remote(session_file: Path) -> RemoteFiles:
        from ua_tui.core.toolkit.remote import RemoteFiles

        return RemoteFiles(session_file, redactor)

    progress, secrets = start.progress_socket, start.secrets_socket
    context = ToolContext(
        workspace,
        open_fetcher,
        blacklist=Blacklist.for_session(workspace),
        open_remote=partial(open_remote, start.session_file) if start.session_file else None,
        learn_secrets=partial(learn_secrets, secrets, redactor) if secrets else None,
        send_progress=partial(send_progress, progress) if progress else None,
        on_request=partial(send_request, progress) if progress else None,
        knowledge=knowledge,
    )
    try:
        await build_server(context).run()
    finally:
        await context.aclose()
        workspace.close()


def _set_variables(file: Path | None, redactor: Redactor) -> None:
    """Set the variables with which libpq connects to a team's knowledge base; the password is masked."""
    if file is None:
        return
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, str])
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


def _path(kind: type, value: Any) -> Any:
    return kind(value)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input closes; exit code 0, or 2 for a wrong start, or 1 if the workspace cannot be used."""
    try:
        (given,) = sys.argv[1:] if arguments is None else arguments
        start = msgspec.json.decode(given, type=ToolkitStart, dec_hook=_path)
    except (ValueError, msgspec.MsgspecError) as error:
        sys.stderr.write(f"{PROGRAM} is started by ua-tui: {clean_line(str(error), 200)}\n")
        return 2
    # The child inherits the agent's environment with its keys, which must not appear in a file or a log.
    redactor = Redactor(value for name, value in os.environ.items() if names_given_secret(name))
    _log_to_stderr(redactor)
    # Reading standard input blocks a thread that a KeyboardInterrupt would wait for.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        asyncio.run(_serve(start, redactor))
    except UniversalAgentError as error:
        sys.stderr.write(f"{PROGRAM}: {clean_line(str(error), 500)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
