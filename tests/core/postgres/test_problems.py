from __future__ import annotations

import psycopg
import pytest
from psycopg import errors
from psycopg_pool import PoolTimeout

from tests.core.cases import cases_of
from tests.postgres_server import Cluster, Database
from ua_tui.core.errors import TeamError
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import connect
from ua_tui.core.postgres.problems import describe, explain, is_temporary

CASES = cases_of(__file__)

ADDRESS = Address.parse("postgresql://db/desk")
STATES = sorted({each.sqlstate for each in vars(errors)["_sqlcodes"].values()})


def of_class(state: str) -> psycopg.Error:
    return errors.lookup(state)("Zustand der Datenbank")


def test_every_state_is_described_in_a_line() -> None:
    assert len(STATES) > 200
    for state in STATES:
        text = str(explain(of_class(state), ADDRESS))
        assert text.startswith("the team's database desk on db cannot be used, because ")
        assert "\n" not in text


@pytest.mark.parametrize(("state", "code", "temporary"), CASES["a_state_says_what_to_do_in_any_language"])
def test_a_state_says_what_to_do_in_any_language(state: str, code: str, temporary: bool) -> None:
    error = of_class(state)
    assert describe(error).code == (f"postgres.{code}" if code else "")
    assert is_temporary(error) is temporary
    assert is_temporary(explain(error, ADDRESS)) is temporary


def test_a_refusal_is_understood_in_english() -> None:
    for message, code in CASES["refusals"].items():
        # A name with the words of another message changes nothing.
        filled = message.replace('"%s"', '"the database system is"').replace("%s", "no encryption")
        error = psycopg.OperationalError(f"connection failed: FATAL:  {filled}")
        assert describe(error).code == f"postgres.{code}"


def test_a_refusal_in_another_language_is_shown_as_it_is() -> None:
    error = psycopg.OperationalError("FATAL:  Passwort-Authentifizierung fehlgeschlagen")
    assert describe(error) == ("FATAL:  Passwort-Authentifizierung fehlgeschlagen", "", "")


@pytest.mark.parametrize(("message", "code", "temporary"), CASES["what_the_client_says_is_understood"])
def test_what_the_client_says_is_understood(message: str, code: str, temporary: bool) -> None:
    error = psycopg.OperationalError(message)
    assert describe(error).code == f"postgres.{code}"
    assert is_temporary(error) is temporary


def test_a_pool_without_a_connection_is_temporary() -> None:
    error = PoolTimeout("couldn't get a connection after 10.00 sec")
    assert is_temporary(error)
    assert describe(error).code == "postgres.pool_full"


def test_an_unknown_message_is_shown_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "Tr0ub4dor&3")
    error = psycopg.OperationalError("Fehler\n\x1b[2Jbei Tr0ub4dor&3")
    assert describe(error).problem == "Fehler \ufffd[2Jbei [redacted]"


def test_the_rows_of_a_statement_are_not_shown(team_database: Database) -> None:
    with (
        psycopg.connect(team_database.url, options="-c search_path=ua_tui") as db,
        pytest.raises(psycopg.Error) as raised,
    ):
        db.execute("INSERT INTO session (id, name, state) VALUES ('s1', 'secret report', 'odd')")
    assert "secret report" in str(raised.value)
    assert "secret report" not in str(describe(raised.value))


def test_a_wrong_password_and_a_missing_role(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    name = cluster.make_role("walter", "right-password")
    monkeypatch.setenv("PGPASSWORD", "wrong-password")
    address = Address.parse(cluster.tcp("postgres", name))
    with pytest.raises(TeamError) as wrong:
        connect(address)
    assert wrong.value.advice.code == "postgres.wrong_password"
    assert not is_temporary(wrong.value)
    monkeypatch.delenv("PGPASSWORD")
    with pytest.raises(TeamError) as missing:
        connect(address)
    assert missing.value.advice.code == "postgres.asks_password"
    with pytest.raises(TeamError) as unknown:
        connect(Address.parse(cluster.url("postgres", "nobody-there")))
    assert unknown.value.advice.code == "postgres.no_entry"


def test_an_error_without_a_text_is_described_too() -> None:
    assert describe(TimeoutError()).problem == "the server does not answer"
    assert describe(ValueError()).problem == "ValueError"
