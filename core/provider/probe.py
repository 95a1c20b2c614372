"""One tiny request to the model, to find out whether the configured access works, and what is wrong if it does not.

It is the request that the agent will make, `POST /v1/messages` of the Messages API, for a single token. The clouds that
have the model, too, and what they need are in `clouds.toml`.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import time
from collections.abc import Iterable, Mapping
from functools import cache
from http import HTTPStatus
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.errors import Advice, chain_of
from ua_tui.core.events.codec import from_json
from ua_tui.core.events.model_problems import model_advice
from ua_tui.core.json_values import object_in, objects_in, table_of, text_in, value_in
from ua_tui.core.net.bodies import is_html
from ua_tui.core.provider.request import DEFAULT_MODEL, DEFAULT_URL, endpoint
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.model import Cloud, Settings, secrets
from ua_tui.core.text import as_sentence, clean_line

if TYPE_CHECKING:
    import httpx

DEADLINE = 30.0
"""Seconds that a check may take by default."""

_MAX_BYTES = 256 << 10
_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
# The errors themselves repeat the secret that could not be sent.
_MALFORMED = "it contains a character that cannot be sent"

_WORKS = frozenset({"ok", "limited"})
_AWAY = frozenset(
    {"overloaded", "server_error", "not_listening", "unreachable", "no_host", "tls", "timeout", "cut_off"}
)


class ModelVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """How the request went.

    `kind` is `ok` or an entry below `model` in the catalogue of advice; `limited` means that the server knows the key,
    but accepts no more requests for now. `server` is the address without a password, `status` the HTTP status, if there
    was one, and `detail` the server's own message, cleaned and without secrets. `models` are the names of those it
    knows; they are listed only when it does not know `model`. `seconds` is how long the request took.
    """

    kind: str
    server: str
    model: str
    status: int | None = None
    detail: str = ""
    models: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def works(self) -> bool:
        """Whether the model can be used."""
        return self.kind in _WORKS

    @property
    def away(self) -> bool:
        """Whether nothing is known of the key and the model, because the server did not judge them."""
        return self.kind in _AWAY

    @property
    def message(self) -> str:
        """What happened, in a sentence."""
        if self.kind == "ok":
            return f"{self.model} at {self.server} answered in {self.seconds:.1f} s."
        return as_sentence(self._advice(self.kind).problem)

    @property
    def advice(self) -> str:
        """What to do about it, in a sentence; empty when there is nothing to do."""
        if self.kind == "ok":
            slow = self.seconds > 5.0
            return (
                "That is slow. If the model had to be loaded first, it is faster next time." if slow else ""
            )
        return as_sentence(self._advice(self.kind).remedy)

    def _advice(self, problem: str) -> Advice:
        status = "" if self.status is None else str(self.status)
        return model_advice(
            f"model.{problem}",
            self.server,
            status=f"within {self.seconds:.0f} s" if problem == "timeout" else status,
            detail=self.detail,
            model=self.model,
            models=self.models,
        )


def shown_server(url: str) -> str:
    """Write an address so that it can be shown: without user name, password and control characters."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return clean_line(f"{parts.scheme}://{host}{parts.path}")


async def check_model(
    settings: Settings, *, deadline: float = DEADLINE, environ: Mapping[str, str] | None = None
) -> ModelVerdict:
    """Ask the model for one token, once, and report how it went; never raises for what goes wrong on the way.

    A login of the Claude Code CLI cannot be checked this way: without a key, a token and an address the verdict
    is `nothing_set`.

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

    def verdict(kind: str, status: int | None = None, detail: str = "", **more: Any) -> ModelVerdict:
        took = time.monotonic() - began
        shown = clean_line(redactor.redact(detail), 300)
        return ModelVerdict(
            kind=kind,
            server=server,
            model=clean_line(model),
            status=status,
            detail=shown,
            seconds=took,
            **more,
        )

    if not (has_key or settings.base_url):
        return verdict("nothing_set")
    headers |= {"accept": "application/json", "accept-encoding": "identity"}
    if not has_key:
        # As the agent does, for servers that require any key at all.
        headers["x-api-key"] = "none"
    body = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]}
    try:
        # Reading the certificates takes noticeable time.
        httpx = await asyncio.to_thread(import_module, "httpx")
        limits = httpx.Timeout(deadline, connect=min(10.0, deadline))
        client = await asyncio.to_thread(httpx.AsyncClient, timeout=limits, headers=headers)
    except ValueError:
        return verdict("malformed", detail=_MALFORMED)
    except (OSError, ssl.SSLError) as error:
        return verdict("tls", detail=f"the certificates of this machine cannot be read: {error}")
    async with client:
        try:
            async with asyncio.timeout(deadline):
                status, data = await _request(client, "POST", url, body)
        except TimeoutError:
            return verdict("timeout")
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError, ssl.SSLError) as error:
            kind, detail = _classify_error(error, httpx)
            return verdict(kind, detail=detail)
        kind, detail = _judge(status, data, has_key=has_key)
        names = (
            await _list_models(client, f"{url.removesuffix('messages')}models")
            if kind == "unknown_model"
            else ()
        )
    return verdict(kind, status, detail, models=names)


async def _request(client: httpx.AsyncClient, method: str, url: str, body: Any = None) -> tuple[int, bytes]:
    """Send a request and read its answer undecoded, up to a limit."""
    data = bytearray()
    async with client.stream(method, url, json=body) as response:
        async for piece in response.aiter_raw():
            data += piece
            if len(data) > _MAX_BYTES:
                break
        return response.status_code, bytes(data[:_MAX_BYTES])


async def _list_models(client: httpx.AsyncClient, url: str) -> tuple[str, ...]:
    """The names of the models a server has; none when it does not list them."""
    import httpx

    try:
        async with asyncio.timeout(5.0):
            status, data = await _request(client, "GET", url)
    except (TimeoutError, httpx.HTTPError, OSError):
        return ()
    answer = from_json(data) if status == 200 else None
    rows = objects_in(answer, "data") or objects_in(answer, "models")
    names = filter(None, (text_in(row, "id") or text_in(row, "name") for row in rows))
    return tuple(clean_line(name, 80) for name in islice(names, 8))


def _judge(status: int, data: bytes, *, has_key: bool) -> tuple[str, str]:
    """What an answer means, and the server's own message in it."""
    answer = from_json(data)
    if status == 200 and isinstance(value_in(answer, "content"), list):
        return "ok", ""
    code = ""
    if answer is not None:
        text, code = _error_in(answer)
    elif is_html(data):
        text = "the answer is a web page"
    else:
        text = "the answer is not JSON" if data.strip() else "the answer is empty"
    kind = _kind_of(status, f"{code} {text}".casefold(), is_json=answer is not None, has_text=bool(text))
    if kind == "refused" and not has_key:
        kind = "key_missing"
    return kind, text or (HTTPStatus(status).phrase if status in set(HTTPStatus) else "")


def _kind_of(status: int, about: str, *, is_json: bool, has_text: bool) -> str:
    if is_json and any(word in about for word in ("credit", "balance", "billing")):
        return "no_credit"
    if is_json and has_text and status in (400, 404, 422) and "model" in about:
        return "unknown_model"
    if is_json and status in (400, 413, 422):
        return "rejected"
    if status >= 500:
        return "overloaded" if status in (503, 529) else "server_error"
    return _KINDS.get(status, "not_an_api")


_KINDS: Mapping[int, str] = {401: "refused", 402: "no_credit", 403: "forbidden", 429: "limited"}


def _error_in(answer: Any) -> tuple[str, str]:
    """The message and the code of an error, in whichever of the usual forms it is written."""
    error = value_in(answer, "error")
    inner = error if isinstance(error, dict) else object_in(answer)
    message = inner.get("message") or inner.get("msg") or inner.get("detail") or error
    code = inner.get("type") or inner.get("code")
    return message if isinstance(message, str) else "", str(code or "")


def _classify_error(error: Exception, httpx: Any) -> tuple[str, str]:
    """Why a request got no answer, and the detail of it."""
    if isinstance(error, httpx.TimeoutException):
        return "timeout", ""
    if isinstance(
        error, (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, UnicodeError)
    ):
        return "malformed", _MALFORMED
    if isinstance(error, httpx.ProxyError):
        return "unreachable", f"the proxy of this machine refused it: {error}"
    if (gone := _cause(error, socket.gaierror)) is not None:
        # For an unknown name the system's message adds nothing.
        return "no_host", "" if getattr(gone, "errno", None) in _NO_SUCH_NAME else _why(gone)
    if (secure := _cause(error, ssl.SSLError)) is not None:
        return "tls", str(getattr(secure, "verify_message", "") or getattr(secure, "reason", "") or secure)
    if _cause(error, ConnectionRefusedError) is not None:
        return "not_listening", ""
    if isinstance(error, httpx.RemoteProtocolError):
        return "not_an_api", _why(error)
    if isinstance(error, (httpx.ReadError, httpx.WriteError)) and _cause(error, ConnectionError) is not None:
        # The server accepted the connection, and closed it when it got the request.
        return "not_an_api", "it closed the connection without an answer"
    return "unreachable", _why(
        next((each for each in chain_of(error, hidden=True) if getattr(each, "strerror", None)), error)
    )


def _cause(error: BaseException, kind: type[BaseException]) -> BaseException | None:
    """The first exception of a kind behind another one."""
    return next((each for each in chain_of(error, hidden=True) if isinstance(each, kind)), None)


def _why(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


class CloudService(msgspec.Struct, frozen=True, kw_only=True):
    """How the command line uses a cloud; `clouds.toml` describes the fields."""

    title: str
    prefixes: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]
    credentials: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]
    in_files: tuple[str, ...] = ()


@cache
def cloud_service(cloud: Cloud) -> CloudService:
    """What is known of a cloud."""
    table = table_of(__file__, "clouds.toml")
    return msgspec.convert(table[cloud], CloudService)


def model_server(settings: Settings) -> str:
    """Where the models are: a cloud, or an address without a password."""
    cloud = settings.cloud
    return cloud_service(cloud).title if cloud else shown_server(settings.base_url or DEFAULT_URL)


def cloud_variables(cloud: Cloud, environ: Mapping[str, str]) -> Iterable[str]:
    """The names of the variables that the command line needs for a cloud."""
    prefixes = (*cloud_service(cloud).prefixes, "ANTHROPIC_DEFAULT_")
    return (name for name in environ if name.startswith(prefixes))


def missing_variables(cloud: Cloud, environ: Mapping[str, str]) -> list[str]:
    """The variables that a cloud requires and that are not set, each with what may be set instead."""
    groups = cloud_service(cloud).required
    return [" or ".join(group) for group in groups if not any(environ.get(name) for name in group)]


def lost_credentials(cloud: Cloud, environ: Mapping[str, str]) -> Iterable[str]:
    """The variables of the credentials to be used that are to have the path of a file, where there is no file."""
    if environ.get(f"CLAUDE_CODE_SKIP_{cloud.upper()}_AUTH"):
        return ()
    paths = (name for name in _group(cloud, environ) if name.endswith(("_FILE", "_CREDENTIALS")))
    return (name for name in paths if not Path(environ[name]).is_file())


def cloud_credentials(cloud: Cloud, environ: Mapping[str, str], home: Path) -> str:
    """The variables or the file with credentials for a cloud; empty if none are known."""
    if group := _group(cloud, environ):
        return " and ".join(group)
    return next((f"~/{file}" for file in cloud_service(cloud).files if (home / file).is_file()), "")


def _group(cloud: Cloud, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The first credentials of which every variable is set."""
    groups = cloud_service(cloud).credentials
    return next((group for group in groups if all(environ.get(name) for name in group)), ())
