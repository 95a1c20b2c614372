"""An MCP server whose tools ask the person: for a form, for one that cannot be shown, and to open a page.

`asking_server.py` speaks the newest protocol over stdio; with `MCP_PROTOCOL_NEGOTIATION=legacy` in the environment of
the agent, `ask_in_call` works, too, in which the server waits for the answer in the middle of a call.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    InputRequiredResult,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

server = MCPServer[None]("desk", log_level="ERROR")
READS = ToolAnnotations(read_only_hint=True)
"""Tools that read only are called at once."""
PAGE = "https://pay.example.com/invoices/4711?key=8f2c"


class Booking(BaseModel):
    """What a booking needs."""

    city: str = Field(title="City", min_length=2, max_length=40, description="Where you want to stay.")
    nights: int = Field(3, ge=1, le=9, title="Nights")
    breakfast: bool = Field(default=False, title="Breakfast")
    room: Literal["single", "double"] = Field("single", title="Room")
    extras: list[Literal["sauna", "bicycle", "late check-out"]] = Field(default_factory=list, title="Extras")
    email: str | None = Field(None, title="E-mail", json_schema_extra={"format": "email"})
    password: str | None = Field(None, title="Password")


async def book(_ctx: Context[Any]) -> Elicit[Booking]:
    """Ask for the booking."""
    return Elicit("Which room may I book?", Booking)


@server.tool(structured_output=False, annotations=READS)
async def booking(answer: Annotated[ElicitationResult[Booking], Resolve(book)]) -> str:
    """Book a room."""
    return f"answered: {answer!r}"


@server.tool(structured_output=False, annotations=READS)
async def pay(ctx: Context[Any]) -> str | InputRequiredResult:
    """Have an invoice paid on a page."""
    if ctx.input_responses:
        return f"answered: {ctx.input_responses!r}"
    page = ElicitRequestURLParams(message="Pay the invoice, please.", url=PAGE, elicitation_id="e1")
    return InputRequiredResult(input_requests={"page": ElicitRequest(params=page)})


@server.tool(structured_output=False, annotations=READS)
async def crowd(ctx: Context[Any]) -> str | InputRequiredResult:
    """Ask for more than a form can have."""
    if ctx.input_responses:
        return f"answered: {ctx.input_responses!r}"
    fields: Any = {f"guest{number}": {"type": "string"} for number in range(60)}
    form = ElicitRequestFormParams(
        message="Who comes?", requested_schema={"type": "object", "properties": fields}
    )
    return InputRequiredResult(input_requests={"form": ElicitRequest(params=form)})


@server.tool(structured_output=False, annotations=READS)
async def ask_in_call(ctx: Context[Any]) -> str:
    """Ask in the middle of a call."""
    return f"answered: {await ctx.elicit('Which room?', Booking)!r}"


if __name__ == "__main__":
    server.run()
