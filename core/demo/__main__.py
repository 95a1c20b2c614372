"""The demo's child process: serves on loopback until its standard input ends."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ua_tui.core.concurrency.garbage_collection import deferred

if TYPE_CHECKING:
    import uvicorn

HOST = "127.0.0.1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until standard input ends; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -I -m ua_tui.core.demo", description="Serve the demo on loopback."
    )
    parser.add_argument("--pace", type=_pace, default=1.0, help="1 is followable, 0 is as fast as it can be")
    parser.add_argument("--port", type=_port, default=0, help="the port on 127.0.0.1; 0 takes a free one")
    options = parser.parse_args(arguments)
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s"
    )
    from ua_tui.core.errors import DemoError

    try:
        listener = socket.create_server((HOST, options.port), backlog=128)
    except OSError as error:
        sys.stderr.write(
            f"The demo cannot listen on {HOST}:{options.port}: {os.strerror(error.errno or 0)}.\n"
        )
        return 1
    try:
        asyncio.run(_serve(listener, options.pace))
    except DemoError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def _serve(listener: socket.socket, pace: float) -> None:
    with deferred():
        import uvicorn

        from ua_tui.core.demo.server import make_server

        demo = make_server(pace)

    class Server(uvicorn.Server):
        """Announces itself once it is listening."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                _announce(listener.getsockname()[1], demo.api_key)
                _stop_when_input_ends(self)

    config = uvicorn.Config(
        demo.app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=1
    )
    await Server(config).serve(sockets=[listener])


def _announce(port: int, api_key: str) -> None:
    """Print the addresses for the parent process, in one line of JSON."""
    origin = f"http://{HOST}:{port}"
    line = {
        "model_url": origin,
        "composio_url": origin,
        "composio_api_key": api_key,
        "article_route": f".example={HOST}:{port}",
    }
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _stop_when_input_ends(server: uvicorn.Server) -> None:
    """Watch standard input in a thread: that works for pipes, terminals and files alike."""

    def watch() -> None:
        try:
            while os.read(sys.stdin.fileno(), 4096):
                pass
        except OSError:
            pass
        server.should_exit = True

    threading.Thread(target=watch, name="stdin", daemon=True).start()


def _pace(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 100:
        raise argparse.ArgumentTypeError("the pace is a number from 0 to 100")
    return value


def _port(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 65535:
        raise argparse.ArgumentTypeError("the port is a number from 0 to 65535")
    return value


if __name__ == "__main__":
    sys.exit(main())
