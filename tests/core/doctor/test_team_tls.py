"""What the doctor finds about TLS, on a server that has it and on one that has not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.core.cases import cases_of
from tests.core.doctor.test_team import checked
from tests.e2e.certificates import certificate
from tests.postgres_server import MISSING, Cluster, binaries, short_folder
from ua_tui.core.doctor.findings import DoctorCheck

CASES = cases_of(__file__)

SECRET = "the password of paula"


@pytest.fixture(scope="module")
def encrypted() -> Iterator[tuple[Cluster, Path]]:
    """A server with TLS, and its certificate, which is for localhost and trusted by nobody."""
    if binaries() is None:
        pytest.skip(MISSING)
    folder = short_folder()
    cluster = Cluster.create(folder)
    try:
        data = folder / "data"
        path = certificate(data / "both.pem")
        owner = data.stat()
        os.chown(path, owner.st_uid, owner.st_gid)
        path.chmod(0o600)
        with psycopg.connect(cluster.url("postgres"), autocommit=True) as db:
            db.execute("ALTER SYSTEM SET ssl_cert_file = 'both.pem'")
            db.execute("ALTER SYSTEM SET ssl_key_file = 'both.pem'")
            db.execute("ALTER SYSTEM SET ssl = on")
            db.execute("SELECT pg_reload_conf()")
        cluster.make_role("paula", SECRET)
        authority = folder / "ca.crt"
        authority.write_text(path.read_text().partition("-----BEGIN PRIVATE")[0])
        yield cluster, authority
    finally:
        cluster.remove()


@pytest.fixture(autouse=True)
def as_if_over_a_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGPASSWORD", SECRET)
    monkeypatch.setattr("ua_tui.core.doctor.team._is_local", lambda *_where: False)
    return {"HOME": str(tmp_path), "PGPASSWORD": SECRET}


async def connection(url: str, environ: dict[str, str]) -> DoctorCheck:
    return (await checked(url, environ))["connection"]


async def test_a_certificate_is_checked_with_its_hostname(
    encrypted: tuple[Cluster, Path], as_if_over_a_network: dict[str, str]
) -> None:
    cluster, authority = encrypted
    url = cluster.tcp("postgres", "paula").replace("127.0.0.1", "localhost")
    found = await connection(f"{url}?sslmode=verify-full&sslrootcert={authority}", as_if_over_a_network)
    assert (found.status, found.found.endswith("with TLS")) == ("ok", True)
    cluster, authority = encrypted
    url = cluster.tcp("postgres", "paula").replace("127.0.0.1", "db.example")
    options = f"hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={authority}"
    assert "for another host" in (await connection(f"{url}?{options}", as_if_over_a_network)).found


@pytest.mark.parametrize(
    ("options", "status", "words"), CASES["a_certificate_that_is_not_checked_or_not_trusted"]
)
async def test_a_certificate_that_is_not_checked_or_not_trusted(
    encrypted: tuple[Cluster, Path],
    as_if_over_a_network: dict[str, str],
    options: str,
    status: str,
    words: str,
) -> None:
    cluster, _ = encrypted
    found = await connection(
        f"{cluster.tcp('postgres', 'paula')}?{options}".rstrip("?"), as_if_over_a_network
    )
    assert found.status == status
    assert words in f"{found.found}: {found.advice}"


async def test_a_server_without_tls(cluster: Cluster, as_if_over_a_network: dict[str, str]) -> None:
    found = await connection(f"{cluster.tcp('postgres')}?sslmode=require", as_if_over_a_network)
    assert (found.status, "does not support TLS" in found.found) == ("failed", True)
