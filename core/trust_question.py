"""Prepares the question of whether to trust a folder, with what an answer would change, and stores the answer.

What was shown is what is used: an answer holds for the content that the question was made of, and for no other.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePath

import msgspec
from msgspec.structs import replace

from ua_tui.core.agent.definitions.commands import command_name
from ua_tui.core.agent.definitions.files import read_markdown
from ua_tui.core.agent.definitions.subagents import of_agent, read_subagent, shipped_subagents
from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import (
    PROJECT_SERVERS,
    UserServer,
    project_servers,
    settings_servers,
)
from ua_tui.core.errors import SettingsError
from ua_tui.core.json_values import table_of
from ua_tui.core.redaction.arguments import masked_text
from ua_tui.core.redaction.redactor import Redactor
from ua_tui.core.settings.folder import DOTENV, PROJECT_FILE, FolderSettings, HeldBack
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import SPECS
from ua_tui.core.settings.places import Places
from ua_tui.core.settings.sources import SourcedValue
from ua_tui.core.storage.regular_file import read_regular
from ua_tui.core.text import clean, clean_line
from ua_tui.core.trust import (
    AGENTS,
    COMMANDS,
    GROUPS,
    SKILLS,
    Affects,
    Answer,
    TrustDecision,
    TrustState,
    TrustStore,
    fingerprint,
)

_LONGEST = 300
_WORDS: Mapping[str, str] = table_of(__file__, "trust_question.json")
"""Settings in words."""


class FolderChange(msgspec.Struct, frozen=True):
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


def setting_changes(written: FolderSettings, held_back: Sequence[HeldBack]) -> Iterator[FolderChange]:
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
            yield FolderChange(
                spec.affects,
                _WORDS.get(name, name),
                _value(given, secret=spec.secret),
                f"{file}:{line}" if (line := given.line) else file,
                note,
            )


def definition_changes(folder: Path, fingerprints: Mapping[str, str]) -> Iterator[FolderChange]:
    """The sub-agents, commands and skills in files of the folder, whose content has these fingerprints."""

    def check(path: Path, data: bytes) -> None:
        if fingerprints.get(path.relative_to(folder).as_posix()) != fingerprint(data):
            raise SettingsError("it changed while it was read")

    shipped = {each.name: each for each in shipped_subagents()}
    for file in sorted(fingerprints):
        if file.startswith(f"{SKILLS}/") and file.endswith("/SKILL.md"):
            yield FolderChange(
                "tools", f"the skill {clean_line(Path(file).parent.name, 60)}", "can be loaded", file
            )
        if file.startswith(f"{COMMANDS}/"):
            name = command_name(PurePath(file).relative_to(COMMANDS))
            yield FolderChange("tools", f"the command /{clean_line(name, 60)}", "can be sent", file)
        if not file.startswith(f"{AGENTS}/"):
            continue
        shown = clean_line(file, 200)
        try:
            text = read_markdown(folder / file, inside=folder, check=check)
            agent = read_subagent(text, origin=shown, source="project")
        except SettingsError:
            yield FolderChange("tools", "a sub-agent", "cannot be read, and has no effect", shown)
            continue
        value = "a new sub-agent"
        if (replaced := shipped.get(agent.name)) is not None:
            count = len(replaced.rules)
            rules = f" and its {count} {'rule' if count == 1 else 'rules'}" if count else ""
            value = f"replaces the one that ships with ua-tui{rules}"
        elif built_in := of_agent(agent.name):
            value = f"replaces {built_in}"
        if agent.tools is None:
            value += ", has every tool"
        yield FolderChange("tools", f"the sub-agent {agent.name}", value, shown)


def server_changes(servers: Sequence[UserServer]) -> Iterator[FolderChange]:
    """The MCP servers that the folder names."""
    for server in servers:
        starts = server.transport == "stdio"
        verb = "starts" if starts else "connects to"
        given = "".join(f"; with {each}" for each in server.shown)
        yield FolderChange(
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
    return clean_line(masked_text(text).shown, _LONGEST) or "the default"


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
        try:
            data = (
                given[file].encode() if file in given else read_regular(folder / file, LARGEST, follow=True)
            )
        except OSError:
            texts[file] = "(not shown: it is not a regular file, cannot be read, or is too large)\n"
            continue
        if file not in given and expected not in ("", fingerprint(data)):
            texts[file] = CHANGED
            continue
        text = data.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        for secret in hidden:
            text = text.replace(secret, masked(secret))
        texts[file] = clean(redactor.redact(text))
    return texts


def masked(secret: str) -> str:
    """Describe a secret, so that another secret of the same length is seen to be another one."""
    return f"(not shown: {len(secret)} characters, SHA-256 {sha256(secret.encode(errors='replace')).hexdigest()[:6]}…)"


def differences(before: Mapping[str, str], now: Mapping[str, str], files: Iterable[str]) -> list[str]:
    """The lines in which files differ from before, as in a unified diff; a file that is new has only new lines."""
    lines: list[str] = []
    for file in files:
        old, new = before.get(file, "").splitlines(), now.get(file, "").splitlines()
        lines.append(f"{file} ({'changed' if file in before else 'new'})")
        lines += list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    return lines


SERVERS = "MCP servers"
"""The name under which the fingerprint of the folder's servers is stored."""

_KEYS = frozenset({"api_key", "auth_token", "composio_api_key", "web_reader_key"})
_SERVICES = {"composio_api_key": "Composio", "web_reader_key": "Z.AI"}


class FolderQuestion(msgspec.Struct, frozen=True):
    """What the files of a folder would change, and what can be answered.

    Attributes:
        state: the answer that applies now, or why there is none.
        changes: grouped, where data goes first.
        problems: what prevents that the folder is trusted.
        answers: the answers that are possible; `ignored` always is.
        texts: the files by their paths in the folder, as they are shown.
        difference: the lines that changed since the last answer.
        keys: the services for which a `.env` has keys, if the folder has nothing else.
    """

    folder: Path
    state: TrustState
    changes: tuple[FolderChange, ...] = ()
    problems: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ("ignored",)
    texts: Mapping[str, str] = {}
    difference: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    decision: TrustDecision | None = None
    servers: tuple[UserServer, ...] = ()

    def store(self, answer: Answer, state: Path | None = None) -> None:
        """Store the answer; with `trusted` also about the servers that were shown.

        Raises:
            WorkspaceError: it cannot be stored.
        """
        assert self.decision is not None
        if answer == "trusted":
            trust = ServerTrust(state)
            for server in self.servers:
                if trust.decision(server, self.folder) is None:
                    trust.decide(server, self.folder, "trusted")
        TrustStore(state).store(replace(self.decision, answer=answer))


def find_question(places: Places) -> FolderQuestion | None:
    """The question that has to be answered before a session starts in a folder; None if there is none."""
    if places.trust is not None:
        return None
    question = read_folder(places)
    return question if question.state in ("undecided", "changed") else None


def read_folder(places: Places) -> FolderQuestion:
    """Read what a folder would change, whatever was decided about it."""
    written = places.folder_settings()
    trust = places.folder_trust(written, skills=places.uses_folder_skills())
    servers = _servers(places.cwd, written)
    fingerprints = dict(trust.fingerprints)
    decision = TrustStore(places.state).read(places.cwd)
    known = decision.fingerprints if decision is not None else {}
    state, changed = trust.state, trust.changed
    if servers:
        fingerprints[SERVERS] = fingerprint("".join(each.fingerprint for each in servers).encode())
        server_trust = ServerTrust(places.state)
        waiting = any(server_trust.decision(each, places.cwd) is None for each in servers)
        if waiting and known.get(SERVERS) != fingerprints[SERVERS]:
            state = "undecided" if decision is None else "changed"
            changed = (*changed, PROJECT_SERVERS)
        elif state == "harmless" and decision is not None:
            state = decision.answer
    if not fingerprints:
        return FolderQuestion(places.cwd, "harmless")
    problems, answers, changes = _answers(places, written)
    secrets = [
        str(given.value)
        for layer in written.layers.values()
        for name, given in layer.items()
        if SPECS[name].secret and isinstance(given.value, str)
    ]
    secrets += [secret for server in servers for secret in server.secrets]
    changes += [*definition_changes(places.cwd, fingerprints), *server_changes(servers)]
    texts = shown_texts(places.cwd, _shown_files(places.cwd, fingerprints), secrets, _given_texts(written))
    if changed_files := [file for file, text in texts.items() if text == CHANGED]:
        # What was shown is what is used: this was not shown.
        problems, answers = [f"{clean_line(changed_files[0], 200)} changed while it was read"], ("ignored",)
    order = list(GROUPS)
    earlier = decision.texts if decision is not None and state == "changed" else {}
    return FolderQuestion(
        folder=places.cwd,
        state=state,
        changes=tuple(sorted(changes, key=lambda each: order.index(each.affects))),
        problems=tuple(problems),
        answers=answers,
        texts=texts,
        difference=tuple(differences(earlier, texts, changed)) if state == "changed" else (),
        keys=_only_keys(written, fingerprints),
        decision=TrustDecision(str(places.cwd), "ignored", fingerprints, texts),
        servers=tuple(servers),
    )


def revoke(places: Places) -> bool:
    """Forget what was decided about a folder and its servers, so that the next session asks; False if nothing was.

    Raises:
        WorkspaceError: it cannot be stored.
    """
    trust = ServerTrust(places.state)
    found = TrustStore(places.state).forget(places.cwd)
    for server in _servers(places.cwd, places.folder_settings()):
        if trust.decision(server, places.cwd) is not None:
            trust.decide(server, places.cwd, None)
            found = True
    return found


def describe_question(question: FolderQuestion) -> list[str]:
    """What the files of a folder change, in groups."""
    lines: list[str] = []
    for group, title in GROUPS.items():
        changes = [each for each in question.changes if each.affects == group]
        if changes:
            lines.append(f"{title}:")
        for each in changes:
            note = f" (held back: {each.note})" if each.note else ""
            lines.append("  " + clean_line(f"{each.what}: {each.value}  [{each.source}]{note}", 10_000))
    lines += [f"Cannot be trusted as it is: {clean_line(each, 1000)}" for each in question.problems]
    if question.difference:
        lines += [
            "Changed since your answer:",
            *(f"  {clean_line(each, 500)}" for each in question.difference),
        ]
    return lines


def describe_untrusted(question: FolderQuestion) -> str:
    """Say in a sentence that a folder has no effect, and what to do."""
    files = list(question.texts)
    shown = files if len(files) <= 3 else [*files[:2], f"{len(files) - 2} more"]
    why = "have changed since you decided about them" if question.state == "changed" else "are not trusted"
    return (
        f"the files of this folder {why} and have no effect ({', '.join(clean_line(each, 60) for each in shown)}): "
        "see `ua-tui trust`, or use them for this run with --trust-folder"
    )


def _answers(
    places: Places, written: FolderSettings
) -> tuple[list[str], tuple[Answer, ...], list[FolderChange]]:
    """What prevents trust, the possible answers, and the changes of the settings."""
    problems: list[str] = []
    answers: list[Answer] = []
    changes = list(setting_changes(written, ()))
    for answer in ("trusted", "partly"):
        would_be = replace(places, trust=answer)
        try:
            load_settings(None, would_be)
            if answer == "trusted":
                changes = list(setting_changes(written, would_be.read().held_back))
            answers.append(answer)
        except SettingsError as error:
            problems.append(clean_line(str(error), 500))
    return list(dict.fromkeys(problems)), (*answers, "ignored"), changes


def _servers(folder: Path, written: FolderSettings) -> list[UserServer]:
    tables = [layer["mcp_servers"] for layer in written.layers.values() if "mcp_servers" in layer]
    found = [*settings_servers(tables), *project_servers(folder)]
    return [each for each in found if isinstance(each, UserServer)]


def _shown_files(folder: Path, fingerprints: Mapping[str, str]) -> dict[str, str]:
    """The files behind the fingerprints, each with its own."""
    files = {file: each for file, each in fingerprints.items() if file != SERVERS}
    if SERVERS in fingerprints:
        for file in (PROJECT_FILE, PROJECT_SERVERS):
            if file not in files and (folder / file).is_file():
                files[file] = ""
    return files


def _given_texts(written: FolderSettings) -> dict[str, str]:
    """The text of the settings files as they were read: of `.env` only what counts here."""
    texts = {file: f"({error})\n" for file, error in written.problems.items()}
    if DOTENV in written.layers:
        lines = (f"{each.name}={each.value}\n" for each in written.layers[DOTENV].values())
        texts[DOTENV] = "".join(lines)
    for each in written.layers.get(PROJECT_FILE, {}).values():
        texts[PROJECT_FILE] = each.text
    return texts


def _only_keys(written: FolderSettings, fingerprints: dict[str, str]) -> tuple[str, ...]:
    """The services whose keys are all that a folder has."""
    names = [name for layer in written.layers.values() for name in layer if SPECS[name].affects != "look"]
    if set(fingerprints) != {DOTENV} or not names or not _KEYS.issuperset(names):
        return ()
    return tuple(dict.fromkeys(_SERVICES.get(name, "Anthropic") for name in names))
