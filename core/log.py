"""The program's own logger: what the program itself logs is logged with `log`."""

from __future__ import annotations

import logging


def _name_by_module(record: logging.LogRecord) -> bool:
    # A record says which module logs it, as if each had a logger of its own.
    _, _, path = record.pathname.rpartition("/ua_tui/")
    record.name = f"ua_tui.{path.removesuffix('.py').replace('/', '.')}"
    return True


log = logging.getLogger("ua_tui")
"""The program's logger. Libraries have their own, and so do plug-ins."""
log.addFilter(_name_by_module)
