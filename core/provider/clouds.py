"""The clouds whose models can be used: the variables that each needs, which the agent's command line reads itself."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import msgspec

from ua_tui.core.provider.probe import shown_server
from ua_tui.core.provider.request import DEFAULT_URL
from ua_tui.core.settings.model import Cloud, Settings


class CloudService(msgspec.Struct, frozen=True, kw_only=True):
    """How the command line uses a cloud; `clouds.toml` describes the fields."""

    title: str
    prefixes: tuple[str, ...]
    required: tuple[tuple[str, ...], ...]
    credentials: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]


@cache
def cloud_service(cloud: Cloud) -> CloudService:
    """What is known of a cloud."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
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


def cloud_credentials(cloud: Cloud, environ: Mapping[str, str], home: Path) -> str:
    """The variables or the file with credentials for a cloud; empty if none are known."""
    service = cloud_service(cloud)
    for group in service.credentials:
        if all(environ.get(name) for name in group):
            return " and ".join(group)
    return next((f"~/{file}" for file in service.files if (home / file).is_file()), "")
