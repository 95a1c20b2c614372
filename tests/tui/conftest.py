from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def still() -> Iterator[None]:
    """No animation, and one time zone for everybody."""
    with pytest.MonkeyPatch.context() as patch:
        # The variable is read only once, as Textual is imported.
        patch.setattr("textual.constants.TEXTUAL_ANIMATIONS", "none")
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
