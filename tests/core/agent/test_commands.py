"""What rules on commands let through: tables of hostile and of usual commands, and random ones that are really run."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.core.cases import cases_of
from tests.waiting import PATIENCE
from ua_tui.core.agent.permissions import conditions as shell
from ua_tui.core.agent.permissions.actions import Action
from ua_tui.core.agent.permissions.rules import Rule
from ua_tui.core.storage.folders import WORKSPACES

CASES = cases_of(__file__)
GIT, FIND, BASH = (shutil.which(name) for name in ("git", "find", "bash"))
REALLY_RUN = pytest.mark.skipif(None in {GIT, FIND, BASH}, reason="git, find or bash is missing")
FIXED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def passes(rule: str, command: str, folder: Path) -> bool:
    return Rule("allow", rule).matches(Action("Bash", {"command": command}), folder)


@dataclass
class Sandbox:
    """A repository with the folder of a session, a place outside, and programs that record that they were started."""

    base: Path
    listener: socket.socket

    @property
    def repository(self) -> Path:
        return self.base / "repository"

    @property
    def session(self) -> Path:
        return self.repository / WORKSPACES / "session_1"

    @property
    def recorder(self) -> Path:
        return self.base / "recorder"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/MYDATA"

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": str(self.base / "bin"), "HOME": str(self.base / "home"), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(self, *words: str) -> None:
        who = ("-c", "user.name=n", "-c", "user.email=n@x.example")
        place = ("-C", str(self.repository))
        subprocess.run(
            [str(GIT), *place, *who, *words], check=True, capture_output=True, env=self.environment
        )

    def files(self) -> dict[str, bytes]:
        """Everything in the sandbox; `git status` stores in the index what it saw."""
        found = [path for path in self.base.rglob("*") if path.is_file() and path.name != "index"]
        return {str(path.relative_to(self.base)): path.read_bytes() for path in found}

    def effects_of(self, command: str) -> list[str]:
        """Run a command in the session's folder; returns what it wrote, started and called."""
        before = self.files()
        subprocess.run(
            [str(BASH), "-c", command], cwd=self.session, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        after = self.files()
        effects = [name for name in after if after[name] != before.get(name)] + [
            *before.keys() - after.keys()
        ]
        try:
            self.listener.accept()[0].close()
        except BlockingIOError:
            return effects
        return [*effects, "network"]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        made = Sandbox(tmp_path_factory.mktemp("sandbox"), listener)
        for folder in ("bin", "home", "outside"):
            (made.base / folder).mkdir()
        made.session.mkdir(parents=True)
        made.recorder.write_text(f'#!/bin/sh\necho "$0" >> {made.base}/started\ncat "$1" 2>/dev/null\n')
        made.recorder.chmod(0o755)
        for name in (
            "id",
            "sh",
            "less",
            "pager",
            "vi",
            "editor",
            "ssh",
            "gpg",
            "man",
            "env",
            "x.sh",
            "git-helper",
        ):
            (made.base / "bin" / name).symlink_to(made.recorder)
        for name in filter(None, (GIT, FIND)):
            (made.base / "bin" / Path(name).name).symlink_to(name)
        made.git("init", "-q", "-b", "main")
        for number in range(3):
            (made.repository / "a.txt").write_text(f"hello {number}\n" * 5)
            made.git("add", "a.txt")
            made.git("commit", "-qm", f"number {number}")
        # Files of the agent whose names a shell may put in the place of a pattern.
        for name in (
            "-exec",
            "-delete",
            "a",
            "p",
            f"--output={made.base}/outside/y",
            f"-O{made.recorder}",
        ):
            path = Path(f"{made.session}/{name}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("hello")
        yield made


@pytest.mark.parametrize("kind", ["hostile", "innocent"])
def test_tables_of_commands(sandbox: Sandbox, kind: str) -> None:
    for rule, command in CASES[kind]:
        assert passes(rule, command, sandbox.session) is (kind == "innocent"), (rule, command)


_FIND = shell._data()["programs"]["find"]
_GIT = {name: each for each in shell._data()["git"] for name in each["commands"]}
_OUT = "{base}/outside/x"
_OPERANDS = (
    "HEAD", "HEAD~1", "main..HEAD", "HEAD:a.txt", "a", "p", "../../a.txt", "hello", "'*.txt'", "*", "?exec",
    "-exe?", "[-]delete", "{-delete,a}", "--outpu?={base}/outside/y", "-?{recorder}", "{base}/outside", "~",
    "../*/a", ".?/.?", "'a b'", '"x"', "%G?", "'%h %G?'", "{address}", "ext::{recorder}", "id", "{recorder}",
    "';'", "+", "'{}'", "-", "$'-\\x4f'", "$HOME", "a;id", "a|id", "a&id", "$(id)", "`id`",
    "a>{base}/outside/x", "<a", "\nid", "\u2028id", "\\id",
)  # fmt: skip
_USUAL = ("HEAD", "HEAD~1", "main..HEAD", "a", "../../a.txt", "hello", "'*.txt'", "5", "f")
_OPTIONS = (
    "-exec", "-execdir", "-ok", "-delete", "-fprint", "-fls", "-O{recorder}", "-nO{recorder}",
    "--op={recorder}", "-o", "--output={base}/outside/x", "--outp={base}/outside/x", "--ext-diff", "--textconv",
    "--no-index", "--show-signature", "--format=%G?", "--format=*", "--upload-pack={recorder}",
    "--u={recorder}", "-u", "-c", "core.fsmonitor={recorder}", "--exec={recorder}", "--template={base}",
    "--remote=.", "--help", "-P", "--paginate", "--files0-from", "--edit-description", "--recurse-submodules",
    "--contents", "--submodule", "--column=always", "--exec-path={base}/bin", "-C", "{base}", "-D",
)  # fmt: skip
_HEADS = (
    "git {}", "git {}", "git {}", "git {}", "find", "find .", "find . -name", "git", "git clone",
    "git ls-remote", "git fetch", "git archive", "git config", "git push", "git difftool", "git -c",
    "X=1 git diff", "env git", "! git diff", "time find .", "gi? diff", "/usr/bin/env git", "'git' {}",
)  # fmt: skip


def _quoted(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            word,
            word,
            word,
            f"'{word}'",
            f'"{word}"',
            f"{word[:2]}'{word[2:]}'",
            f"{word}*",
            f"[{word[:1]}]{word[1:]}",
        ]
    )


@st.composite
def _commands(draw: st.DrawFn) -> tuple[str, str]:
    """A rule and a command that is to be judged by it."""
    name = draw(st.sampled_from(sorted(_GIT)))
    head = draw(st.sampled_from(["git {}"] * 9 + ["find ."] * 3) | st.sampled_from(_HEADS)).format(name)
    listed = _FIND if head.startswith("find") else _GIT[name]
    option = st.sampled_from([*listed["options"], *(f"-{letter}" for letter in listed["letters"])])
    value = st.sampled_from(_OPERANDS)
    hostile = st.sampled_from(_OPTIONS).flatmap(_quoted) | value
    joined = st.tuples(option, st.sampled_from(["=", "", " "]), value).map("".join)
    # One hostile word at most: two would only hide each other.
    words = [
        *draw(st.lists(option | st.sampled_from(_USUAL), max_size=3)),
        *draw(st.lists(hostile | joined, max_size=1)),
    ]
    rule = draw(
        st.sampled_from([f"Bash({head.split()[0]}:*)"] * 3 + [f"Bash({head}:*)", "Bash(g* *)", "Bash(*)"])
    )
    return rule, " ".join([head, *draw(st.permutations(words))])


@REALLY_RUN
@FIXED
@given(_commands())
@example(("Bash(git diff:*)", "git diff --no-index --outpu?={base}/outside/y a p"))
@example(("Bash(git grep:*)", "git grep --no-index -?{recorder} hello"))
@example(("Bash(git ls-remote:*)", "git ls-remote {address}"))
@example(("Bash(find:*)", "find . -maxdepth 0 -exe? id ';'"))
@example(("Bash(find:*)", "find . [-]delete"))
@example(("Bash(git log:*)", "git log -p --format='%h %s' -- ../../a.txt"))
@example(("Bash(git status:*)", "git status -sb"))
def test_an_allowed_command_only_reads(sandbox: Sandbox, case: tuple[str, str]) -> None:
    rule, command = case
    for name in ("base", "recorder", "address"):
        command = command.replace(f"{{{name}}}", str(getattr(sandbox, name)))
    if passes(rule, command, sandbox.session):
        assert sandbox.effects_of(command) == [], (rule, command)


_SETTINGS = (
    "[core]\n\tfsmonitor = {recorder}", "[core]\n\thooksPath = {base}/bin",
    '[filter "f"]\n\tclean = {recorder}', '[filter "f"]\n\tprocess = {recorder}',
    '[diff "f"]\n\ttextconv = {recorder}', '[diff "f"]\n\tcommand = {recorder}',
    "[diff]\n\texternal = {recorder}", "[log]\n\tshowSignature = true\n[gpg]\n\tprogram = {recorder}",
    "[core]\n\tpager = {recorder}", "[include]\n\tpath = {base}/more",
    '[includeIf "gitdir:**"]\n\tpath = {base}/more', "[alias]\n\tstatus = !{recorder}",
    "[CORE]\n FSMonitor={recorder}", "[core] fsmonitor = {recorder}",
    "[remote.x]\n\turl = y\n[core]\n\tbare = false\n\tfsmonitor = {recorder}",
    "[core]\n\tbare = \\\nfalse\n\tfsmonitor = {recorder}", "[core]\r\n\tfsmonitor = {recorder}\r",
    "# x\r[core]\n;\\\n\tfsmonitor = {recorder}",
    '[branch "]"]\n\tx = y ; \\\n[core]\n\tfsmonitor = {recorder}',
    '[remote "x"]\n\turl = ext::{recorder}\n\tpromisor = true\n[extensions]\n\tpartialClone = x',
    "[user]\n\tname = n", '[branch "main"]\n\tremote = origin', "[core]\n\tquotePath = false",
    "[core]\n\tworktree = {base}", "[extensions]\n\tworktreeConfig = true",
)  # fmt: skip
_HARMLESS = _SETTINGS[-5:-2]
_READING = (
    "status",
    "diff",
    "diff HEAD",
    "diff HEAD~1 HEAD",
    "log -p",
    "log",
    "show",
    "blame a.txt",
    "grep hello",
    "branch --list",
)


@REALLY_RUN
@FIXED
@given(
    st.lists(st.sampled_from(_HARMLESS), max_size=2),
    st.lists(st.sampled_from(_SETTINGS), max_size=1),
    st.sampled_from(_READING),
    st.sampled_from(["", "", "hook", "nested", "commondir", "inner"]),
)
@example([], [_SETTINGS[0]], "status", "")
@example([], [], "status", "nested")
@example([], [], "diff", "hook")
@example([], [], "show", "inner")
@example([_HARMLESS[0]], [], "status", "")
def test_a_repository_of_somebody_else_starts_nothing(
    sandbox: Sandbox,
    tmp_path_factory: pytest.TempPathFactory,
    harmless: Sequence[str],
    more: Sequence[str],
    reading: str,
    trap: str,
) -> None:
    hostile = Sandbox(tmp_path_factory.mktemp("hostile"), sandbox.listener)
    shutil.copytree(sandbox.base, hostile.base, symlinks=True, dirs_exist_ok=True)
    hostile.recorder.write_text(hostile.recorder.read_text().replace(str(sandbox.base), str(hostile.base)))
    git = hostile.repository / ".git"
    starts = f"[core]\n\tfsmonitor = {hostile.recorder}\n"
    (hostile.base / "more").write_text(starts)
    match trap:
        case "nested":
            shutil.copytree(git, hostile.repository / "nested" / ".git")
            hostile.git("-c", "advice.addEmbeddedRepo=false", "add", "nested")
            (hostile.repository / "nested" / ".git" / "config").write_text(starts)
        case "hook":
            (git / "hooks").mkdir(exist_ok=True)
            shutil.copy(hostile.recorder, git / "hooks" / "post-index-change")
        case "commondir":
            shutil.copytree(git, hostile.base / "common")
            (hostile.base / "common" / "config").write_text(starts)
            (git / "commondir").write_text(f"{hostile.base}/common")
        case "inner":
            # A repository without a folder `.git` of its own.
            shutil.copytree(git, hostile.session, dirs_exist_ok=True)
            (hostile.session / "config").write_text(
                f'[core]\n\tbare = true\n[diff "f"]\n\ttextconv = {hostile.recorder}\n'
            )
            git = hostile.session
    (git / "info").mkdir(exist_ok=True)
    (git / "info" / "attributes").write_text("*.txt filter=f diff=f\n")
    text = "".join(f"\n{each}\n" for each in (*harmless, *more)).replace("{base}", str(hostile.base))
    with (git / "config").open("a") as file:
        file.write(text.replace("{recorder}", str(hostile.recorder)))
    os.utime(hostile.repository / "a.txt", (1, 1))
    command = f"git {reading}".replace("a.txt", "../../a.txt")
    if passes("Bash(git:*)", command, hostile.session):
        assert hostile.effects_of(command) == [], (text, command, trap)
    else:
        assert trap or not set(more) <= set(_HARMLESS), (text, command)
