"""URLs of search results: kept exactly, compared by a normal form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from ua_tui.core.redaction.redactor import Redactor

_UNSAFE = r"\x00-\x20\x7f-\x9f\u2028\u2029\ud800-\udfff"
_WEB = rf"(?i)https?://[^\s/?#{_UNSAFE}][^{_UNSAFE}]*"
_TRACKING = r"(?i)(?:utm_[a-z_]+|gclid|fbclid|msclkid|dclid|mc_cid|mc_eid|igshid|srsltid)="
_SIGNED = r"(?i)([?&;])(?:sig|signature|key|token|x-amz-[a-z-]+)="
_MAX_URL = 8192


def is_web_url(value: object) -> bool:
    """Whether `value` is an http or https URL that fits on one line."""
    return isinstance(value, str) and len(value) <= _MAX_URL and re.fullmatch(_WEB, value) is not None


def repaired_url(value: object) -> str | None:
    """A URL as it was meant, if it only lacks its scheme or has white space in it; None for anything else.

    Two addresses in one text are none.
    """
    if not isinstance(value, str) or len(value) > _MAX_URL:
        return None
    url = value.strip()
    if url.startswith("www.") or (url.startswith("//") and "." in url[2:].partition("/")[0]):
        url = f"https://{url.removeprefix('//')}"
    host, slash, rest = url.partition("://")
    url = f"{host}{slash}{rest.replace(' ', '%20')}" if " " not in rest.split("/", 1)[0] else url
    return url if is_web_url(url) and url.count("://") == 1 else None


def is_public_address(url: str, redactor: Redactor) -> bool:
    """Whether what looks like a secret in a result's URL is only the signature of a page anybody may open.

    A known secret, or something with the form of a key, is one wherever it stands.
    """
    bare = re.sub(_SIGNED, r"\1part=", url)
    return redactor.redact(bare) == bare


def with_masked_parts(urls: Sequence[str], redactor: Redactor) -> list[str]:
    """Those of `urls` that the redactor would change; looks at all of them at once first."""
    together = "\n".join(urls)
    if redactor.redact(together) == together:
        return []
    return [url for url in dict.fromkeys(urls) if redactor.redact(url) != url]


def public_addresses(urls: Sequence[str], redactor: Redactor) -> list[str]:
    """Those of `urls` that are not masked although a part of them looks like a secret."""
    return [url for url in with_masked_parts(urls, redactor) if is_public_address(url, redactor)]


def normal_form(url: str) -> str:
    """What is the same for two spellings of one page: scheme, case of the host, port, fragment, tracking."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return url
    host, query = (parts.hostname or "").removeprefix("www."), parts.query
    if port not in (None, 80, 443):
        host = f"{host}:{port}"
    if query and re.search(_TRACKING, query):
        query = "&".join(pair for pair in query.split("&") if not re.match(_TRACKING, pair))
    return f"{host}{parts.path.rstrip('/')}?{query}" if query else f"{host}{parts.path.rstrip('/')}"


def host_of(url: str) -> str:
    """Return the host of an address, without `www.`; empty if it has none."""
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""
