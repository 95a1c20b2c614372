"""Files that a query names, with the real agent: what of them reaches the model."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

from PIL import Image
from pypdf import PdfWriter

from tests.e2e.running import model_environment, run
from tests.e2e.test_steering import Model, asked, serving, session_of
from ua_tui.core.events import types as ev


def picture(path: Path, size: tuple[int, int], kind: str = "PNG") -> Path:
    Image.new("RGB", size, "teal").save(path, kind)
    return path


def sent(model: Model, number: int) -> list[dict[str, Any]]:
    """The pictures and documents of a request's last message of the user."""
    users = [each["content"] for each in json.loads(model.requests[number]) if each["role"] == "user"]
    blocks = [block for content in users for block in content if isinstance(block, dict)]
    return [block for block in blocks if block["type"] in ("image", "document")]


async def test_pictures_and_pdf_files_reach_the_model(tmp_path: Path) -> None:
    model = Model(calls=1)
    commands = tmp_path / ".claude/commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("---\nallowed-tools: Bash(*)\n---\nGreet $1 for $2.")
    writer = PdfWriter()
    writer.add_blank_page(99, 99)
    writer.write(tmp_path / "paper.pdf")
    pdf = (tmp_path / "paper.pdf").read_bytes()
    (tmp_path / "note.txt").write_text("words of a note")
    (tmp_path / "diary.txt").write_text("private")
    with serving(model) as url:
        async with session_of(tmp_path / "base", url, deny=(f"Read({tmp_path}/d*)",)) as here:
            session = here.session
            large = await session.attach(picture(tmp_path / "My photo.bmp", (3000, 1500), "BMP"))
            paper = await session.attach(tmp_path / "paper.pdf")
            logo = await session.attach(picture(tmp_path / "my logo.png", (8, 6)))
            model.may_answer.release(2)
            session.submit(f"Compare {large} with {paper} and {logo}.")
            await session.wait_idle()
            image, document, small_image = sent(model, 0)
            assert small_image["source"]["media_type"] == "image/png"
            assert image["source"]["media_type"] == "image/jpeg"
            shown = Image.open(io.BytesIO(base64.b64decode(image["source"]["data"])))
            assert shown.size == (2000, 1000)
            assert base64.b64decode(document["source"]["data"]) == pdf
            assert document["title"] == "paper.pdf"
            # Sent to a running query, too.
            while model.asked.acquire(blocking=False):
                pass
            session.submit("Now wait.")
            await asked(model)
            small = await session.attach(picture(tmp_path / "small.gif", (8, 6), "GIF"))
            assert await session.steer(f"and {small} @{tmp_path}/note.txt")
            model.may_answer.release()
            await asked(model)
            model.may_answer.release()
            await session.wait_idle()
            # Each once, and the text as it was read here: nothing is read behind it.
            assert model.requests[-1].count("words of a note") == 1
            kinds = [each["source"]["media_type"] for each in sent(model, len(model.requests) - 1)]
            assert sorted(kinds) == ["application/pdf", "image/gif", "image/jpeg", "image/png"]
            model.may_answer.release(20)
            # A custom command is written out, and the agent summarises the conversation when it is asked to.
            session.submit("/greet Oslo 'the town'")
            await session.wait_idle()
            assert "Greet Oslo for the town." in model.requests[-1]
            session.submit(f"/compact keep the names @{tmp_path}/note.txt @{tmp_path}/none.txt")
            await session.wait_idle()
            assert "keep the names" in model.requests[-1]
            # What is cleared is forgotten, also when the session is resumed, and what follows costs something.
            session.submit("/clear")
            session.submit("And now?")
            await session.wait_idle()
            assert "keep the names" not in model.requests[-1]
            assert here.of(ev.QueryFinished)[-1].cost_usd
            assert len(here.of(ev.ConversationCleared)) == 1
            # What cannot be sent ends its query, which says why, and the next one runs.
            (tmp_path / "torn.png").write_bytes(b"\x89PNG\r\n\x1a\n torn")
            requests = len(model.requests)
            session.submit(f"@{tmp_path}/diary.txt")
            await session.wait_idle()
            session.submit(await session.attach(tmp_path / "torn.png"))
            await session.wait_idle()
            assert len(model.requests) == requests
    [steered] = [each.text for each in here.of(ev.QuerySteered)]
    assert steered == f"and {small} @attachments/note.txt (a copy of {tmp_path}/note.txt)"
    files = [file for event in here.of(ev.FilesAttached) for file in event.files]
    assert [(file.media_type, file.width, file.pages) for file in files] == [
        ("image/jpeg", 3000, 0), ("application/pdf", 0, 1), ("image/png", 8, 0), ("image/gif", 8, 0),
        ("text/plain", 0, 0), ("text/plain", 0, 0),
    ]  # fmt: skip
    assert (session.workspace.path / files[1].path).read_bytes() == pdf
    [greeted] = [each for each in here.of(ev.QueryReceived) if each.prompt]
    assert (greeted.text, greeted.prompt) == ("/greet Oslo 'the town'", "Greet Oslo for the town.")
    assert [(each.state, each.trigger) for each in here.of(ev.ContextCompaction)] == [
        ("started", ""), ("finished", "manual"),
    ]  # fmt: skip
    *_, denied, last = here.of(ev.QueryFinished)
    assert f"{tmp_path}/diary.txt is not read: the rule Read({tmp_path}/d*) denies it" in (denied.error or "")
    assert "torn.png cannot be sent to the model: it is damaged" in (last.error or "")
    # What the files say is not the user's.
    assert [each.what.split(" since")[0] for each in here.of(ev.UntrustedTextRead)] == ["1 attached file"]
    assert "paper.pdf" in (session.workspace.path / "transcript.md").read_text(encoding="utf-8")


def test_files_to_attach_reach_the_model_or_are_refused_before_a_session(tmp_path: Path) -> None:
    model = Model(calls=0)
    start = tmp_path / "base"
    folder = start / "my data"
    folder.mkdir(parents=True)
    (start / "table.csv").write_text("day,close\nMonday,101\n")
    picture(start / "my chart.png", (8, 6))
    writer = PdfWriter()
    writer.add_blank_page(99, 99)
    writer.write(folder / "paper.pdf")
    with (start / "large.csv").open("wb") as file:
        file.truncate((32 << 20) + 1)
    (start / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n torn")
    with serving(model) as url:
        env = model_environment(tmp_path / "home", url)
        for name, why in (
            ("gone.csv", "No such file"),
            ("large.csv", "larger than 32 MB"),
            ("/dev/null", "regular"),
        ):
            refused = run(start, "run", "--attach", "table.csv", "--attach", name, "Compare", env=env)
            assert (refused.code, refused.sessions) == (2, [])
            assert f"{name} cannot be added: " in refused.stderr
            assert why in refused.stderr
        # What the rules deny is known only in the session.
        config = Path(env["HOME"], ".config", "ua-tui", "config.toml")
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(f'deny = ["Read({start}/secret*)"]\n')
        (start / "secret.csv").write_text("a,b\n")
        denied = ("--attach", "table.csv", "--attach", "secret.csv")
        refused = run(start, "run", *denied, "Compare", env=env)
        assert "secret.csv is not read" in refused.stderr
        assert (refused.code, refused.sessions) == (1, [])
        config.unlink()
        assert not model.requests
        model.may_answer.release(9)
        files = ("table.csv", "my chart.png", "my data/paper.pdf", "my data")
        options = [part for name in files for part in ("--attach", name)]
        done = run(start, "run", *options, "Compare with @table.csv and @gone.csv", env=env)
        assert (done.code, done.stdout) == (0, "Done.\n")
        assert "there is no file gone.csv, so its name is sent as text" in done.stderr
        refused = run(start, "run", "--attach", "bad.png", "Compare", env=env)
        assert "bad.png cannot be sent to the model: it is damaged" in refused.stderr
    assert sorted(each["source"]["media_type"] for each in sent(model, 0)) == ["application/pdf", "image/png"]
    assert model.requests[0].count("Monday,101") == 1
    assert f"{folder}/ (a folder)" in model.requests[0]
    assert len(model.requests) == 1
