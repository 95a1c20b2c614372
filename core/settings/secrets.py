"""The values that must never be shown or stored: secret settings, and secrets in the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from ua_tui.core.settings.model import Settings, secret_values


def secrets(settings: Settings, environ: Mapping[str, str]) -> frozenset[str]:
    """Collect every value that must never be shown or stored: secret settings, and all secrets of the environment.

    A variable is secret if its name says so or if it is a list of headers; of an address only the password is.
    """
    # The first frame does without it.
    from ua_tui.core.redaction.names import names_given_secret

    found: set[str | None] = {*secret_values(settings)}
    addresses: list[str | None] = [settings.base_url, settings.composio_base_url]
    found.update(_header_values(settings.custom_headers or ""))
    for name, value in environ.items():
        if names_given_secret(name):
            found.add(value.strip())
        elif "headers" in name.lower():
            found.update(_header_values(value))
        addresses.append(value)
    for address in addresses:
        found.add(_password_of(address or ""))
    return frozenset(value for value in found if value)


def _header_values(headers: str) -> Iterator[str]:
    for line in re.split(r"[\n,]", headers):
        value = re.split(r"[:=]", line, maxsplit=1)[-1].strip()
        yield value
        # Headers of OTLP are percent-encoded; a scheme such as Basic may precede the secret.
        decoded = unquote(value)
        yield from (decoded, decoded.rpartition(" ")[2])


def _password_of(address: str) -> str | None:
    if "://" not in address or "@" not in address:
        return None
    try:
        return urlsplit(address).password
    except ValueError:
        return None
