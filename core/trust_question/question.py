"""Finds the question whether to trust a folder, and stores the answer.

What was shown is what is used: an answer holds for the content that the question was made of, and for no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from ua_tui.core.connections.trust import ServerTrust
from ua_tui.core.connections.user_servers import (
    PROJECT_SERVERS,
    UserServer,
    project_servers,
    settings_servers,
)
from ua_tui.core.errors import SettingsError
from ua_tui.core.redaction.arguments import masked_command, masked_variable
from ua_tui.core.settings.folder import DOTENV, PROJECT_FILE, FolderSettings
from ua_tui.core.settings.loading import load_settings
from ua_tui.core.settings.model import SPECS
from ua_tui.core.settings.places import Places
from ua_tui.core.text import clean_line
from ua_tui.core.trust.state import GROUPS, Answer, TrustState, fingerprint
from ua_tui.core.trust.store import TrustDecision, TrustStore
from ua_tui.core.trust_question.changes import (
    CHANGED,
    Change,
    definition_changes,
    describe_change,
    differences,
    server_changes,
    setting_changes,
    shown_texts,
)

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
    changes: tuple[Change, ...] = ()
    problems: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ("ignored",)
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
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
        TrustStore(state).store(msgspec.structs.replace(self.decision, answer=answer))


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
    changes += [*definition_changes(places.cwd, fingerprints), *server_changes(servers)]
    texts = shown_texts(
        places.cwd, _shown_files(places.cwd, fingerprints), _secrets(written, servers), _given_texts(written)
    )
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
        lines += [f"  {clean_line(describe_change(each), 10_000)}" for each in changes]
    lines += [f"Cannot be trusted as it is: {clean_line(each, 1000)}" for each in question.problems]
    if question.difference:
        lines += [
            "Changed since your answer:",
            *(f"  {clean_line(each, 500)}" for each in question.difference),
        ]
    return lines


def describe_untrusted(question: FolderQuestion) -> str:
    """Say in a sentence that a folder has no effect, and what to do."""
    files = ", ".join(clean_line(each, 60) for each in _files(question))
    why = "have changed since you decided about them" if question.state == "changed" else "are not trusted"
    return (
        f"the files of this folder {why} and have no effect ({files}): "
        "ua-tui trust shows and trusts them, --trust-folder does for this run"
    )


def _files(question: FolderQuestion) -> list[str]:
    files = list(question.texts)
    return files if len(files) <= 3 else [*files[:2], f"{len(files) - 2} more"]


def _answers(places: Places, written: FolderSettings) -> tuple[list[str], tuple[Answer, ...], list[Change]]:
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


def _secrets(written: FolderSettings, servers: Sequence[UserServer]) -> list[str]:
    found = [
        str(given.value)
        for layer in written.layers.values()
        for name, given in layer.items()
        if SPECS[name].secret and isinstance(given.value, str)
    ]
    for server in servers:
        for name, value in server.given.items():
            found += masked_variable(name, value).secrets
        if server.transport == "stdio":
            found += masked_command([server.how["command"], *server.how.get("args", ())]).secrets
    return found


def _only_keys(written: FolderSettings, fingerprints: dict[str, str]) -> tuple[str, ...]:
    """The services whose keys are all that a folder has."""
    names = [name for layer in written.layers.values() for name in layer if SPECS[name].affects != "look"]
    if set(fingerprints) != {DOTENV} or not names or not _KEYS.issuperset(names):
        return ()
    return tuple(dict.fromkeys(_SERVICES.get(name, "Anthropic") for name in names))
