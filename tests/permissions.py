"""File permissions that hold for the tests, whoever runs them: root may otherwise read and write everything."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VERSION_3 = 0x20080522
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


@contextmanager
def permissions_obeyed() -> Iterator[None]:
    """Let this thread obey the permissions of files in the block, as an ordinary user does.

    Root's threads give up the capabilities `CAP_DAC_OVERRIDE` and `CAP_DAC_READ_SEARCH` for the time of the block; see
    capabilities(7) and capset(2). The owner of the files stays the same, so that no folder above has to be opened.
    """
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # Effective, permitted and inheritable capabilities, each in two words of 32 bits.
    sets = (ctypes.c_uint32 * 6)()
    _check(libc.capget(header, sets))
    effective = sets[0]
    sets[0] = effective & ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    _check(libc.capset(header, sets))
    try:
        yield
    finally:
        sets[0] = effective
        _check(libc.capset(header, sets))


def _check(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), "the capabilities of this thread cannot be changed")
