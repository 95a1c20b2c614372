"""A TCP proxy on loopback that breaks connections as networks do: it cuts them, or swallows what is sent."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from types import TracebackType
from typing import Self

_PIECE = 1 << 16
_ESTABLISHED = b"\x01"


class TcpProxy:
    """Forwards connections to a server; `port` is where it listens, from `start` until `stop`.

    `accepted` counts connections, `forwarded` the pieces that they carry, `swallowed` those that came during a pause,
    and `cuts` the cuts of `cut_after`. `most_open` is the most connections that were open at a time, without those that
    their client has closed while nothing was forwarded. Each piece waits `delay` seconds, and `reset_rate` of those to
    the server end their connection instead. Its threads forward for clients in this process and in others. A test stops
    it, or uses it as a context manager.
    """

    def __init__(self, host: str, port: int) -> None:
        self.port = 0
        self.accepted = 0
        self.swallowed = 0
        self.cuts = 0
        self.forwarded = 0
        self.most_open = 0
        self.delay = 0.0
        self.reset_rate = 0.0
        self._bytes_left: int | None = None
        self._target = (host, port)
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._clients: set[socket.socket] = set()
        self._times_cut = 0
        self._lock = threading.Lock()
        self._forwards = threading.Event()
        self._refuses = False

    def start(self) -> Self:
        """Begin to listen on a free port."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._forwards.set()
        threading.Thread(target=self._accept, name="TCP proxy", daemon=True).start()
        return self

    def url(self, url: str) -> str:
        """The address `scheme://user@host:port/…` with the place of this proxy instead of its own."""
        scheme, _, rest = url.partition("://")
        place, slash, path = rest.partition("/")
        user, at, _ = place.rpartition("@")
        return f"{scheme}://{user}{at}127.0.0.1:{self.port}{slash}{path}"

    def pause(self) -> None:
        """Become a black hole: nothing arrives any more, neither on open connections nor on new ones."""
        self._forwards.clear()

    def cut(self, *, refuse: bool = False) -> None:
        """End all connections; with `refuse` new ones are ended at once, too, until `resume`."""
        with self._lock:
            self._refuses = refuse
            self._times_cut += 1
            for each in list(self._open):
                _cut(each)

    def cut_after(self, count: int) -> None:
        """End all connections in the middle of what they carry, when so many more bytes were forwarded."""
        self._bytes_left = count

    def resume(self) -> None:
        """Forward again, what came during a pause included."""
        self._refuses = False
        self._forwards.set()

    def stop(self) -> None:
        """End all connections, and listen no more."""
        if self._listener is not None:
            _cut(self._listener)
            self._listener.close()
        self.cut(refuse=True)
        self._forwards.set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                refuses, times_cut = self._refuses, self._times_cut
            if refuses:
                client.close()
                continue
            threading.Thread(target=self._connect, args=(client, times_cut), daemon=True).start()

    def _connect(self, client: socket.socket, times_cut: int) -> None:
        """Forward for a client that came when all were cut so many times."""
        self._forwards.wait()
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.close()
            return
        both = (client, server)
        with self._lock:
            is_cut = self._times_cut > times_cut
            if not is_cut:
                self._open.update(both)
                self._clients.add(client)
                self.most_open = max(self.most_open, sum(map(_is_open, self._clients)))
        if is_cut:
            for each in both:
                each.close()
            return
        back = threading.Thread(target=self._pump, args=(server, client, False), daemon=True)
        back.start()
        self._pump(client, server, True)
        back.join()
        with self._lock:
            self._open.difference_update(both)
            self._clients.discard(client)
        for each in both:
            each.close()

    def _pump(self, source: socket.socket, target: socket.socket, to_server: bool) -> None:
        """Forward one direction until either end closes; what came is kept during a pause."""
        with contextlib.suppress(OSError):
            target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := source.recv(_PIECE):
                if not self._forwards.is_set():
                    self.swallowed += 1
                    self._forwards.wait()
                if self.delay:
                    time.sleep(self.delay)
                if to_server and random.random() < self.reset_rate:
                    break
                target.sendall(data[: self._allowed(len(data))])
                self.forwarded += 1
                if self._bytes_left == 0:
                    self._bytes_left = None
                    self.cut()
                    self.cuts += 1
        _cut(source)
        _cut(target)

    def _allowed(self, count: int) -> int:
        """How many of so many bytes are forwarded before the cut."""
        with self._lock:
            if self._bytes_left is None:
                return count
            allowed = min(count, self._bytes_left)
            self._bytes_left -= allowed
            return allowed


def _is_open(client: socket.socket) -> bool:
    """Whether a client has not closed its end."""
    return client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1) == _ESTABLISHED


def _cut(connection: socket.socket) -> None:
    """End a connection; whoever waits for it is woken."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
