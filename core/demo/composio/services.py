"""The remote tools of the stand-in: searches of the invented press, recordings, email, connected accounts and clips."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import msgspec

from ua_tui.core.demo.playbook import Library, Pace, any_match
from ua_tui.core.demo.press import Catalogue
from ua_tui.core.errors import WorkspaceError
from ua_tui.core.json_values import JsonMapping, JsonObject
from ua_tui.core.storage.compression import LARGEST, Unpacked
from ua_tui.core.storage.files import Root

LINK = "https://connect.composio.example/link/"
CONNECTABLE = {"gmail": "Gmail", "slack": "Slack"}
NO_AUTH = {"composio_search": "Composio Search"}


class Account(msgspec.Struct):
    """A connected account; it becomes ACTIVE when its link is opened."""

    id: str
    toolkit: str
    user_id: str
    link_token: str
    created_at: datetime
    status: str = "INITIATED"

    @property
    def redirect_url(self) -> str:
        """The page where a person would give consent."""
        return LINK + self.link_token


class DemoAccounts(msgspec.Struct, eq=False):
    """The accounts of all users; like real ones, they outlive sessions."""

    accounts: dict[str, Account] = {}

    def account(self, user_id: str, toolkit: str) -> Account | None:
        """The newest account of a user in a toolkit."""
        mine = [a for a in self.accounts.values() if a.user_id == user_id and a.toolkit == toolkit]
        return mine[-1] if mine else None

    def initiate(self, user_id: str, toolkit: str) -> Account:
        """Start a connection, or return the pending or active one."""
        account = self.account(user_id, toolkit)
        if account is None:
            account = Account(
                id=f"ca_{secrets.token_urlsafe(9)}",
                toolkit=toolkit,
                user_id=user_id,
                link_token=f"lk_{secrets.token_urlsafe(9)}",
                created_at=datetime.now(UTC),
            )
            self.accounts[account.id] = account
        return account

    def open_link(self, token: str) -> Account | None:
        """Give the consent that a person gives at a link."""
        account = next((a for a in self.accounts.values() if a.link_token == token), None)
        if account is not None:
            account.status = "ACTIVE"
        return account

    def manage(self, user_id: str, arguments: JsonObject) -> JsonObject:
        """Answer COMPOSIO_MANAGE_CONNECTIONS: a link for every toolkit that is not connected yet."""
        results = {each: _described(self.initiate(user_id, each)) for each in arguments["toolkits"]}
        active = sum(result["status"] == "active" for result in results.values())
        initiated = sum(result["status"] == "initiated" for result in results.values())
        return {
            "message": f"{active} active, {initiated} initiated and pending completion",
            "results": results,
            "summary": {
                "total_toolkits": len(results),
                "active_connections": active,
                "initiated_connections": initiated,
                "failed_connections": 0,
            },
        }

    def wait(self, user_id: str, arguments: JsonObject) -> JsonObject:
        """Answer COMPOSIO_WAIT_FOR_CONNECTIONS; raises nothing, and every pending link counts as opened.

        No browser can open a link of the stand-in, so the answer is that the person agreed.
        """
        accounts = [self.initiate(user_id, each) for each in arguments["toolkits"]]
        for account in accounts:
            account.status = "ACTIVE"
        results = {each.toolkit: _described(each) for each in accounts}
        return {"message": "All connections are settled", "results": results}


def _described(account: Account) -> JsonObject:
    if account.status == "ACTIVE":
        return {
            "toolkit": account.toolkit,
            "status": "active",
            "has_active_connection": True,
            "connected_account_id": account.id,
            "current_user_info": {"email": "you@mail.example"},
        }
    name = CONNECTABLE[account.toolkit]
    return {
        "toolkit": account.toolkit,
        "status": "initiated",
        "redirect_url": account.redirect_url,
        "instruction": (
            f"Action required: share this link with the user to connect {name}: {account.redirect_url}\n\n"
            f"- DO NOT execute any {account.toolkit} tools until an Active connection is confirmed.\n"
            f"- Render as clickable link: [Connect {account.toolkit}]({account.redirect_url}).\n"
            "- The above link expires in 10 minutes.\n"
        ),
        "was_reinitiated": False,
    }


SEARCH_SECONDS = 0.9
CLIP = "files/clip.mp4.zst"
CLIP_FOLDER = "downloads"
CLIP_SUFFIX = ".mp4"


class DemoRemoteSession(msgspec.Struct):
    """A tool-router session; `word` is the workflow id the real service asks the model to repeat."""

    id: str
    user_id: str
    settings: JsonMapping
    word: str = msgspec.field(
        default_factory=lambda: secrets.choice(("oak", "birch", "cedar", "elm", "rowan", "willow"))
    )


class ToolAnswer(msgspec.Struct, frozen=True):
    """The answer of a remote tool: an object or plain text."""

    content: JsonObject | str
    failed: bool = False

    @property
    def text(self) -> str:
        """The answer as the text of an MCP result."""
        if isinstance(self.content, str):
            return self.content
        return json.dumps(self.content, ensure_ascii=False, separators=(",", ":"))


class ToolFailed(Exception):
    """A remote tool refused its arguments or has no connection; the message is for the model."""


class Services(msgspec.Struct, eq=False):
    """All remote tools over one catalogue; `connections` holds the accounts of their users."""

    library: Library
    catalogue: Catalogue
    pace: Pace
    connections: DemoAccounts = msgspec.field(default_factory=DemoAccounts)

    async def execute(self, session: DemoRemoteSession, slug: str, arguments: JsonObject) -> JsonObject:
        """Run one tool by its slug; raises ToolFailed."""
        match slug:
            case "COMPOSIO_SEARCH_NEWS":
                return await self._search_news(arguments)
            case "COMPOSIO_SEARCH_WEB":
                return await self._search_web(arguments)
            case "GMAIL_SEND_EMAIL":
                return await self._send_mail(session)
        raise ToolFailed(f"Tool {slug} not found")

    async def call(self, session: DemoRemoteSession, name: str, arguments: JsonObject) -> ToolAnswer:
        """Run one of the tools the MCP server lists."""
        match name:
            case "COMPOSIO_MULTI_EXECUTE_TOOL":
                return ToolAnswer(await self._multi_execute(session, arguments))
            case "COMPOSIO_MANAGE_CONNECTIONS":
                return ToolAnswer(
                    self._envelope(session, self.connections.manage(session.user_id, arguments))
                )
            case "COMPOSIO_WAIT_FOR_CONNECTIONS":
                return ToolAnswer(self._envelope(session, self.connections.wait(session.user_id, arguments)))
            case "COMPOSIO_REMOTE_WORKBENCH" | "COMPOSIO_REMOTE_BASH_TOOL":
                return ToolAnswer(await self._recorded(session, name, arguments))
            case "trim_video":
                return await self._trim_video(arguments)
            case _:
                return ToolAnswer(f"No script of the demo calls {name}", failed=True)

    def _envelope(self, session: DemoRemoteSession, data: JsonObject, error: str | None = None) -> JsonObject:
        """The outer shape of every answer."""
        instructions = (
            f'REQUIRED: Pass session_id "{session.word}" in ALL subsequent meta tool calls for this workflow.'
        )
        data = {**data, "session": {"id": session.word, "instructions": instructions}}
        return {
            "successful": error is None,
            "data": data,
            "error": error,
            "log_id": f"log_{secrets.token_urlsafe(9)}",
        }

    async def _multi_execute(self, session: DemoRemoteSession, arguments: JsonObject) -> JsonObject:
        results: list[JsonObject] = []
        failed = 0
        for index, item in enumerate(arguments["tools"]):
            slug = item["tool_slug"]
            try:
                data = await self.execute(session, slug, item["arguments"])
            except ToolFailed as error:
                failed += 1
                results.append({"error": str(error), "tool_slug": slug, "index": index})
            else:
                results.append(
                    {"response": {"successful": True, "data": data}, "tool_slug": slug, "index": index}
                )
        counts = {"total_count": len(results), "success_count": len(results) - failed, "error_count": failed}
        problem = f"{failed} out of {len(results)} tools failed" if failed else None
        return self._envelope(session, {"results": results, **counts}, problem)

    async def _search_news(self, arguments: JsonObject) -> JsonObject:
        await self.pace.wait(SEARCH_SECONDS)
        found = self.catalogue.search("news", arguments["query"], arguments.get("limit", 25))
        data: JsonObject = {
            "has_results": bool(found),
            "news_results": [
                {
                    "date": article.age,
                    "link": article.url,
                    "published_at": article.published(self.catalogue.now).strftime("%Y-%m-%d %H:%M:%S UTC"),
                    "snippet": article.lead,
                    "source": article.source,
                    "title": article.title,
                }
                for article in found
            ],
        }
        if arguments.get("include_excerpts"):
            data["page_excerpts"] = [
                {
                    "page": article.url,
                    "excerpt": "\n\n".join(self.catalogue.body(article))[:4_000],
                    "related_titles": [other.title for other in self.catalogue.related(article)],
                }
                for article in found
            ]
        return data

    async def _search_web(self, arguments: JsonObject) -> JsonObject:
        query = arguments["query"]
        await self.pace.wait(SEARCH_SECONDS)
        if (recorded := self._match("COMPOSIO_SEARCH_WEB", query)) is not None:
            return dict(recorded)
        found = self.catalogue.search("web", query, 10)
        leads = " ".join(article.lead for article in found[:2])
        return {
            "answer": leads,
            "citations": [
                {
                    "author": article.author,
                    "id": article.url,
                    "publishedDate": article.published(self.catalogue.now).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                    "snippet": article.lead,
                    "source": article.source,
                    "title": article.title,
                    "url": article.url,
                }
                for article in found
            ],
        }

    async def _send_mail(self, session: DemoRemoteSession) -> JsonObject:
        account = self.connections.account(session.user_id, "gmail")
        if account is None or account.status != "ACTIVE":
            raise ToolFailed("No active connection found for toolkit(s) 'gmail' in this session")
        await self.pace.wait(SEARCH_SECONDS)
        message_id = secrets.token_hex(8)
        return {"id": message_id, "labelIds": ["SENT"], "threadId": message_id}

    async def _recorded(self, session: DemoRemoteSession, slug: str, arguments: JsonObject) -> JsonObject:
        found = self._match(slug, json.dumps(arguments, ensure_ascii=False))
        if found is None:
            note = "The demo's sandbox runs nothing: it only plays what was recorded for its scripts.\n"
            found = {"results": "", "stdout": "", "stderr": note, "error": "nothing recorded for this code"}
        await self.pace.wait(SEARCH_SECONDS * 2)
        error = str(found.get("error") or "") or None
        return self._envelope(session, {**found, "sandbox_id_suffix": "k7qd"}, error)

    def _match(self, slug: str, text: str) -> JsonMapping | None:
        for recording in self.library.recordings(slug):
            if any_match((recording.match,), text):
                return recording.result
        return None

    async def _trim_video(self, arguments: JsonObject) -> ToolAnswer:
        """Write the recorded clip where the caller asks, if that is an .mp4 in a session's folder for downloads."""
        path = Path(str(arguments.get("output_path", "")))
        allowed = path.is_absolute() and path.suffix == CLIP_SUFFIX and path.parent.name == CLIP_FOLDER
        if not allowed or not path.parent.is_dir():
            return ToolAnswer(
                f"output_path must be a {CLIP_SUFFIX} file in the {CLIP_FOLDER} folder", failed=True
            )
        await self.pace.wait(SEARCH_SECONDS * 2)
        packed = files("ua_tui.core.demo.composio").joinpath(CLIP).read_bytes()
        data = Unpacked(BytesIO(packed)).read(LARGEST)
        try:
            written = Root(path.parent).write_new(path.name, data)
        except WorkspaceError as error:
            return ToolAnswer(f"The clip could not be written: {error}", failed=True)
        return ToolAnswer(f"Video trimmed successfully to {path.with_name(written.path)}")
