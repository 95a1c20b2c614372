"""What the command line says of a server that failed, and what a person is told instead."""

from __future__ import annotations

from core.agent.mcp.error_messages import describe_call_error, describe_server_error, problem_in
from core.agent.mcp.states import ServerStates
from core.redaction.redactor import Redactor

MINTED = "Server rejected the Authorization header minted by the configured headersHelper"


def test_an_error_names_what_happened_before_the_remedy() -> None:
    for error, reported, remedy in (
        ("ECONNREFUSED: Unable to connect. Is the computer able to access the url?",
         "it cannot be reached (ECONNREFUSED)", "check that it runs"),
        ("SSE error: ENOTFOUND: getaddrinfo", "its host name is unknown (ENOTFOUND)", "network"),
        ("Unexpected content type: text/html; charset=utf-8", "it answers with a web page", "check its address"),
        ('SSE error: Invalid content type, expected "text/event-stream"',
         "it answers, but not as an MCP server does", "check its address"),
        ('Error POSTing to endpoint: {"error": {"message": "words {0} of it"}}',
         'it answers with an error ({"error": {"message": "words {0} of it"}})', "examine the server"),
        ("Error POSTing to endpoint (HTTP 502): bad", "it is out of order (HTTP 502)", "try again"),
        ("SSE error: Non-200 status code (404)", "it answers with HTTP 404", "check its address"),
        ("SSE error: Non-200 status code (401)", "it refused the key (HTTP 401)", "correct the key"),
        ('MCP server "cat" connection timed out after 30000ms', "it did not answer within 30 s", "MCP server"),
        ("Error POSTing to endpoint (HTTP 429): no", "it gets too many requests (HTTP 429)", "try again"),
        ("MCP endpoint not found at http://a.example. Check the URL in your MCP config.",
         "it answers with HTTP 404", "check its address"),
        ("self signed certificate", "its certificate is not accepted (self signed certificate)",
         "NODE_EXTRA_CA_CERTS"),
        ("Error POSTing to endpoint (HTTP 404): no certificate of that name", "it answers with HTTP 404", "address"),
        ("Server stderr: Error: the certificate has expired", "it ended (Error: the certificate has expired)",
         "`ua-tui doctor`"),
        ("EPROTO: The TLS handshake failed.", "it does not speak TLS (EPROTO)", "http://"),
        ("Server's protocol version is not supported: 1999-01-01",
         "it speaks the version 1999-01-01 of MCP", "update the server"),
        ('[\n  {\n    "code": "invalid_union",\n    "errors": []', "it answers, but not as an MCP server does",
         "check its address"),
        ("JSON Parse error: Expected ':'", "it answers, but not as an MCP server does", "check its address"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)", "it does not speak TLS", "http://"),
        ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)",
         "its certificate is not accepted (self-signed certificate)", "NODE_EXTRA_CA_CERTS"),
        ("[Errno -2] Name or service not known", "its host name is unknown (Name or service not known)", "network"),
        ("Unsupported protocol version from the server: 1999-01-01", "it speaks the version 1999-01-01", "update"),
        ("Failed to parse JSON response: 11 validation errors", "it answers, but not as an MCP server does", "address"),
        ("Server stderr: Error: no database", "it ended (Error: no database)", "`ua-tui doctor`"),
        (f"{MINTED} (HTTP 403). Check that the helper", "it refused access (HTTP 403)", "your account"),
        ("Connection closed", "it ended, or closed the connection", "`ua-tui doctor`"),
        ("TypeError dialing http://REDACTED:x@a.example/", "its address cannot be used (TypeError)", "check"),
    ):  # fmt: skip
        front, _, back = describe_server_error(error).partition("): " if reported.endswith(")") else ": ")
        assert front.startswith(reported.removesuffix(")"))
        assert remedy in back
        assert "access the url" not in describe_server_error(error)
        assert problem_in(describe_server_error(error)).startswith(reported)
    assert describe_server_error("nobody knows this: {0}") == "nobody knows this: {0}"


def test_of_a_secret_in_a_long_error_nothing_is_left_where_it_is_cut() -> None:
    secret = "Zx9-canary-8c1f-QzX27!"
    error = "Error POSTing to endpoint: " + "x" * 150 + secret
    states = ServerStates(Redactor([secret]))
    (report,) = states.report_update([{"name": "notes", "status": "failed", "error": error}])
    assert "it answers with an error" in str(report)
    assert secret[:6] not in str(report)


def test_a_server_that_needs_a_login_says_so_and_stays_so_where_a_list_has_no_errors() -> None:
    states = ServerStates()
    needs = "MCP server cat needs a login: run `ua-tui connect cat`, or press l in /connections."
    states.update(
        [{"name": "cat", "status": "failed", "error": f"{MINTED} (HTTP 401). Check that the helper"}]
    )
    (status,) = states.report()
    assert [(each.status, each.error) for each in status.servers] == [("needs-auth", needs)]
    # The list at the beginning of a query.
    assert list(states.report_update([{"name": "cat", "status": "failed"}])) == []
    states.update([{"name": "cat", "status": "failed", "error": "ECONNREFUSED: away"}])
    (status,) = states.report()
    assert status.servers[0].status == "failed"
    # As the command line says it after a call that was refused.
    states.update([{"name": "cat", "status": "needs-auth"}])
    (status,) = states.report()
    assert (status.servers[0].status, status.servers[0].error) == ("needs-auth", needs)
    states.update([{"name": "cat", "status": "connected"}])
    (status,) = states.report()
    # It is no fault that has to be remembered.
    assert "login" not in str(status.servers[0].last_error)
    refused = 'MCP server "cat" rejected the credential from its headersHelper (check the helper)'
    assert describe_call_error(refused) == needs
