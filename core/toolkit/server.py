"""The tools of a session, each a function of another module, and what they need; imported for the first call.

`core/connections/toolkit.json` has what `tools/list` says of them.
"""

from __future__ import annotations

import logging
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ua_tui.core.connections.progress import send_progress, send_request
from ua_tui.core.connections.toolkit import ToolkitStart
from ua_tui.core.connections.toolkit_tools import PROGRAM
from ua_tui.core.log import log
from ua_tui.core.postgres.address import connection_variables
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.redaction.sharing import learn_secrets
from ua_tui.core.redaction.values import names_given_secret
from ua_tui.core.storage.workspace import Workspace
from ua_tui.core.telemetry.http import reporting_request
from ua_tui.core.text import clean
from ua_tui.core.toolkit.calls import Tool, ToolCalls, ToolContext
from ua_tui.core.toolkit.corpus import save_corpus
from ua_tui.core.toolkit.crawl import crawl_parallel
from ua_tui.core.toolkit.files import list_directory, read_local_file, write_local_file
from ua_tui.core.toolkit.knowledge.knowledge_tools import knowledge_read, knowledge_search, knowledge_sources
from ua_tui.core.toolkit.workbench import workbench_download, workbench_upload
from ua_tui.core.web_reader import Blacklist

if TYPE_CHECKING:
    from ua_tui.core.knowledge.search.search import KnowledgeSearch
    from ua_tui.core.net.client import Fetcher
    from ua_tui.core.toolkit.remote import RemoteFiles

TOOLS = (
    Tool(crawl_parallel), Tool(save_corpus), Tool(write_local_file), Tool(read_local_file), Tool(list_directory),
    Tool(knowledge_search), Tool(knowledge_read), Tool(knowledge_sources),
    Tool(workbench_download), Tool(workbench_upload),
)  # fmt: skip
"""All tools; `toolkit.json` says which there always are, and what they do besides what their functions say."""


class _CleanFormatter(logging.Formatter):
    """Cleans and redacts a whole log record, which may contain text of pages."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(f"{PROGRAM}: %(levelname)s %(name)s: %(message)s")
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return clean(self._redactor.redact(super().format(record)))


def open_calls(given: str) -> ToolCalls:
    """Open the session's folder and what the tools need beside it; `given` is a `ToolkitStart` as JSON.

    Raises:
        WorkspaceError: the folder cannot be made or opened.
    """
    start = msgspec.json.decode(given, type=ToolkitStart, dec_hook=lambda kind, value: kind(value))
    # The child inherits the agent's environment with its keys, which must not appear in a file or a log.
    redactor = Redactor(value for name, value in os.environ.items() if names_given_secret(name))
    _log_to_stderr(redactor)
    workspace = Workspace.open(start.workspace, redactor)

    def open_fetcher() -> Fetcher:
        from ua_tui.core.net.client import Fetcher

        fetcher = Fetcher(routes=start.routes)
        fetcher.report = reporting_request
        return fetcher

    _set_variables(start.postgres_file, redactor)

    def open_knowledge() -> KnowledgeSearch:
        from ua_tui.core.knowledge.place import read_place
        from ua_tui.core.knowledge.search.search import open_earlier

        return open_earlier(
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
        open_knowledge=open_knowledge if start.knowledge else None,
        page_age=start.page_age,
    )
    return ToolCalls(context, TOOLS)


def _set_variables(file: Path | None, redactor: Redactor) -> None:
    """Set the variables with which libpq connects to a team's knowledge base; the password is masked."""
    if file is None:
        return
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("no variables of PostgreSQL: %s", type(error).__name__)
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
