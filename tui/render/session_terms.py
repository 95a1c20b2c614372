"""What a session goes on with, in words: what answers, what it falls back on, and what the session may cost."""

from __future__ import annotations

from core.events.types import ModelChosen, SessionStarted
from core.events.units import spent_of
from core.text import clean_line

__all__ = ["answering", "effort_of", "fallback_of", "goes_on_with"]

_LONGEST = 100


def answering(event: ModelChosen | SessionStarted) -> str:
    """Say what answers, how hard it thinks, and what to fall back on."""
    parts = [f"{_name(event.model)} answers"]
    if event.effort:
        parts.append(f"with the effort {_name(event.effort)}")
    if event.fallback_model:
        parts.append(f"and {_name(event.fallback_model)} when that is overloaded")
    return ", ".join(parts)


def goes_on_with(event: SessionStarted) -> str:
    """Say what holds from where a session goes on, and what of its own gives way to it; empty when nothing is set."""
    holds = []
    if event.model or event.effort or event.fallback_model or set(event.overruled) - {"max_cost_usd"}:
        holds.append(answering(event))
    if event.max_cost_usd is not None:
        holds.append(f"it may cost {_money(event.max_cost_usd)} in all")
    elif "max_cost_usd" in event.overruled:
        holds.append("it may cost what it takes")
    if not holds:
        return ""
    told = "; ".join(holds) + "."
    if event.overruled:
        before = ", ".join(_before(name, value) for name, value in event.overruled.items())
        told += f" That stands instead of what was chosen in it: {before}."
    return told


def effort_of(effort: str | None) -> str:
    """Name how hard the model thinks."""
    return clean_line(effort, 20) if effort else "as the model chooses"


def fallback_of(fallback: str | None) -> str:
    """Name what answers when the model is overloaded."""
    return clean_line(fallback, _LONGEST) if fallback else "none"


def _before(name: str, value: str | float | None) -> str:
    match name, value:
        case "max_cost_usd", int() | float():
            return _money(value)
        case "effort", _:
            return f"the effort {effort_of(None if value is None else str(value))}"
        case "fallback_model", _:
            return f"{fallback_of(None if value is None else str(value))} to fall back on"
        case _:
            return _name(None if value is None else str(value))


def _money(amount: float) -> str:
    return spent_of(0.0, amount)[1]


def _name(model: str | None) -> str:
    return clean_line(model, _LONGEST) if model else "the model that the agent chooses"
