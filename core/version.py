"""The program's version; the build of the packages reads it here, too.

Stated here, as a look into the installed package costs every start several milliseconds.
"""

from __future__ import annotations

VERSION = "0.2.0"
