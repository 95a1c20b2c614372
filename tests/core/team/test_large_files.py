"""The places of large files: a folder, and a bucket of S3."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.s3_server import Bucket, s3_server
from ua_tui.core.errors import TeamError
from ua_tui.core.team.large_files import FilePlace, open_place, verified

DATA = os.urandom(1 << 20) * 12
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with s3_server() as bucket:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.url)
        monkeypatch.setenv("AWS_REGION", "eu-central-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-bucket")
        yield bucket


def place_at(setting: str) -> FilePlace:
    place = open_place(setting)
    assert place is not None
    return place


def test_a_bucket_stores_signed_requests_and_gives_files_back(bucket: Bucket) -> None:
    place = place_at("s3://files/team/one")
    place.store(DIGEST, io.BytesIO(DATA), len(DATA))
    assert bucket.objects == {f"/files/team/one/{DIGEST[:2]}/{DIGEST}": DATA}
    assert b"".join(place.read(DIGEST)) == DATA
    assert place.url(DIGEST) == f"s3://files/team/one/{DIGEST[:2]}/{DIGEST}"
    assert bucket.refused == 0
    signed = bucket.signed
    # What is there is not sent again.
    place.store(DIGEST, io.BytesIO(DATA), len(DATA))
    assert bucket.signed == signed + 1


def test_failures_of_a_bucket_show_no_secret(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    place = place_at("s3://files")
    with pytest.raises(TeamError) as failure:
        place.store(DIGEST, io.BytesIO(DATA), len(DATA))
    assert "s3://files" in str(failure.value)
    assert bucket.refused
    with pytest.raises(TeamError):
        list(place.read(DIGEST))


def test_a_folder_stores_a_file_once_and_completely(tmp_path: Path) -> None:
    place = place_at(str(tmp_path / "large"))
    place.store(DIGEST, io.BytesIO(DATA), len(DATA))
    stored = tmp_path / "large" / DIGEST[:2] / DIGEST
    assert stored.read_bytes() == DATA
    assert stored.stat().st_mode & 0o777 == 0o600
    place.store(DIGEST, io.BytesIO(b"is not read"), len(DATA))
    assert b"".join(place.read(DIGEST)) == DATA
    other = "0" * 64
    with pytest.raises(TeamError):
        place.store(other, io.BytesIO(DATA), len(DATA))
    with pytest.raises(TeamError):
        list(place.read(other))
    with pytest.raises(TeamError):
        list(place.read("../../etc/passwd"))


def test_another_content_is_noticed() -> None:
    assert b"".join(verified([b"a", b"b"], hashlib.sha256(b"ab").hexdigest())) == b"ab"
    with pytest.raises(TeamError):
        list(verified([b"a"], hashlib.sha256(b"ab").hexdigest()))
    assert open_place(None) is None
