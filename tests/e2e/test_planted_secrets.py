"""Secrets, planted wherever text comes from, are in no record, no export, no process list and no output."""

from __future__ import annotations

import base64
import hashlib
import json
import string
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from tests.collector import Collector, collector
from tests.e2e.running import model_environment, run
from tests.e2e.scripted_model import Block, Text, Thinking, Use, scripted_model
from tests.waiting import wait_until
from ua_tui.core.knowledge.status import read_status
from ua_tui.core.settings.places import Places
from ua_tui.core.trust_question import read_folder

SERVER = Path(__file__).with_name("leaky_server.py")
PLACES = ("query", "end of the title", "thinking", "answer", "argument", "written file", "result",
          "search result", "large result", "page", "error", "standard error")  # fmt: skip
ORIGINS = ("environment", "settings", "token", "header", "address", "name", "option", "service")
SYNTAXES = {
    "name": ("password: {}", "AppPassword = {}", "api_token: '{}'", "SOMEAPIKEY={}", "aws_secret_access_key = {}",
             "PrivateKey = {}", "machine a.example login bob password {}", "Cookie: sessionid={}", "pwd={}",
             "Set-Cookie: auth={}", "AccountKey={}==", "password: |\n  {}\n"),
    "option": ("--password {}", "curl -u bob:{}", "mysql -p{} db", "sshpass -p {} ssh h", "redis-cli -a {} ping",
               "--client-secret={}", "CREATE USER bob IDENTIFIED BY '{}'", "ldapsearch -w {} -b x",
               "--api-token {}", "-H 'X-Vault-Token: {}'", "ENV DB_PASSWORD {}", "docker login -p {} r.example"),
    "service": ("whsec_{}", "hvs.{}", "tvly-{}", "dckr_pat_{}", "xapp-1-{}", "https://hooks.slack.com/services/{}",
                "npm_{}abcd", "lin_api_{}", "gldt-{}", "pcsk_abc12_{}12345678", "tskey-auth-{}", "pscale_pw_{}"),
}  # fmt: skip
CHUNK = 8
"""So many characters of a secret are a leak."""
LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Planted:
    """A secret: where it comes from, where it is written, and the text that holds it there."""

    place: str
    origin: str
    core: str

    @property
    def text(self) -> str:
        """The secret as it is written in its place."""
        match self.origin:
            case "token":
                shapes = ("x_ghp_{}", "see sk-ant-api03-{}", '"xsk-ant-{}"', "id9github_pat_{}", "glpat-{}")
                return shapes[PLACES.index(self.place) % len(shapes)].format(self.core)
            case "name" | "option" | "service":
                return SYNTAXES[self.origin][PLACES.index(self.place)].format(self.core)
            case "header":
                return f"Authorization: Bearer {self.core}"
            case "password in Base64":
                return f"Authorization: Basic {self.core}"
            case "address":
                addresses = (
                    "https://app.example/callback?code={0}&state=s7{0}",
                    "https://user:{}@db.example/x",
                    "https://a.example/?q=1&api_key={}#top",
                )
                return addresses[PLACES.index(self.place) % len(addresses)].format(self.core)
            case _:
                return self.core

    @property
    def chunks(self) -> tuple[str, str]:
        """What may appear nowhere: its beginning and its end."""
        return self.core[:CHUNK], self.core[-CHUNK:]


def core(number: int) -> str:
    digest = hashlib.sha512(f"secret {number}".encode()).digest()
    return "K7z" + "".join(LETTERS[each % len(LETTERS)] for each in digest[:29])


SECRETS = [
    Planted(place, origin, core(number))
    for number, (place, origin) in enumerate((place, origin) for place in PLACES for origin in ORIGINS)
]
OF_FOLDER = Planted("result", ".env of the folder", core(160))
OF_SERVER = Planted("result", "server", core(161))
PASSWORD = Planted("result", "password in Base64", base64.b64encode(core(162).encode()).decode())
SECRETS += [OF_FOLDER, OF_SERVER, PASSWORD]


def planted(place: str) -> str:
    return "; ".join(each.text for each in SECRETS if each.place == place)


def query() -> str:
    # The title is cut within the secret at its end.
    title = next(each for each in SECRETS if (each.place, each.origin) == ("end of the title", "environment"))
    others = planted("end of the title").removeprefix(title.text)
    return "Please find it. ".ljust(85, "-") + f" {title.text}{others}; {planted('query')}"


def texts() -> dict[str, str]:
    news = [
        {"title": f"News {n}", "link": f"https://news.example/{n}", "snippet": text, "date": "1 day ago"}
        for n, text in enumerate(planted("search result").split("; "))
    ]
    page = f"<html><body><p title='x'>{planted('page')}</p></body></html>"
    return {
        "result": planted("result"),
        "search result": json.dumps({"news_results": news}),
        "large result": "lorem ipsum " * 150_000 + planted("large result") + " dolor" * 50_000,
        "page": page,
        "error": "it failed: " + "x" * 250 + planted("error"),
        "standard error": planted("standard error"),
    }


def script(may_end: Callable[[], object]) -> Callable[[dict[str, Any], int], Sequence[Block]]:
    find = "mcp__leaky__find"
    argument = [each.text for each in SECRETS if each.place == "argument"]
    written = {"path": "work_products/notes.md", "content": "# Notes\n" + planted("written file")}
    calls = [
        Use(find, {"place": "result", "note": "; ".join(argument[:3]), "options": {"headers": argument[3:]}}),
        Use(find, {"place": "search result"}),
        Use(find, {"place": "large result"}),
        Use(find, {"place": "page"}),
        Use(find, {"place": "error"}),
        Use("mcp__local_toolkit__write_local_file", written),
        Use("mcp__local_toolkit__write_local_file", {"path": f"{argument[0]}.md", "content": "x"}),
        Use("mcp__leaky__variables", {}),
    ]

    def reply(_body: dict[str, Any], results: int) -> Sequence[Block]:
        if results < len(calls):
            return [Thinking(planted("thinking")), Text(f"I call a tool, {results}. "), calls[results]]
        wait_until(may_end)
        return [Text("It is this:  " + planted("answer"))]

    return reply


@contextmanager
def watched_processes(found: Counter[str]) -> Iterator[None]:
    """Count the secrets that appear on any command line in the meantime."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):
                    count(path.read_bytes().decode("utf-8", "replace"), "process list", found)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def count(text: str, where: str, found: Counter[str]) -> None:
    for each in SECRETS:
        if any(chunk in text for chunk in each.chunks):
            found[f"{each.place}, {each.origin}: {where}"] += 1


def readable(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data.decode("utf-8", "replace").replace("\\/", "/")


def count_files(base: Path, found: Counter[str]) -> list[str]:
    seen = []
    for path in sorted(base.rglob("*")):
        relative = path.relative_to(base)
        # The conversation as the model saw it, by which it is resumed: only its user can enter the folder.
        if "projects" in relative.parts and "agent" in relative.parts:
            continue
        count(str(relative), f"name of {relative}", found)
        if path.is_file() and not path.is_symlink() and relative.parts[0] != "given":
            seen.append(str(relative))
            count(readable(path), str(relative), found)
    return seen


def exported(received: Collector) -> str:
    return "\n".join([*(f"{span.name} {span.attributes}" for span in received.spans), str(received.metrics)])


def test_planted_secrets_are_found_nowhere(tmp_path: Path) -> None:
    assert len(SECRETS) == len({each.core for each in SECRETS}) == 99
    base, given = tmp_path / "base", tmp_path / "base" / "given"
    given.mkdir(parents=True)
    (given / "texts.json").write_text(json.dumps(texts()))
    known = {
        origin: {
            f"PLANTED_{number}_TOKEN": each.core
            for number, each in enumerate(each for each in SECRETS if each.origin == origin)
        }
        for origin in ("environment", "settings")
    }
    server = [
        "[mcp_servers.leaky]",
        f"command = {json.dumps(sys.executable)}",
        f"args = {json.dumps([str(SERVER), str(given / 'texts.json')])}",
        'acts = "here"',
        "[mcp_servers.leaky.env]",
        *(f"{name} = {json.dumps(value)}" for name, value in known["settings"].items()),
        "[mcp_servers.remote]",
        f'url = "http://127.0.0.1:9/mcp?api_key={OF_SERVER.core}"',
        f'headers = {{ Authorization = "Basic {PASSWORD.core}" }}',
    ]
    config = base / ".config" / "ua-tui"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("\n".join(server) + "\n")
    (base / ".env").write_text(f"ANTHROPIC_AUTH_TOKEN={OF_FOLDER.core}\n")
    state = base / ".local" / "state" / "ua-tui"
    places = Places(environ={}, cwd=base, home=base, config_dir=config, state=state)
    read_folder(places).store("trusted", state)
    (base / "tmp").mkdir()
    found: Counter[str] = Counter()
    with (
        collector() as received,
        scripted_model(script(lambda: received.spans)) as model,
        watched_processes(found),
    ):
        settings = {"TMPDIR": str(base / "tmp"), "OTEL_EXPORTER_OTLP_ENDPOINT": received.url}
        settings["UA_PUBLIC_SEARCHES"] = "mcp__leaky__find"
        env = model_environment(base, model, **settings, **known["environment"])
        done = run(base, "--plain", "--allow", "*", "--allow", "mcp__leaky__*", env=env, stdin=query() + "\n")
    assert done.code == 0, done.stderr
    (config / "config.toml").unlink()
    (base / ".env").unlink()
    count(done.stdout, "standard output", found)
    count(done.stderr, "standard error of the program", found)
    count(exported(received), "export", found)
    seen = count_files(base, found)
    assert not found, "\n".join(f"{key}: {times} times" for key, times in sorted(found.items()))
    # What was searched has what happened.
    (journal,) = [each for each in seen if each.endswith("journal.jsonl")]
    text = readable(base / journal)
    assert text.count("[redacted]") > 30
    begun = json.loads(text.splitlines()[0])
    assert (begun["folder_trust"], begun["folder_files"]) == ("trusted", [".env"])
    assert "masked in the file" in text
    assert "choose another name" in text
    assert "it failed: xxx" in text
    for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_MESSAGING_TOKEN"):
        assert name not in text
    for name in ("run.log", "trace.json", "transcript.md", "summary.txt", "spans.jsonl", "knowledge.db",
                 "tool_results", "search_results", "SAVED_REPORTS"):  # fmt: skip
        assert any(name in each for each in seen)
    assert received.spans
    assert received.metrics
    # The index of the knowledge base has words in lower case, and it has what was found.
    (database,) = [each for each in seen if each.endswith("knowledge.db")]
    indexed = (base / database).read_bytes().lower()
    assert not [each for each in SECRETS if each.core[:CHUNK].lower().encode() in indexed]
    assert {"query", "answer", "search_row", "report"} <= {*read_status(base / database).documents}
    # The command line leaves nothing but its state, which only its user can enter.
    assert not any(".cache" in each for each in seen)
    assert not list((base / "tmp").iterdir())
    (home,) = base.glob(".local/state/ua-tui/agent")
    assert home.stat().st_mode & 0o777 == 0o700
