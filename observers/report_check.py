"""Checks every saved report against what the session has read, without a model."""

from __future__ import annotations

from msgspec.structs import replace

from ua_tui.core.claims import files
from ua_tui.core.claims.files import LARGEST_REPORT
from ua_tui.core.events.types import REPORT_CHECK, ReportChecked
from ua_tui.core.observation import ToolCall, ToolResult
from ua_tui.core.storage.workspace import Workspace
from ua_tui.observers.base import ObserverContext, ObserverSpec, Outcome, Saved
from ua_tui.observers.output.written_files import read_written, writes_work_product, written_path


class ReportChecker:
    """Observer of reports that are written under `work_products/`, drafts included.

    It compares with everything that the session has read so far, so that the observers of earlier results have to be
    done first.
    """

    name = REPORT_CHECK
    is_last = True

    def wants(self, call: ToolCall) -> bool:
        """Writes of documents to that folder by the local toolkit or the agent itself."""
        return writes_work_product(call)

    def is_heavy(self, _workspace: Workspace) -> bool:
        """Always: how much a session has read is only known when it was read."""
        return True

    def observe(self, result: ToolResult, context: ObserverContext) -> Outcome:
        """Write `report_checks/<report>.json`, in place of the check of an earlier version."""
        if result.observation.has_error:
            return Outcome(note="the write failed")
        workspace = context.workspace
        path = written_path(result.call, workspace)
        if path is None or files.report_format(path) is None:
            return Outcome(note="not a document that can be checked")
        data = read_written(result, workspace, path, LARGEST_REPORT)
        if len(data) > LARGEST_REPORT:
            return Outcome(note=f"larger than {LARGEST_REPORT >> 20} MiB, so not checked")
        # Slow to import, and most sessions write no report.
        from ua_tui.observers.check.session import check_in_session

        check = check_in_session(data, path, workspace.path, workspace.redactor, context.knowledge)
        event = ReportChecked(
            report=check.report,
            check=files.check_path(check.report),
            sha256=check.sha256,
            counts=check.check.counts(),
            red=len(check.check.red),
            doubtful=sum(claim.is_doubtful for claim in check.claims),
            summary=check.check.summary,
            duration_ms=check.duration_ms,
        )
        earlier = files.load_check(workspace.root, check.report)
        # A check that says the same as the saved one is not saved again.
        is_known = earlier is not None and earlier == replace(
            check, checked_at=earlier.checked_at, duration_ms=earlier.duration_ms
        )
        saved: tuple[Saved, ...] = ()
        if not is_known:
            written = files.save_check(workspace, check)
            saved = (Saved(written.path, self.name, written.size, written.sha256),)
        found, duplicates = len(check.claims), int(is_known)
        return Outcome(saved, found, event.red, duplicates, note=event.summary, checked=event)


OBSERVER = ObserverSpec(lambda _rules: ReportChecker(), order=45)
