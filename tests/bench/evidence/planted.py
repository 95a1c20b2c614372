"""A session with 60 secrets wherever text comes from, as if nothing had masked them when they were recorded."""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass
from pathlib import Path

import msgspec

from tests.observers.knowledge.recorded import Recorded
from ua_tui.core.events.types import (
    ArtifactSaved,
    AuthRequired,
    MessageFinished,
    QueryFinished,
    QueryReceived,
    ToolCallFinished,
    ToolCallStarted,
)
from ua_tui.core.evidence.files import check_path
from ua_tui.core.evidence.records import Claim, Evidence, ReportCheck, Source, Verdict
from ua_tui.core.observation import Observation, TextContent

PLACES = (
    "query", "argument", "result", "error", "answer", "report", "attribute of the report", "link of the report",
    "file name", "title", "passage", "source",
)  # fmt: skip
ORIGINS = ("known value", "token", "header", "address", "MCP address")
LETTERS = string.ascii_letters + string.digits
CHUNK = 8


@dataclass(frozen=True)
class Planted:
    """A secret: where it is, what it is of, and its characters."""

    place: str
    origin: str
    core: str

    @property
    def text(self) -> str:
        match self.origin:
            case "token":
                shapes: tuple[str, ...] = ("ghp_{}", "sk-ant-api03-{}", "github_pat_{}", "glpat-{}")
                return shapes[PLACES.index(self.place) % len(shapes)].format(self.core)
            case "header":
                return f"Authorization: Bearer {self.core}"
            case "address":
                shapes = ("https://app.example/callback?code={}&state=1", "https://user:{}@db.example/x")
                return shapes[PLACES.index(self.place) % len(shapes)].format(self.core)
            case "MCP address":
                return f"https://mcp.example/v3/mcp?api_key={self.core}"
            case _:
                return self.core

    @property
    def chunks(self) -> tuple[str, str]:
        """What may appear nowhere: its beginning and its end."""
        return self.core[:CHUNK], self.core[-CHUNK:]


def _core(number: int) -> str:
    digest = hashlib.sha512(f"exported secret {number}".encode()).digest()
    return "K7z" + "".join(LETTERS[each % len(LETTERS)] for each in digest[:29])


SECRETS = [
    Planted(place, origin, _core(number))
    for number, (place, origin) in enumerate((place, origin) for place in PLACES for origin in ORIGINS)
]
LINK = f"https://connect.example/link/{_core(99)}"


def _planted(place: str, separator: str = "; ") -> str:
    return separator.join(each.text for each in SECRETS if each.place == place)


def planted_session(base: Path) -> Path:
    """Write the session; returns its folder."""
    session = Recorded(base)
    folder = session.folder
    links = "".join(
        f"<a href='{each.text}'>link</a>"
        if "://" in each.text
        else f"<a href='https://a.example/?token={each.text}'>x</a>"
        for each in SECRETS
        if each.place == "link of the report"
    )
    text = f"<h1>Report</h1><p title='{_planted('attribute of the report')}'>{_planted('report')}, 41 %.</p>{links}"
    path, data = "work_products/report.html", text.encode()
    (folder / path).write_bytes(data)
    (folder / "title.txt").write_text(_planted("title"))
    result = (TextContent(_planted("result")),)
    session.add(
        AuthRequired(toolkit="x", url=LINK),
        QueryReceived(query_id="q2", text=_planted("query")),
        ToolCallStarted(
            query_id="q2", tool_use_id="t1", name="mcp__x__y", input={"query": _planted("argument")}
        ),
        ToolCallFinished(
            tool_use_id="t1",
            status="error",
            observation=Observation(tool_name="y", tool_use_id="t1", content=result, error=_planted("error")),
        ),
        *(
            ArtifactSaved(
                path=f"downloads/{each.text}.txt", kind="download", size=1, sha256="0" * 64, observer="x"
            )
            for each in SECRETS
            if each.place == "file name"
        ),
        ArtifactSaved(path=path, kind="work_product", size=len(data), sha256="0" * 64, observer="x"),
        MessageFinished(query_id="q2", message_id="m", text=f"{_planted('answer')} {LINK}"),
        QueryFinished(query_id="q2", status="error", error=_planted("error"), text=_planted("answer")),
    )
    start = text.index("41 %")
    passage = _planted("passage")
    check = ReportCheck(
        report=path,
        sha256=hashlib.sha256(data).hexdigest(),
        claims=(
            Claim(
                id=1,
                kind="figure",
                verdict=Verdict.UNTRACED,
                text="41 %",
                start=start,
                end=start + 4,
                sentence=_planted("report"),
                note=passage,
                evidence=(Evidence(source=0, passage=passage),),
            ),
        ),
        sources=tuple(
            Source(
                kind="article", title=each.text, url=each.text if "://" in each.text else "", path=each.text
            )
            for each in SECRETS
            if each.place == "source"
        ),
    )
    target = folder / check_path(path)
    target.parent.mkdir()
    target.write_bytes(msgspec.json.encode(check))
    return folder
