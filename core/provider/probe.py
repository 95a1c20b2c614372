"""One tiny request to the model, to find out whether what is configured works, and what is wrong when it does not.

It is the request the agent will make, `POST /v1/messages` of the Messages API, for a single token.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

from core.provider.request import DEFAULT_MODEL, DEFAULT_URL, endpoint
from core.redaction.redactor import Redactor
from core.settings.model import Settings
from core.settings.secrets import secrets
from core.text import clean_line

if TYPE_CHECKING:
    import httpx

__all__ = [
    "DEADLINE",
    "ModelVerdict",
    "VerdictKind",
    "check_model",
    "shown_server",
]

DEADLINE = 30.0
"""Seconds a check may take when nothing else is said."""

_CONNECT_SECONDS = 10.0
_LIST_SECONDS = 5.0
_SLOW_SECONDS = 5.0
_MOST_BYTES = 256 << 10
_MOST_NAMES = 8
_LONGEST_SAID = 300
_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
# The errors themselves repeat what could not be sent.
_MALFORMED = "it holds a character that cannot be sent"

VerdictKind = Literal[
    "ok",
    "limited",
    "nothing_set",
    "malformed",
    "refused",
    "forbidden",
    "no_credit",
    "unknown_model",
    "rejected",
    "not_an_api",
    "overloaded",
    "unreachable",
    "no_host",
    "tls",
    "timeout",
]
"""How a check ends; `limited` is a server that knows the key and takes no more requests for now."""

_WORKS = frozenset({"ok", "limited"})
_AWAY = frozenset({"overloaded", "unreachable", "no_host", "tls", "timeout"})


@dataclass(frozen=True, kw_only=True)
class ModelVerdict:
    """How the request went.

    `server` is the address without a password, `status` the HTTP status where there was one, `detail` what the server
    said for itself, cleaned and without secrets, and `models` names it knows, told of only when it does not know
    `model`. `seconds` is how long it took.
    """

    kind: VerdictKind
    server: str
    model: str
    status: int | None = None
    detail: str = ""
    models: tuple[str, ...] = ()
    seconds: float = 0.0
    with_key: bool = True

    @property
    def works(self) -> bool:
        """Whether the model can be used with this."""
        return self.kind in _WORKS

    @property
    def away(self) -> bool:
        """Whether nothing is known of key and model, as nobody answered who could tell."""
        return self.kind in _AWAY

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        told = self._told
        return told if told.endswith((".", "!", "?")) else f"{told}."

    @property
    def _told(self) -> str:
        told = f": {self.detail}" if self.detail else ""
        match self.kind:
            case "ok":
                return f"{self.model} at {self.server} answered in {self.seconds:.1f} s."
            case "limited":
                return (
                    f"{self.server} knows the key, but takes no more requests for now ({self.status}){told}"
                )
            case "nothing_set":
                return "There is no key, no token and no server of your own to ask."
            case "malformed":
                return f"The key or the address cannot be sent to {self.server}{told}"
            case "refused" if self.with_key:
                return f"{self.server} refuses the key ({self.status}){told}"
            case "refused":
                return f"{self.server} wants a key ({self.status}){told}"
            case "forbidden":
                return f"{self.server} knows the key, but does not allow this ({self.status}){told}"
            case "no_credit":
                return f"{self.server} knows the key, but the account has no credit ({self.status}){told}"
            case "unknown_model":
                return f"{self.server} does not know the model {self.model} ({self.status}){told}"
            case "rejected":
                return f"{self.server} rejects the request ({self.status}){told}"
            case "not_an_api" if self.status is None:
                closed = "takes connections, but does not answer as a server of the Messages API does"
                return f"{self.server} {closed}{told}"
            case "not_an_api":
                return (
                    f"{self.server} answers {self.status}, but not as a server of the Messages API does{told}"
                )
            case "overloaded":
                return f"{self.server} is overloaded or broken ({self.status}){told}"
            case "unreachable":
                return f"Nobody answers at {self.server}{told}"
            case "no_host":
                why = f"could not be looked up{told}" if told else "is not known"
                return f"{self.server} cannot be found: the name of its host {why}"
            case "tls":
                return f"No secure connection to {self.server} can be made{told}"
            case "timeout":
                return f"{self.server} did not answer within {self.seconds:.0f} s."

    @property
    def advice(self) -> str:
        """What to do about it; empty when there is nothing to do."""
        match self.kind:
            case "ok" if self.seconds > _SLOW_SECONDS:
                return "That is slow. A model that had to be loaded first is faster the next time."
            case "ok":
                return ""
            case "limited":
                return "Wait a while, or see to the limits of your account."
            case "nothing_set":
                return "Set a key, or the address of a server."
            case "malformed":
                return "Copy it again: a key is one line of letters, digits and signs."
            case "refused" if self.with_key:
                return "Copy the key again, whole, and see that it is one of this server and still valid."
            case "refused":
                return "Give the token that this server wants."
            case "forbidden":
                return "See in your account what the key may do, and from which countries it may be used."
            case "no_credit":
                return "Add credit to the account, or take the key of another one."
            case "unknown_model" if self.models:
                return f"Name one that it knows: {', '.join(self.models)}."
            case "unknown_model":
                return "Name a model that it knows."
            case "rejected":
                return "See what it says; the name of the model is the first thing to check."
            case "not_an_api":
                return (
                    "Check the address: it is the one before /v1/messages, of a server that speaks the "
                    "Anthropic Messages API. Some servers do so below a path of its own, or since a newer version."
                )
            case "overloaded":
                return "Try again in a minute."
            case "unreachable":
                return "Check that the server runs and that the address and its port are right."
            case "no_host":
                return "Check the spelling of the address, and your connection to the network."
            case "tls":
                return (
                    "A server of your own may speak http:// instead. Behind a proxy with a certificate of its own, "
                    "set SSL_CERT_FILE to it. See that the clock of this machine is right."
                )
            case "timeout":
                return "Try again. A large local model may still be loading; else check the address and the network."


def shown_server(url: str) -> str:
    """Write an address so that it can be shown: no user name, no password, nothing that steers a terminal."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return clean_line(f"{parts.scheme}://{host}{parts.path}")


async def check_model(
    settings: Settings, *, deadline: float = DEADLINE, environ: Mapping[str, str] | None = None
) -> ModelVerdict:
    """Ask the model for one token, once, and tell how it went; never raises for what goes wrong on the way.

    A login of the Claude command line cannot be checked so: without a key, a token and an address the verdict is
    `nothing_set`.

    Args:
        settings: which key, token, server and model; no other setting counts.
        deadline: how many seconds it may take.
        environ: the environment, whose secrets are masked in what the server says; the process's own by default.
    """
    url, headers = endpoint(settings)
    server = shown_server(settings.base_url or DEFAULT_URL)
    model = settings.model or DEFAULT_MODEL
    has_key = bool(settings.api_key or settings.auth_token)
    redactor = Redactor(secrets(settings, os.environ if environ is None else environ))
    began = time.monotonic()

    def verdict(kind: VerdictKind, status: int | None = None, detail: str = "", **more: Any) -> ModelVerdict:
        took = time.monotonic() - began
        shown = clean_line(redactor.redact(detail), _LONGEST_SAID)
        return ModelVerdict(
            kind=kind,
            server=server,
            model=clean_line(model),
            status=status,
            detail=shown,
            seconds=took,
            with_key=has_key,
            **more,
        )

    if not (has_key or settings.base_url):
        return verdict("nothing_set")
    headers |= {"accept": "application/json", "accept-encoding": "identity"}
    if not has_key:
        # As the agent does, for servers that want any key at all.
        headers["x-api-key"] = "none"
    body = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    try:
        # Reading the certificates takes long enough to be felt.
        httpx = await asyncio.to_thread(import_module, "httpx")
        limits = httpx.Timeout(deadline, connect=min(_CONNECT_SECONDS, deadline))
        client = await asyncio.to_thread(httpx.AsyncClient, timeout=limits, headers=headers)
    except ValueError:
        return verdict("malformed", detail=_MALFORMED)
    except (OSError, ssl.SSLError) as error:
        return verdict("tls", detail=f"the certificates of this machine cannot be read: {error}")
    async with client:
        try:
            async with asyncio.timeout(deadline):
                status, data = await _asked(client, "POST", url, body)
        except TimeoutError:
            return verdict("timeout")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError, ssl.SSLError) as error:
            kind, detail = _trouble(error, httpx)
            return verdict(kind, detail=detail)
        kind, detail = _judged(status, data)
        names = (
            await _models(client, f"{url.removesuffix('messages')}models") if kind == "unknown_model" else ()
        )
    return verdict(kind, status, detail, models=names)


async def _asked(client: httpx.AsyncClient, method: str, url: str, body: Any = None) -> tuple[int, bytes]:
    """Send a request and read its answer, as it came and no more of it than anybody needs."""
    data = bytearray()
    async with client.stream(method, url, json=body) as response:
        async for piece in response.aiter_raw():
            data += piece
            if len(data) > _MOST_BYTES:
                break
        return response.status_code, bytes(data[:_MOST_BYTES])


async def _models(client: httpx.AsyncClient, url: str) -> tuple[str, ...]:
    """The names of the models a server has; none when it does not tell."""
    import httpx

    try:
        async with asyncio.timeout(_LIST_SECONDS):
            status, data = await _asked(client, "GET", url)
    except (TimeoutError, httpx.HTTPError, OSError):
        return ()
    told = _decoded(data)
    listed = told.get("data") or told.get("models") if status == 200 and isinstance(told, dict) else None
    rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    names = [name for row in rows if isinstance(name := row.get("id") or row.get("name"), str)]
    return tuple(clean_line(name, 80) for name in names[:_MOST_NAMES])


def _judged(status: int, data: bytes) -> tuple[VerdictKind, str]:
    """What an answer means, and what the server says in it."""
    told = _decoded(data)
    detail, code = _said(told)
    if told is None:
        detail = _looks_like(data)
    if status == 200 and isinstance(told, dict) and isinstance(told.get("content"), list):
        return "ok", ""
    about = f"{code} {detail}".casefold()
    if told is not None and any(word in about for word in ("credit", "balance", "billing")):
        return "no_credit", detail
    kind: VerdictKind
    match status:
        case 401:
            kind = "refused"
        case 402:
            kind = "no_credit"
        case 403:
            kind = "forbidden"
        case 400 | 404 | 422 if detail and "model" in about and told is not None:
            kind = "unknown_model"
        case 400 | 413 | 422 if told is not None:
            kind = "rejected"
        case 429:
            kind = "limited"
        case _ if status >= 500:
            kind = "overloaded"
        case _:
            kind = "not_an_api"
    return kind, detail or (HTTPStatus(status).phrase if status in set(HTTPStatus) else "")


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _said(told: Any) -> tuple[str, str]:
    """The words and the code of an error, whichever of the usual ways it is written in."""
    if not isinstance(told, dict):
        return "", ""
    error = told.get("error")
    inner: dict[str, Any] = error if isinstance(error, dict) else told
    words = inner.get("message") or inner.get("msg") or inner.get("detail") or error
    code = inner.get("type") or inner.get("code")
    return words if isinstance(words, str) else "", str(code or "")


def _looks_like(data: bytes) -> str:
    start = data[:512].lstrip().lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        return "it is a web page"
    return "it is no JSON" if start else "the answer is empty"


def _trouble(error: Exception, httpx: Any) -> tuple[VerdictKind, str]:
    """What kept a request from being answered."""
    if isinstance(error, httpx.TimeoutException):
        return "timeout", ""
    if isinstance(
        error, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeError)
    ):
        return "malformed", _MALFORMED
    if isinstance(error, httpx.ProxyError):
        return "unreachable", f"the proxy of this machine does not let it through: {error}"
    if (gone := _cause(error, socket.gaierror)) is not None:
        # What the system says of a name that is not there is what is said anyway.
        return "no_host", "" if getattr(gone, "errno", None) in _NO_SUCH_NAME else _why(gone)
    if (secure := _cause(error, ssl.SSLError)) is not None:
        return "tls", str(getattr(secure, "verify_message", "") or getattr(secure, "reason", "") or secure)
    if _cause(error, ConnectionRefusedError) is not None:
        return "unreachable", "the connection is refused"
    if isinstance(error, httpx.RemoteProtocolError):
        return "not_an_api", _why(error)
    if isinstance(error, (httpx.ReadError, httpx.WriteError)) and _cause(error, ConnectionError) is not None:
        # Somebody took the connection, and closed it on being asked.
        return "not_an_api", "it closed the connection without an answer"
    system = _cause(error, OSError, lambda each: bool(getattr(each, "strerror", None)))
    return "unreachable", _why(system or error)


def _cause(
    error: BaseException,
    kind: type[BaseException],
    fits: Callable[[BaseException], bool] = lambda _error: True,
) -> BaseException | None:
    """The first exception of a kind behind another one."""
    return next((each for each in _behind(error) if isinstance(each, kind) and fits(each)), None)


def _behind(error: BaseException, depth: int = 0) -> Iterator[BaseException]:
    yield error
    if depth > 10:
        return
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _behind(each, depth + 1)
    following = error.__cause__ or error.__context__
    if following is not None:
        yield from _behind(following, depth + 1)


def _why(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
