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
    in_files: tuple[str, ...] = ()


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
