"""What a place says that spans are sent to, in words: what is wrong with its answer, and what to do about it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus

from core.text import clean_line

__all__ = ["COLLECTOR", "LOGFIRE", "Place", "problem_of"]

_PROTOBUF = frozenset({"application/x-protobuf", "application/protobuf", "application/octet-stream"})
_HTML = (b"<!doctype html", b"<html", b"<head")


@dataclass(frozen=True)
class Place:
    """A place that spans are sent to: which settings have its key and its address."""

    key: str
    address: str


COLLECTOR = Place("check OTEL_EXPORTER_OTLP_HEADERS", "check OTEL_EXPORTER_OTLP_ENDPOINT")
LOGFIRE = Place("set a valid LOGFIRE_TOKEN, one for writing", "check LOGFIRE_BASE_URL")


def problem_of(place: Place, status: int, content_type: str, body: bytes) -> tuple[str, str] | None:
    """What is wrong with an answer to an export, and what to do; None when the spans were taken.

    An empty answer, protobuf and JSON are those of a collector; whatever else comes with a good status is somebody
    else's.
    """
    phrase = HTTPStatus(status).phrase if status in set(HTTPStatus) else ""
    shown = f"{status} {phrase}".strip()
    kind = content_type.partition(";")[0].strip().lower()
    match status:
        case 401 | 403:
            return f"it refused the key ({shown})", place.key
        case 408 | 429:
            return f"it takes no more for now ({shown})", "try again in a while"
        case _ if status >= 500:
            return f"it is out of order ({shown})", "try again in a while"
        case _ if status >= 400:
            return f"it does not take them ({shown})", place.address
        case _ if 300 <= status < 400:
            return None
        case _ if kind == "text/html" or body[:64].lstrip().lower().startswith(_HTML):
            return f"it answers with a web page ({shown})", place.address
    try:
        return _rejected(kind, body) if body else None
    except ValueError:
        return (
            f"it answers, but not as a collector does ({shown}, {clean_line(kind, 40) or 'of no type'})",
            place.address,
        )


def _rejected(kind: str, body: bytes) -> tuple[str, str] | None:
    """What an answer says of spans that were not taken.

    Raises:
        ValueError: it is no answer to an export.
    """
    if kind == "application/json" or kind.endswith("+json"):
        told = json.loads(body)
        if not isinstance(told, dict):
            raise ValueError("no object")
        partial = told.get("partialSuccess")
        if not isinstance(partial, dict):
            return None
        count, why = int(str(partial.get("rejectedSpans") or 0)), str(partial.get("errorMessage") or "")
    elif kind in _PROTOBUF:
        # Dear to import, and there where spans are sent.
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

        try:
            found = ExportTraceServiceResponse.FromString(body).partial_success
        except Exception as error:
            # The library of protobuf is written without types, its errors too.
            raise ValueError(str(error)) from error
        count, why = found.rejected_spans, found.error_message
    else:
        raise ValueError(kind)
    if not count:
        return None
    said = f" ({clean_line(why, 120)})" if why else ""
    return f"it took some and rejected {count}{said}", "see what it says, and its log"
