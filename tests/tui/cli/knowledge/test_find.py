from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.observers.knowledge.recorded import Recorded, database_of
from tests.paths import DOCS
from tests.tui.fixture_types import Output, Patch
from ua_tui.core.knowledge.records import Hit
from ua_tui.core.storage.folders import WORKSPACES
from ua_tui.tui.cli import main
from ua_tui.tui.cli.knowledge.find import hit_lines
from ua_tui.tui.screens.knowledge.hit_text import notes_of, pieces_of

SESSION = "session_20260310_120000"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def shared_base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two sessions, which are in its knowledge base; nothing there is changed."""
    return made_base(tmp_path_factory.mktemp("base"))


@pytest.fixture
def base(shared_base: Path, capsys: Output) -> Path:
    """The shared folder, while nothing was printed yet."""
    capsys.readouterr()
    return shared_base


def made_base(folder: Path) -> Path:
    recorded = Recorded(folder)
    recorded.write_report("quokka", "# The quokka\n\nThe quokka of Rottnest smiles at people with cameras.")
    recorded.answer("Quokkas smile, and so do some dolphins.")
    Recorded(folder, "session_20260311_120000").write_report("numbat", "A numbat eats termites.")
    assert main(["knowledge", "update", "--workspace", str(folder)]) == 0
    return folder


def find(base: Path, *words: str) -> int:
    return main(["find", "--workspace", str(base), *words])


def find_json(base: Path, capsys: Output, *words: str) -> Any:
    code = find(base, *words, "--json")
    found = json.loads(capsys.readouterr().out)
    assert code == (0 if found["hits"] else 1)
    return found


def test_a_hit_is_a_title_with_its_origin_its_passage_and_its_file(base: Path, capsys: Output) -> None:
    assert find(base, "quokka", "cameras", "--kind", "report") == 0
    title, facts, passage, place = capsys.readouterr().out.splitlines()
    assert title == "The quokka"
    assert facts.split(" · ")[:3] == ["    report", "2026-03-10", SESSION]
    assert "smiles at people with cameras" in passage
    assert Path(place.strip()) == base / WORKSPACES / SESSION / "work_products" / "quokka.md"
    assert Path(place.strip()).is_file()


def test_a_hit_in_the_journal_names_its_session_and_no_hit_is_one_line(
    base: Path, capsys: Output, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(base)
    assert find(base, "dolphins", "--kind", "answer") == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"    {WORKSPACES}/{SESSION}"
    assert find(base, "zyzzyva") == 1
    assert capsys.readouterr() == ("", "ua-tui: nothing was found\n")
    assert find_json(base, capsys, "zyzzyva")["hits"] == []
    # Output that is no terminal has no escape sequences.
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert find(base, "quokka") == 0
    sys.stdout.flush()
    assert b"\x1b" not in written.getvalue()


def test_every_documented_field_is_in_the_json_object_and_no_other(base: Path, capsys: Output) -> None:
    found = find_json(base, capsys, "quokka cameras", "--kind", "report")
    page = (DOCS / "knowledge.md").read_text(encoding="utf-8")
    of_result, of_hit = (documented(page, f"| {head} | type |") for head in ("field", "field of a hit"))
    assert set(found) == of_result
    assert main(["knowledge", "--json", "--workspace", str(base)]) == 0
    of_state = documented(page[page.index("`ua-tui knowledge --json` prints") :], "| field | type |")
    assert set(json.loads(capsys.readouterr().out)) == of_state
    (hit,) = found["hits"]
    assert set(hit) == of_hit
    assert (hit["kind"], hit["demo"], hit["url"]) == ("report", False, None)
    assert Path(hit["file"]).is_file()
    assert hit["session"] == str(base / WORKSPACES / SESSION)
    assert hit["tool_use_id"] == "quokka"
    assert [hit["passage"][start:end].lower() for start, end in hit["marks"]].count("cameras") == 1


def documented(page: str, head: str) -> set[str]:
    table = page[page.index(head) :].partition("\n\n")[0].splitlines()[2:]
    return {name for row in table for name in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.mark.parametrize(("options", "titles"), [
    ([], {"The quokka", "A numbat eats termites."}),
    (["--session", SESSION], {"The quokka"}),
    (["--session", "20260311_120000"], {"A numbat eats termites."}),
    (["--session", "latest"], {"A numbat eats termites."}),
    (["--since", "2026-03-11"], set()),
    (["--until", "2026-03-10"], {"The quokka", "A numbat eats termites."}),
    (["--tool", "write_local_file"], {"The quokka", "A numbat eats termites."}),
    (["--site", "example.org"], set()),
    (["--limit", "1"], None),
])  # fmt: skip
def test_options_narrow_hits(base: Path, capsys: Output, options: list[str], titles: set[str] | None) -> None:
    found = find_json(base, capsys, "quokka numbat smiles eats", "--kind", "report", *options)
    shown = {hit["title"] for hit in found["hits"]}
    assert len(shown) == 1 if titles is None else shown == titles


def test_a_session_without_a_folder_and_a_damaged_database(tmp_path: Path, capsys: Output) -> None:
    base = made_base(tmp_path)
    capsys.readouterr()
    shutil.rmtree(base / WORKSPACES / SESSION)
    assert len(find_json(base, capsys, "cameras", "--session", "20260310_120000")["hits"]) == 1
    database_of(base).write_bytes(b"garbage" * 1000)
    assert find(base, "quokka") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ua-tui knowledge rebuild" in error


@pytest.mark.parametrize(
    ("said", "figure"),
    [
        ("is 12 gigabytes or more", "12 gigabytes"), ("moves 2.1 terabytes per second", "2.1 terabytes"),
        ("cost 85 million dollars", "85 million dollars"), ("is in 52,000 of them", "52,000"),
    ],
)  # fmt: skip
def test_figures_have_their_units(tmp_path: Path, capsys: Output, said: str, figure: str) -> None:
    Recorded(tmp_path).write_report("memory", f"# Chips\n\nThe memory {said}, they say.")
    assert main(["knowledge", "update", "--workspace", str(tmp_path)]) == 0
    capsys.readouterr()
    assert find(tmp_path, "--figures", "memory", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["figures"]
    assert (found["figure"], found["passage"][slice(*found["place"])]) == (figure, figure)


def test_figures_are_a_table_with_day_and_source(tmp_path: Path, capsys: Output) -> None:
    recorded = Recorded(tmp_path)
    recorded.write_report(
        "copper", "# Metals\n\nThe price of copper rose to $9,810 a tonne. Tin had no buyers."
    )
    Recorded(tmp_path, "session_20260311_120000").write_report(
        "more", "The price of copper is $9,450 a tonne."
    )
    assert main(["knowledge", "update", "--workspace", str(tmp_path)]) == 0
    capsys.readouterr()
    assert find(tmp_path, "--figures", "price of copper", "--kind", "report") == 0
    head, *rows = [line.split(maxsplit=3) for line in capsys.readouterr().out.splitlines()]
    assert head == ["DATE", "FIGURE", "SOURCE", "SENTENCE"]
    assert sorted(row[:2] for row in rows) == [["2026-03-10", "$9,450"], ["2026-03-10", "$9,810"]]
    assert find(tmp_path, "--figures", "price of copper", "--kind", "report", "--json") == 0
    first, _ = json.loads(capsys.readouterr().out)["figures"]
    start, end = first["place"]
    assert first["passage"][start:end] == first["figure"]
    assert (first["day"], first["url"]) == ("2026-03-10", None)
    assert Path(first["file"]).is_file()
    assert find(tmp_path, "--figures", "zyzzyva") == 1
    assert capsys.readouterr().err.startswith("ua-tui: nothing was found")


@pytest.mark.parametrize(("words", "problem"), [
    (["a", "-kind:poem"], "find: “-kind:” is not a filter. A minus only excludes words"),
    (["a", "kind:,"], "find: “kind:” has no value"),
    (["a", "site:"], "find: “site:” has no value"),
    (["a", "--kind", ""], "find: “kind:” has no value"),
    (["a", "--kind", "poem"], "find: “kind:poem” is not a kind"),
    (["a", "--since", "whenever"], "find: “since:whenever” is not a date"),
    (["a", "since:whenever"], "find: “since:whenever” is not a date"),
    (["kind:poem"], "find: “kind:poem” is not a kind"),
    (["published:soon", "copper"], "find: “published:soon” is not a range of days"),
    (["a", "--session", "tomorrow"], "there is no session 'tomorrow'"),
    (["a", "--tool", 'write" OR quokka'], "cannot be searched"),
])  # fmt: skip
def test_wrong_input_is_one_line(base: Path, capsys: Output, words: list[str], problem: str) -> None:
    assert find(base, *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert problem in error


def test_words_are_excluded_without_quotation_marks(base: Path, capsys: Output) -> None:
    assert find(base, "quokka") == 0
    assert capsys.readouterr().out
    assert find(base, "quokka", "-quokka", "--limit", "5") == 1
    assert find(base, "-quokka", "--json") == 0
    assert "quokka" not in json.loads(capsys.readouterr().out)["hits"][0]["passage"]
    with pytest.raises(SystemExit):
        find(base, "-quokka", "--nonsense")
    assert "--nonsense" in capsys.readouterr().err


def test_an_empty_query_shows_the_newest(base: Path, capsys: Output) -> None:
    assert find(base) == 0
    newest = capsys.readouterr().out
    assert find(base, "") == 0
    assert capsys.readouterr().out == newest


def test_a_wrong_limit_is_one_line(capsys: Output) -> None:
    for limit in ("0", "-3", "many", "1001", "١"):
        with pytest.raises(SystemExit) as ended:
            main(["find", "a", f"--limit={limit}"])
        assert ended.value.code == 2
        assert "must be a number from 1 to 1000" in capsys.readouterr().err


def test_any_words_are_a_query(base: Path, capsys: Output) -> None:
    for words in ('"', "*", "NEAR(", "^", "a AND OR", "-", "'; DROP TABLE", "x" * 10_000):
        assert find(base, "--", words) in (0, 1)
        assert "Traceback" not in capsys.readouterr().err


def test_without_a_base_it_says_what_makes_one(tmp_path: Path, capsys: Output, monkeypatch: Patch) -> None:
    assert find(tmp_path, "quokka") == 2
    assert "or `ua-tui knowledge update` creates it" in capsys.readouterr().err
    assert not database_of(tmp_path).exists()
    monkeypatch.setenv("UA_KNOWLEDGE", "off")
    assert find(tmp_path, "quokka") == 2
    assert "the knowledge base is off" in capsys.readouterr().err


def test_hostile_titles_and_passages_cannot_steer_the_terminal() -> None:
    hit = Hit(
        id=1, kind="article", title="\x1b]0;owned\x07 a\nb", url="https://a.example/\x1b[2J", made_at=0.0, trust="web",
        session="session_1", session_title="[red]x[/]\x9b", path="a/\x1bb.json", passage="one \x1b[31mtwo\nthree",
        marks=((4, 10),),
    )  # fmt: skip
    for width in (None, 40):
        text = ESCAPE.sub("", "\n".join(hit_lines(hit, Path("/k/knowledge.db"), width)))
        for part in ("\x1b", "\x9b", "\x07"):
            assert part not in text
        assert "[red]x[/]" in text


def test_a_hit_names_what_an_older_copy_said_and_leaves_its_title_out_of_the_passage() -> None:
    hit = Hit(
        id=1, kind="article", title="Copper up", made_at=0.0, trust="web", session="session_1", date="2026-11-20",
        passage="Metals Copper up The price is $9,810. Copper up again.", marks=((21, 26), (46, 52)), more=2, copies=2,
        older="was $9,450\x1b[2J on 3 Nov",
    )  # fmt: skip
    title, facts, passage, _ = hit_lines(hit, Path("/k/knowledge.db"), None)
    assert (title, passage) == ("Copper up", "    The price is $9,810. Copper up again.")
    assert facts.startswith("    article · 2026-11-20 · was $9,450")
    assert "· +2 more from this page · session_1" in facts
    assert next(notes_of(msgspec.structs.replace(hit, demo=True))) == "demo"
    assert "\x1b" not in facts
    assert pieces_of(hit)[1] == ("price", True)
    answer = msgspec.structs.replace(hit, kind="answer", session_title=hit.title)
    assert "\n".join(hit_lines(answer, Path("/k/knowledge.db"), None)).count(hit.title) == 2


def test_a_terminal_gets_marked_words_in_lines_that_fit() -> None:
    hit = Hit(
        id=1, kind="report", title="Kängurus 在澳大利亚", made_at=0.0, trust="own", session="session_1",
        passage="The quokka smiles. " * 10, marks=((4, 10),), path="work_products/q.md",
    )  # fmt: skip
    lines = list(hit_lines(hit, Path("/k/knowledge.db"), 40))
    assert "\x1b[1mquokka\x1b[0m" in "\n".join(lines)
    assert all(len(ESCAPE.sub("", line)) <= 40 for line in lines[:-1])
    assert ESCAPE.sub("", lines[-1]).strip() == "/k/session_1/work_products/q.md"


def test_without_words_the_newest_are_listed(base: Path, capsys: Output) -> None:
    assert find(base) == 0
    assert "A numbat eats termites." in capsys.readouterr().out


def test_if_nothing_is_found_it_says_that_sessions_are_not_indexed(tmp_path: Path, capsys: Output) -> None:
    made_base(tmp_path)
    Recorded(tmp_path, "session_20260312_120000").answer("The wombat digs.")
    assert find(tmp_path, "wombat") == 1
    assert (
        "1 session may have content that is not indexed yet; `ua-tui knowledge update`"
        in capsys.readouterr().err
    )
    assert main(["knowledge", "update", "--workspace", str(tmp_path)]) == 0
    assert find(tmp_path, "wombat") == 0
    assert find(tmp_path / "missing", "wombat") == 2
    assert f"there is no knowledge base {tmp_path / 'missing'}" in capsys.readouterr().err
