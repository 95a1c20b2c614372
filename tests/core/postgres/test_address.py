from __future__ import annotations

import pickle
from dataclasses import replace

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from tests.core.cases import cases_of
from ua_tui.core.errors import SettingsError, TeamError
from ua_tui.core.postgres import connection
from ua_tui.core.postgres.address import Address
from ua_tui.core.postgres.connection import Connections, parameters_of
from ua_tui.core.settings.model import Settings

CASES = cases_of(__file__)

SECRET = "Tr0ub4dor"


@pytest.mark.parametrize(("text", "shown"), CASES["an_address_is_shown_as_database_and_host"])
def test_an_address_is_shown_as_database_and_host(text: str, shown: str) -> None:
    address = Address.parse(text)
    assert str(address) == shown
    conninfo_to_dict(address.url)


@pytest.mark.parametrize(("table", "problem"), [("passwords", "has a password"), ("no_addresses", ".")])
def test_an_address_is_refused_and_not_repeated(table: str, problem: str) -> None:
    for text in CASES[table]:
        with pytest.raises(SettingsError, match=problem) as raised:
            Address.parse(text.replace("{SECRET}", SECRET))
        assert SECRET not in str(raised.value), text


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
    assert str(address)


def test_an_option_that_libpq_does_not_know_is_reported() -> None:
    with pytest.raises(TeamError, match="desk on db"):
        parameters_of(Address.parse("postgresql://db/desk?colour=red"))


def test_parameters_count_more_than_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    address = Address.parse("postgresql://db/desk?keepalives_idle=60&options=-c%20statement_timeout%3D5s")
    found = parameters_of(address)
    assert (found["keepalives_idle"], found["connect_timeout"]) == ("60", 10)
    durable = f"-c lock_timeout={connection._LOCKED_MS} {connection._OPTIONS}"
    assert "-c synchronous_commit=on" in durable
    assert found["options"] == f"{durable} -c statement_timeout=5s -c search_path=ua_tui"
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "3")
    monkeypatch.setenv("PGAPPNAME", "desk")
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=8MB")
    found = parameters_of(address)
    assert (found["connect_timeout"], found["application_name"]) == ("3", "desk")
    plain = parameters_of(Address.parse("postgresql://db/desk"))
    assert plain["options"] == f"{durable} -c work_mem=8MB -c search_path=ua_tui"


@pytest.mark.parametrize(
    "url", ["postgresql://a@h/d", "postgresql://a@h/d?sslmode=require&options=-c%20work_mem%3D8MB"]
)
def test_an_address_names_for_whom_a_worker_reads(url: str) -> None:
    found = Address.parse(Address.parse(url).reading_for("b @&c\\d").url)
    assert str(found) == str(Address.parse(url))
    assert found.options["options"].endswith("-c ua_tui.reader=b\\ @&c\\\\d")
    kept = {name: value for name, value in Address.parse(url).options.items() if name != "options"}
    assert kept.items() <= found.options.items()
    assert ("work_mem=8MB" in found.options["options"]) is ("work_mem" in url)


async def test_settings_go_to_another_process_without_the_connections_of_this_one() -> None:
    address = Address("postgresql://owner@db.example/desk", reader="mary")
    shared = msgspec.structs.replace(address, connections=Connections(address, largest=1))
    settings = Settings(knowledge=shared)
    assert pickle.loads(pickle.dumps(settings)) == replace(settings, knowledge=address)
