from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.api import open_session
from core.events.types import QueryFinished
from core.provider.models import ModelChoice
from tests.e2e.added_server import own_home
from tests.e2e.scripted_model import Block, Text, scripted_model


async def test_another_model_answers_the_next_query_of_the_same_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    asked: list[dict[str, Any]] = []

    def model(body: dict[str, Any], _results: int) -> list[Block]:
        if body.get("stream"):
            asked.append(body)
        return [Text("Yes.")]

    with scripted_model(model) as url:
        key = "sk-ant-test-0123456789"
        opened = open_session(
            base_url=url, api_key=key, classifier="off", workspace_base=tmp_path, model="claude-sonnet-5"
        )
        async with opened as session:
            assert any(each.name == "opus" for each in session.models.known)
            first = [event async for event in session.ask("The word is walrus.")]
            assert session.models.choose(ModelChoice("claude-opus-5", "claude-haiku-5", "low"))
            second = [event async for event in session.ask("Which word was it?")]
    for events in (first, second):
        last = events[-1]
        assert isinstance(last, QueryFinished)
        assert last.status == "success"
    before, after = asked[0], asked[-1]
    assert (before["model"], after["model"]) == ("claude-sonnet-5", "claude-opus-5")
    assert "walrus" in str(after["messages"])
    assert '"effort": "low"' in str(after).replace("'", '"')
    assert '"effort": "low"' not in str(before).replace("'", '"')
