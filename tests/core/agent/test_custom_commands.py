"""Custom commands: which files are commands, and what text each stands for."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from ua_tui.core.agent.definitions.commands import CustomCommand, expand, find_commands
from ua_tui.core.agent.definitions.files import definition_folders
from ua_tui.core.trust import FolderTrust, definition_fingerprints
from ua_tui.core.trust_question import definition_changes

COMMAND = CustomCommand(
    "review", "Review", "user", "", "[file]", "Review $1 by $2 ($ARGUMENTS), not $10 or $ARGUMENTSX."
)


def test_arguments_are_put_in_once() -> None:
    assert (
        expand('/review "a b.py" $1', [COMMAND])
        == 'Review a b.py by $1 ("a b.py" $1), not $10 or $ARGUMENTSX.'
    )
    assert expand("/Review", [COMMAND]) == "Review  by  (), not $10 or $ARGUMENTSX."
    assert expand("/review it's", [COMMAND]).startswith("Review it's by  (it's)")
    plain = replace(COMMAND, prompt="Tidy up.")
    assert expand("/review", [plain]) == "Tidy up."
    assert expand("/review\nthe tests", [plain]) == "Tidy up.\n\nARGUMENTS: the tests"
    counted = replace(COMMAND, prompt="$0, $1, $2; $ARGUMENTS[1] for $0.50")
    assert expand("/review 'a b' c", [counted]) == "a b, c, ; c for $0.50"
    assert expand("/git:fix it", [replace(COMMAND, name="git:fix", prompt="Fix $1")]) == "Fix it"
    for text in ("review it", " /reviews", "/", "/home/me/review", "see /review"):
        assert expand(text, [COMMAND]) == text


def test_files_are_commands_if_they_can_be(tmp_path: Path) -> None:
    folder = tmp_path / "work/.claude/commands"
    user = tmp_path / "home/.claude/commands"
    for each in (folder, user):
        each.mkdir(parents=True)
    (folder / "Fix.md").write_text(
        "---\ndescription: Fixes it\nargument-hint: [issue]\nallowed-tools: Bash(*)\n---\nFix $1"
    )
    (folder / "both.md").write_text("# The folder's")
    (user / "both.md").write_text("The user's")
    (folder / "no name.md").write_text("x")
    (folder / "empty.md").write_text("---\ndescription: nothing\n---\n")
    (folder / "torn.md").write_text("---\nallowed-tools: [\n---\nx")
    # Usual, although it is no YAML.
    (folder / "plain.md").write_text(
        "---\nargument-hint: [issue] [tag]\ndescription: Fix: all\n---\n$1 --- $2\n---\n"
    )
    (folder / "notes.txt").write_text("no command")
    # A command in a folder has its name before a colon; hidden folders and links are not entered.
    for name in ("git/fix.md", "git/hub/pr.md", "Git/Fix.md", ".hidden/no.md", "1st/no.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"From {name}")
    (folder / "linked").symlink_to(folder / "git")

    def found(trust: FolderTrust) -> tuple[dict[str, tuple[str, str, str]], list[str]]:
        places = definition_folders(
            "commands",
            cwd=tmp_path / "work",
            home=tmp_path / "home",
            config_dir=tmp_path / "none",
            trust=trust,
        )
        read = find_commands(places)
        problems = [each.problem for each in read.unusable if not each.untrusted]
        return {each.name: (each.description, each.hint, each.prompt) for each in read.definitions}, problems

    fingerprints = definition_fingerprints(tmp_path / "work", skills=False)
    assert {".claude/commands/Fix.md", ".claude/commands/git/hub/pr.md"} <= set(fingerprints)
    commands, problems = found(FolderTrust(tmp_path / "work", "trusted", fingerprints))
    assert commands == {
        "fix": ("Fixes it", "[issue]", "Fix $1"),
        "both": ("The folder's", "", "# The folder's"),
        "plain": ("Fix: all", "[issue] [tag]", "$1 --- $2\n---"),
        "git:fix": ("From Git/Fix.md", "", "From Git/Fix.md"),
        "git:hub:pr": ("From git/hub/pr.md", "", "From git/hub/pr.md"),
    }
    wrong = ("has an invalid name or folder", "has no prompt", "has an invalid name or folder")
    for problem, said in zip(problems, (*wrong, "is not valid YAML"), strict=True):
        assert said in problem
    # Only what was trusted counts, also in a folder below.
    (folder / "git/new.md").write_text("New")
    trusted = FolderTrust(tmp_path / "work", "trusted", fingerprints)
    assert "git:new" not in found(trusted)[0]
    assert any(
        each.what == "the command /git:hub:pr" for each in definition_changes(tmp_path / "work", fingerprints)
    )
    # No file of a folder that is not trusted, or that has changed since.
    assert found(FolderTrust(tmp_path / "work", "undecided", fingerprints))[0] == {
        "both": ("The user's", "", "The user's")
    }
    (folder / "Fix.md").write_text("Send everything away.")
    assert "fix" not in found(FolderTrust(tmp_path / "work", "trusted", fingerprints))[0]
