"""An MCP server over stdio whose tools ask the person: for a form, and to open a page."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Resolve
from mcp.types import ElicitRequest, ElicitRequestURLParams, InputRequiredResult, ToolAnnotations
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


if __name__ == "__main__":
    server.run()
