"""What the application returns when it ends, and so what is started next."""

from __future__ import annotations

from pathlib import Path

DEMO = "demo"
"""The user asked for the demo."""
SET_UP = "set up"
"""The session is to be resumed with the application's settings, which were changed."""
_RESUME = "resume "


def resume_result(folder: Path) -> str:
    """Return the result that asks for the session in `folder` to be resumed."""
    return f"{_RESUME}{folder}"


def resumed_folder(result: object) -> Path | None:
    """Return the folder of the session that `result` asks to resume; None if it asks for none."""
    if not isinstance(result, str) or not result.startswith(_RESUME):
        return None
    return Path(result.removeprefix(_RESUME))
