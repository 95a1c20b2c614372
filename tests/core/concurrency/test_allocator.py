from __future__ import annotations

import subprocess
import sys

import pytest

from tests.paths import PROJECT

MAPPED_AFTER_A_LARGER_ONE = """
import ctypes, sys
from ua_tui.core.concurrency.garbage_collection import return_large_blocks
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "free", "bins", "mapped", *"abcdef")]
library = ctypes.CDLL(None)
library.mallinfo2.restype = Info
if sys.argv[1] == "fixed":
    return_large_blocks()
bytes(8 << 20)
before = library.mallinfo2().mapped
block = bytes(1 << 20)
print(library.mallinfo2().mapped - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
@pytest.mark.parametrize(("threshold", "mapped"), [("fixed", "1"), ("of glibc", "0")])
def test_a_large_block_is_mapped_by_itself_after_a_larger_one_was_freed(threshold: str, mapped: str) -> None:
    command = [sys.executable, "-c", MAPPED_AFTER_A_LARGER_ONE, threshold]
    assert subprocess.check_output(command, cwd=PROJECT, text=True).strip() == mapped
