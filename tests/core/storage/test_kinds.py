from __future__ import annotations

import pytest

from tests.core.cases import cases_of
from ua_tui.core.errors import PathRefused
from ua_tui.core.storage.kinds import check_writable, is_document

CASES = cases_of(__file__)


@pytest.mark.parametrize("path", CASES["hostile"])
def test_what_other_programs_obey_or_start_is_refused(path: str) -> None:
    with pytest.raises(PathRefused, match="; "):
        check_writable(path)


def test_what_agents_write_may_be_written() -> None:
    for path in CASES["innocent"]:
        check_writable(path)


def test_a_refusal_names_a_kind_of_name_that_works() -> None:
    for path, works in CASES["advice"]:
        with pytest.raises(PathRefused, match=works):
            check_writable(path)
        check_writable(works)


def test_programs_are_neither_written_nor_documents() -> None:
    for head in (b"#!/bin/sh\n", b"\x7fELF\2\1", b"MZ\x90", b"\xcf\xfa\xed\xfe"):
        with pytest.raises(PathRefused, match="like a program"):
            check_writable("notes.txt", head)
        assert not is_document("notes.txt", head)
    check_writable("sales_analysis.py", b"#!/usr/bin/env python3\n")
    assert is_document("Report.HTML", b"<p>")
    assert not any(
        is_document(name, b"") for name in ("data.json", "sales_analysis.py", "x.desktop", "report")
    )
