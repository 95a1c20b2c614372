"""Reports files downloaded from the remote sandbox as artifacts of the session."""

from __future__ import annotations

import hashlib

from ua_tui.core.errors import ObserverError
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.text import clean_line
from ua_tui.observers.base import ObserverContext, ObserverSpec, Outcome, Saved, texts_of
from ua_tui.observers.decoding.decode import decode_texts
from ua_tui.observers.search.tool_names import short_name

FOLDER = "downloads"


class Downloads:
    """Observer of the local toolkit's downloads from the remote sandbox."""

    name = "downloads"

    def wants(self, call: ToolCall) -> bool:
        """The toolkit's downloads."""
        return short_name(call.name) == "workbench_download"

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Report the file that the toolkit wrote, if it exists with the expected content."""
        if result.observation.has_error:
            return Outcome(note="the download failed")
        answer = next(iter(decode_texts(texts_of(result, context.workspace)).values), None)
        match answer:
            case {"status": "saved", "path": str(path), "size": int(size), "sha256": str(digest)}:
                pass
            case {"status": "left_remote"}:
                return Outcome(note="a large file, left in the remote workbench")
            case _:
                return Outcome(note="the answer names no file")
        if not path.startswith(f"{FOLDER}/"):
            return Outcome(rejected=1, note=f"not a file under {FOLDER}/")
        with context.workspace.root.opened(path) as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != digest:
            raise ObserverError(
                f"{clean_line(path, 120)} is not what was downloaded: it has been changed since, so download it again"
            )
        return Outcome((Saved(path, "download", size, digest),), items=1)


OBSERVER = ObserverSpec(lambda _rules: Downloads(), order=60)
