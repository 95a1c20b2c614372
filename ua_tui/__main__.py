"""`python -m ua_tui`, the same as the command `ua-tui`."""

from __future__ import annotations

import sys

from ua_tui import main

sys.exit(main())
