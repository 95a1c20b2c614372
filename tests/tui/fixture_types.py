"""Short names of the types of fixtures that many tests take."""

from __future__ import annotations

import pytest

Output = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
