"""The program's version, which the packages are built with, too.

Stated here, as a look into the installed package costs every start several milliseconds.
"""

from __future__ import annotations

VERSION = "0.2.0"
