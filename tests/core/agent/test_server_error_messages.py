"""What the command line says of a server that failed, and what a person is told instead."""

from __future__ import annotations

from tests.core.agent.test_servers import reporting
from tests.core.cases import cases_of
from ua_tui.core.agent.mcp.error_messages import describe_call_error, describe_server_error, problem_in
from ua_tui.core.redaction.redactor import Redactor

CASES = cases_of(__file__)

MINTED = "Server rejected the Authorization header minted by the configured headersHelper"


def test_an_error_names_what_happened_before_the_remedy() -> None:
    for error, reported, remedy in CASES["an_error_names_what_happened_before_the_remedy"]:
        front, _, back = describe_server_error(error).partition("): " if reported.endswith(")") else ": ")
        assert front.startswith(reported.removesuffix(")"))
        assert remedy in back
        assert "access the url" not in describe_server_error(error)
        assert problem_in(describe_server_error(error)).startswith(reported)
    assert describe_server_error("nobody knows this: {0}") == "nobody knows this: {0}"


def test_of_a_secret_in_a_long_error_nothing_is_left_where_it_is_cut() -> None:
    secret = "Zx9-canary-8c1f-QzX27!"
    error = "Error POSTing to endpoint: " + "x" * 150 + secret
    states, reports = reporting(redactor=Redactor([secret]))
    states.report_update([{"name": "notes", "status": "failed", "error": error}])
    (report,) = reports
    assert "it answers with an error" in str(report)
    assert secret[:6] not in str(report)


def test_a_server_that_needs_a_login_says_so_and_stays_so_where_a_list_has_no_errors() -> None:
    states, reports = reporting()
    needs = "MCP server cat needs a login: run `ua-tui connect cat`, or press l in /connections."
    states.update(
        [{"name": "cat", "status": "failed", "error": f"{MINTED} (HTTP 401). Check that the helper"}]
    )
    states.report()
    assert [(each.status, each.error) for each in reports.pop().servers] == [("needs-auth", needs)]
    # The list at the beginning of a query.
    states.report_update([{"name": "cat", "status": "failed"}])
    assert reports == []
    states.update([{"name": "cat", "status": "failed", "error": "ECONNREFUSED: away"}])
    states.report()
    assert reports.pop().servers[0].status == "failed"
    # As the command line says it after a call that was refused.
    states.update([{"name": "cat", "status": "needs-auth"}])
    states.report()
    (server,) = reports.pop().servers
    assert (server.status, server.error) == ("needs-auth", needs)
    states.update([{"name": "cat", "status": "connected"}])
    states.report()
    # It is no fault that has to be remembered.
    assert "login" not in str(reports.pop().servers[0].last_error)
    refused = 'MCP server "cat" rejected the credential from its headersHelper (check the helper)'
    assert describe_call_error(refused, "cat") == needs
