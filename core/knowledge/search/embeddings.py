"""Asks a server with an OpenAI-compatible API for vectors of texts, by which texts of similar meaning are found.

The user chooses the server; without a setting nothing is asked. It is reached directly, without a proxy.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from urllib.parse import urlsplit

import msgspec

from ua_tui.core.concurrency.threads import begin_apart
from ua_tui.core.errors import KnowledgeError
from ua_tui.core.settings.model import Settings
from ua_tui.core.telemetry.http import reporting_request

QUERY_SECONDS = 0.5
"""How long a person or the agent waits for the vector of a query."""

_SECONDS = 60.0
_MOST_CHARACTERS = 2_000
"""Of a text; models read no more than a few hundred words well, and some servers refuse longer ones."""
_MOST_BYTES = 32 << 20
_OF_TEXTS = (400, 413, 422)

# Python has it from 3.12 on, and it is several times quicker.
_product: Callable[[array[float], array[float]], float] = getattr(
    math, "sumprod", lambda one, other: sum(map(operator.mul, one, other))
)


class TextsRefused(KnowledgeError):
    """The server did not accept these texts; others may be accepted."""


class _Row(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Row]


@dataclass(frozen=True, slots=True)
class Embedder:
    """Makes vectors: numbers of four bytes, of length 1 as a whole. Its methods block.

    Attributes:
        url: the address to which `/embeddings` is added, such as http://127.0.0.1:11434/v1.
        model: the name of the model; only vectors of the same one can be compared.
        key: is sent as a bearer token; empty for none.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        """Where texts are sent: the host of the address, with its port."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def embed(self, texts: Sequence[str], seconds: float = _SECONDS) -> list[bytes]:
        """Make a vector for each text.

        Raises:
            TextsRefused: the server answered that a text or the request is wrong.
            KnowledgeError: there is no answer in the time, or a wrong one.
        """
        texts = [text[:_MOST_CHARACTERS] for text in texts]
        try:
            rows = msgspec.json.decode(self._post(texts, seconds), type=_Answer).data
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            rows = []
        rows.sort(key=lambda row: row.index)
        lengths = {len(row.embedding) for row in rows}
        if [row.index for row in rows] != [*range(len(texts))] or len(lengths) != 1 or not min(lengths):
            raise self._failed("its answer has no usable vectors")
        return [_packed(row.embedding) for row in rows]

    def embed_query(self, text: str) -> bytes:
        """Make the vector of a query within `QUERY_SECONDS`.

        Raises:
            KnowledgeError: there is no answer in the time, or a wrong one.
        """
        import httpx  # noqa: F401 -- it takes longer than the request, and the time is for that

        # To look up a name may take much longer, and cannot be stopped.
        answer = begin_apart(partial(self.embed, [text], QUERY_SECONDS))
        try:
            return answer.result(QUERY_SECONDS)[0]
        except TimeoutError as error:
            raise self._failed(f"no answer in {QUERY_SECONDS:g} s") from error

    def _post(self, texts: Sequence[str], seconds: float) -> bytes:
        import httpx

        until = monotonic() + seconds
        address = f"{self.url}/embeddings"
        headers = {"authorization": f"Bearer {self.key}"} if self.key else {}
        body = {"model": self.model, "input": texts}
        read = bytearray()
        try:
            with (
                reporting_request("POST", address) as set_status,
                closing(httpx.Client(timeout=seconds, trust_env=False)) as client,
                client.stream("POST", address, headers=headers, json=body) as response,
            ):
                set_status(response.status_code)
                # The timeout of the client is that of one read.
                for piece in response.iter_bytes():
                    read += piece
                    if monotonic() > until or len(read) > _MOST_BYTES:
                        raise self._failed("its answer is too long or takes too long")
        except httpx.TimeoutException as error:
            raise self._failed(f"no answer in {seconds:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, OSError) as error:
            # Their texts may have parts of the request.
            raise self._failed(f"it cannot be reached ({type(error).__name__})") from None
        status = response.status_code
        if status != httpx.codes.OK:
            # What a server answers may have the texts in it, or the key.
            kind = TextsRefused if status in _OF_TEXTS else KnowledgeError
            raise self._failed(f"it answered with status {status}", kind)
        return bytes(read)

    def _failed(self, reason: str, kind: type[KnowledgeError] = KnowledgeError) -> KnowledgeError:
        return kind(
            f"the embeddings server {self.host} failed: {reason}; "
            "check the settings embeddings_url, embeddings_model and embeddings_key"
        )


def embedder_of(settings: Settings) -> Embedder | None:
    """What makes vectors, if the user chose a server and a model; None in the demo, which sends nothing."""
    if not settings.embeddings_url or not settings.embeddings_model or settings.demo:
        return None
    return Embedder(settings.embeddings_url, settings.embeddings_model, settings.embeddings_key or "")


def similarities(vector: bytes, others: Sequence[bytes]) -> list[float]:
    """How near vectors are to one: 1 for the same direction, 0 for no likeness or another number of dimensions."""
    numbers = array("f", vector)
    return [_product(numbers, array("f", other)) if len(other) == len(vector) else 0.0 for other in others]


def _packed(numbers: Sequence[float]) -> bytes:
    length = math.hypot(*numbers) or 1.0
    return array("f", [number / length for number in numbers]).tobytes()
