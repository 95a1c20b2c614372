from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from core.errors import SettingsError, TeamError
from core.postgres.address import Address
from core.postgres.connection import parameters_of

SECRET = "Tr0ub4dor"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://mary@db.example/desk", "desk on db.example"),
        ("postgres://db.example:5433/desk", "desk on db.example:5433"),
        (
            "postgresql://mary@db1:5432,db2:5433/desk?target_session_attrs=primary",
            "desk on db1:5432,db2:5433",
        ),
        ("postgresql://[2001:db8::1]:5432/desk", "desk on [2001:db8::1]:5432"),
        ("postgresql://mary@/desk?host=/run/postgresql", "desk on /run/postgresql"),
        ("postgresql://%2Frun%2Fpostgresql/desk", "desk on /run/postgresql"),
        ("postgresql:///desk", "desk on this machine"),
        ("postgresql://", "the default database on this machine"),
        ("postgresql:///?service=desk", "the default database on the service desk"),
        ("postgresql://host/?dbname=desk&user=mary", "desk on host"),
        ("postgresql://mary%40corp@db.example/my%20desk", "my desk on db.example"),
        ("  postgresql://db.example/desk\n", "desk on db.example"),
        ("postgresql://db.example/%1B%5B2J%E2%80%AEx", "\ufffd[2J\ufffdx on db.example"),
    ],
)
def test_an_address_is_shown_as_database_and_host(text: str, shown: str) -> None:
    address = Address.parse(text)
    assert str(address) == shown
    conninfo_to_dict(address.url)


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://mary:{SECRET}@db.example/desk",
        "postgresql://mary:@db.example/desk",
        f"postgresql://mary:{SECRET}@db1:1,db2:2/desk",
        f"postgresql://db.example/desk?password={SECRET}",
        f"postgresql://db.example/desk?user=mary&pass%77ord={SECRET}",
        f"postgresql://db.example/desk?sslpassword={SECRET}",
        f"postgresql://db.example/desk?oauth_client_secret={SECRET}",
        # What a parser of URLs takes for a fragment or a query is part of the user or the database to libpq.
        f"postgresql://db.example/desk#?password={SECRET}",
        f"postgresql://db.example/desk?user=a#&password={SECRET}",
        f"postgresql://us?er:{SECRET}@db.example/desk",
        f"postgresql://us#er:{SECRET}@db.example/desk",
    ],
)
def test_a_password_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError, match="has a password") as raised:
        Address.parse(text)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://mary:{SECRET}/x@db.example/desk",
        f"postgresql://mary:12/{SECRET}@db.example/desk",
        f"postgresql://mary@db.example:{SECRET}/desk",
        f"postgresql://db.example/desk?{SECRET}",
        f"postgresql://db.example/desk?{SECRET}@x=1",
        f"postgresql://db.example/{SECRET} x",
        f"postgresql://db.example/{SECRET}%zz",
        f"postgresql://db.example/{SECRET}%00",
        f"postgresql://db.example/{SECRET}%a1",
        f"postgresql://[::1/{SECRET}",
        f"postgresql://db.example:70000/{SECRET}",
        f"postgresql://db.example/desk\0{SECRET}",
        f"mysql://mary:{SECRET}@db.example/desk",
        f"POSTGRESQL://mary:{SECRET}@db.example/desk",
        f"host=db.example password={SECRET}",
        SECRET,
        "",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Address.parse(text)
    assert SECRET not in str(raised.value)


@example("%a1", "")
@given(st.text("ab:@/?#&=%,.[]12p ", max_size=24), st.sampled_from(["", "password=x&", "&password=x"]))
def test_whatever_is_accepted_has_no_password_for_libpq(middle: str, option: str) -> None:
    try:
        address = Address.parse(f"postgresql://{middle}{option}")
    except SettingsError:
        return
    try:
        found = conninfo_to_dict(address.url)
    except ProgrammingError:
        return
    assert not {"password", "sslpassword"} & found.keys()
    assert address.shown


def test_an_option_that_libpq_does_not_know_is_reported() -> None:
    with pytest.raises(TeamError, match="desk on db"):
        parameters_of(Address.parse("postgresql://db/desk?colour=red"))


def test_parameters_of_the_address_and_the_environment_count_more_than_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address = Address.parse("postgresql://db/desk?keepalives_idle=60&options=-c%20statement_timeout%3D5s")
    found = parameters_of(address)
    assert (found["keepalives_idle"], found["connect_timeout"]) == ("60", 10)
    assert found["options"] == "-c statement_timeout=5s -c search_path=ua_tui"
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    monkeypatch.setenv("PGAPPNAME", "desk")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=8MB")
    assert not {"connect_timeout", "application_name"} & parameters_of(address).keys()
    plain = parameters_of(Address.parse("postgresql://db/desk"))
    assert plain["options"] == "-c work_mem=8MB -c search_path=ua_tui"


@pytest.mark.parametrize(
    "url", ["postgresql://a@h/d", "postgresql://a@h/d?sslmode=require&options=-c%20work_mem%3D8MB"]
)
def test_an_address_names_for_whom_a_worker_reads(url: str) -> None:
    found = Address.parse(Address.parse(url).reading_for("b @&c\\d").url)
    assert found.shown == Address.parse(url).shown
    assert found.options["options"].endswith("-c ua_tui.reader=b\\ @&c\\\\d")
    kept = {name: value for name, value in Address.parse(url).options.items() if name != "options"}
    assert kept.items() <= found.options.items()
    assert ("work_mem=8MB" in found.options["options"]) is ("work_mem" in url)
