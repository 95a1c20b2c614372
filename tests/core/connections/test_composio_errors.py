from __future__ import annotations

import pytest

from tests.waiting import PATIENCE
from ua_tui.core.connections.composio import session as composio
from ua_tui.core.errors import ConnectionFailed
from ua_tui.core.settings.model import Settings

KEY = "ak_0123456789abcdefghij"


@pytest.mark.parametrize("before", [0, 180, 190, 199])
def test_no_part_of_a_key_in_an_error_is_reported(monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    def fail(*_args: object, **_more: object) -> object:
        raise ValueError(f"{'x ' * (before // 2)}{KEY} is not known")

    monkeypatch.setattr(composio, "sdk_client", fail)
    with pytest.raises(ConnectionFailed, match="Composio could not be reached") as raised:
        composio._try(Settings(composio_api_key=KEY), 1.0)
    assert KEY[:6] not in str(raised.value)


async def test_an_address_to_which_the_sdk_sends_no_key_is_the_users() -> None:
    settings = Settings(composio_api_key=KEY, composio_base_url="http://gateway.example:8080")
    with pytest.raises(ConnectionFailed, match="set COMPOSIO_BASE_URL to an https") as raised:
        await composio.try_composio(settings, within=PATIENCE)
    assert "the key was not sent to Composio at http://gateway.example:8080" in str(raised.value)
