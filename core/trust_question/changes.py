"""What the files of a folder would change in a session, by what it is about, and the texts of these files."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath

import msgspec

from ua_tui.core.agent.definitions.commands import command_name
from ua_tui.core.agent.definitions.files import read_markdown
from ua_tui.core.agent.definitions.subagents import of_agent, read_subagent, shipped_subagents
from ua_tui.core.connections.user_servers import UserServer
from ua_tui.core.errors import SettingsError
from ua_tui.core.redaction.arguments import masked_address
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.folder import FolderSettings, HeldBack
from ua_tui.core.settings.model import SPECS
from ua_tui.core.settings.sources import SourcedValue
from ua_tui.core.text import clean, clean_line
from ua_tui.core.trust.state import AGENTS, COMMANDS, SKILLS, Affects, fingerprint, read_regular

_LONGEST = 300
_WORDS: Mapping[str, str] = msgspec.json.decode(Path(__file__).with_name("settings.json").read_bytes())
"""Settings in words."""


class Change(msgspec.Struct, frozen=True):
    """One thing that a folder would change.

    Attributes:
        what: a setting in words, a sub-agent, a server, a skill.
        value: what it would be, without secrets.
        source: the file in the folder, with the line if it is known.
        note: why it has no effect even in a trusted folder, as a clause; empty if it has.
    """

    affects: Affects
    what: str
    value: str
    source: str
    note: str = ""


def describe_change(change: Change) -> str:
    """A change in a line."""
    note = f" (held back: {change.note})" if change.note else ""
    return f"{change.what}: {change.value}  [{change.source}]{note}"


def setting_changes(written: FolderSettings, held_back: Sequence[HeldBack]) -> Iterator[Change]:
    """The settings of `.env` and `ua-tui.toml`; `held_back` is what has no effect although the folder is trusted."""
    notes = {(each.name, each.given.name): each.reason for each in held_back}
    for file, layer in written.layers.items():
        for name, given in layer.items():
            spec = SPECS[name]
            if spec.affects == "look" or name == "mcp_servers":
                continue
            note = notes.get((name, given.name), "")
            if spec.user_only:
                note = "the files of a folder may not set it"
            yield Change(
                spec.affects,
                _WORDS.get(name, name),
                _value(given, secret=spec.secret),
                f"{file}:{line}" if (line := given.line) else file,
                note,
            )


def definition_changes(folder: Path, fingerprints: Mapping[str, str]) -> Iterator[Change]:
    """The sub-agents, commands and skills in files of the folder, whose content has these fingerprints."""

    def check(path: Path, data: bytes) -> None:
        if fingerprints.get(path.relative_to(folder).as_posix()) != fingerprint(data):
            raise SettingsError("it changed while it was read")

    shipped = {each.name: each for each in shipped_subagents()}
    for file in sorted(fingerprints):
        if file.startswith(f"{SKILLS}/") and file.endswith("/SKILL.md"):
            yield Change(
                "tools", f"the skill {clean_line(Path(file).parent.name, 60)}", "can be loaded", file
            )
        if file.startswith(f"{COMMANDS}/"):
            name = command_name(PurePath(file).relative_to(COMMANDS))
            yield Change("tools", f"the command /{clean_line(name, 60)}", "can be sent", file)
        if not file.startswith(f"{AGENTS}/"):
            continue
        shown = clean_line(file, 200)
        try:
            text = read_markdown(folder / file, inside=folder, check=check)
            agent = read_subagent(text, origin=shown, source="project")
        except SettingsError:
            yield Change("tools", "a sub-agent", "cannot be read, and has no effect", shown)
            continue
        value = "a new sub-agent"
        if (replaced := shipped.get(agent.name)) is not None:
            count = len(replaced.rules)
            rules = f" with its {count} {'rule' if count == 1 else 'rules'}" if count else ""
            value = f"replaces the one that ships with ua-tui{rules}"
        elif built_in := of_agent(agent.name):
            value = f"replaces {built_in}"
        if agent.tools is None:
            value += ", has every tool"
        yield Change("tools", f"the sub-agent {agent.name}", value, shown)


def server_changes(servers: Sequence[UserServer]) -> Iterator[Change]:
    """The MCP servers that the folder names."""
    for server in servers:
        starts = server.transport == "stdio"
        verb = "starts" if starts else "connects to"
        given = "".join(f"; with {each}" for each in server.shown)
        yield Change(
            "tools" if starts else "data",
            f"the MCP server {server.name}",
            clean_line(f"{verb} {server.target}{given}", 8_000),
            clean_line(Path(server.source).name, 200),
        )


def _value(given: SourcedValue, *, secret: bool) -> str:
    if secret:
        return masked(str(given.value))
    value = given.value
    text = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return clean_line(masked_address(text).shown, _LONGEST) or "the default"


LARGEST = 128 << 10
"""Bytes of a file that are shown."""

CHANGED = "(not shown: it changed while it was read)\n"


def shown_texts(
    folder: Path, files: Mapping[str, str], secrets: Iterable[str], given: Mapping[str, str]
) -> dict[str, str]:
    """The text of each file by its path in the folder, cleaned, and with the secrets masked.

    `files` has the fingerprint of each file, empty if it has none; `given` has the text of those that were read before.
    """
    hidden = sorted({each for each in secrets if len(each) >= 4}, key=len, reverse=True)
    redactor = Redactor(())
    texts = {}
    for file, expected in files.items():
        data = given[file].encode() if file in given else read_regular(folder / file, LARGEST)
        if data is not None and file not in given and expected not in ("", fingerprint(data)):
            texts[file] = CHANGED
            continue
        if data is None:
            texts[file] = "(not shown: it is no regular file, cannot be read, or is too large)\n"
            continue
        text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        for secret in hidden:
            text = text.replace(secret, masked(secret))
        texts[file] = clean(redactor.redact(text))
    return texts


def masked(secret: str) -> str:
    """Describe a secret, so that another secret of the same length is seen to be another one."""
    return f"(not shown: {len(secret)} characters, {sha256(secret.encode(errors='replace')).hexdigest()[:6]})"


def differences(before: Mapping[str, str], now: Mapping[str, str], files: Iterable[str]) -> list[str]:
    """The lines in which files differ from before, as in a unified diff; a file that is new has only new lines."""
    lines: list[str] = []
    for file in files:
        old, new = before.get(file, "").splitlines(), now.get(file, "").splitlines()
        lines.append(f"{file} ({'changed' if file in before else 'new'})")
        lines += list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    return lines
