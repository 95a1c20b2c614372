from __future__ import annotations

import io
import os
import subprocess
import sys

from tests.tui.fixture_types import Output, Patch
from ua_tui.tui.cli.output import complain, print_line, print_table


def test_what_the_encoding_of_the_output_lacks_is_escaped(monkeypatch: Patch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="latin-1"))
    print_table([("NAME", "QUERY"), ("é", "a 文 here")])
    print_line("文", flush=True)
    assert written.getvalue().decode("latin-1") == "NAME  QUERY\né     a \\u6587 here\n\\u6587\n"


def test_columns_are_aligned_and_nothing_stands_behind_the_last_word(capsys: Output) -> None:
    print_table([("SITE", "SINCE", "UNTIL"), ("a.example", "", ""), ("b", "1", "22222222")])
    assert capsys.readouterr().out.splitlines() == [
        "SITE       SINCE  UNTIL", "a.example", "b          1      22222222",
    ]  # fmt: skip


def test_a_complaint_is_one_harmless_line(capsys: Output) -> None:
    assert complain("no\n\x1b[31msuch", 2) == 2
    assert complain("why") == 1
    # The name of a file is never changed.
    assert complain("The report.html is gone") == complain("SQLite failed") == 1
    reported, why, file, name = capsys.readouterr().err.splitlines()
    assert reported.startswith("ua-tui: no")
    assert "\x1b" not in reported
    assert why == "ua-tui: why"
    assert (file, name) == ("ua-tui: The report.html is gone", "ua-tui: SQLite failed")


def test_both_outputs_may_be_closed() -> None:
    read, write = os.pipe()
    os.close(read)
    # Something that is not written yet, as a line of `run` may be.
    begun = "import sys; sys.stderr.write('begun'); from ua_tui.tui.cli import main; sys.exit(main(['help']))"
    try:
        ended = subprocess.run([sys.executable, "-c", begun], stdout=write, stderr=write, check=False)
    finally:
        os.close(write)
    assert ended.returncode == 1, "Python itself would end with 120"
