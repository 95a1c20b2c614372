"""The demo's child process: serves on loopback until its standard input ends."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.garbage_collection import deferred

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"


async def serve(pace: float) -> None:
    """Serve until standard input ends, at a pace: 1 is followable, 0 is as fast as it can be."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    listener = socket.create_server((HOST, 0), backlog=128)
    with deferred():
        import uvicorn

        from ua_tui.core.demo.server import make_server

        app, api_key = make_server(pace)

    config = uvicorn.Config(
        app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    threading.Thread(target=_stop_when_input_ends, args=(server,), name="stdin", daemon=True).start()
    # For the parent process; who connects before the server listens waits for it.
    url = f"http://{HOST}:{listener.getsockname()[1]}"
    sys.stdout.write(json.dumps({"url": url, "composio_api_key": api_key}) + "\n")
    sys.stdout.flush()
    await server.serve(sockets=[listener])


def _stop_when_input_ends(server: uvicorn.Server) -> None:
    """Watch standard input, in a thread: that works for pipes, terminals and files alike."""
    with suppress(OSError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    server.should_exit = True


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
