from __future__ import annotations

import pytest

from ua_tui.core.errors import SettingsError
from ua_tui.core.events.types import Event, ModelChosen
from ua_tui.core.provider.models import KnownModel, ModelChoice, Models
from ua_tui.core.settings.model import Settings


def made(**settings: str) -> tuple[Models, list[Event]]:
    reported: list[Event] = []
    return Models(Settings(**settings), reported.append, lambda _: None), reported  # type: ignore[arg-type]  # fields of Settings


def test_the_settings_choose_first() -> None:
    models, reported = made(model="opus", fallback_model="haiku", effort="high")
    assert models.choice == ModelChoice("opus", "haiku", "high")
    assert not models.choose(ModelChoice(" opus ", "haiku", "high"))
    assert reported == []


def test_another_choice_is_reported_and_default_leaves_it_to_the_agent() -> None:
    models, reported = made(model="opus")
    assert models.choose(ModelChoice("qwen3:32b", "", "low"))
    assert models.choice == ModelChoice("qwen3:32b", None, "low")
    assert models.choose(ModelChoice("default"))
    assert models.choice == ModelChoice()
    assert [(e.model, e.fallback_model, e.effort) for e in reported if isinstance(e, ModelChosen)] == [
        ("qwen3:32b", None, "low"),
        (None, None, None),
    ]


def test_what_cannot_be_had_is_reported_and_changes_nothing() -> None:
    for choice, why in (
        (ModelChoice("two words"), "no spaces"),
        (ModelChoice("x" * 201), "200 characters"),
        (ModelChoice("a\x1bb"), "not a model name"),
        (ModelChoice("opus", "opus"), "its own fallback"),
        (ModelChoice("opus", None, "much"), "one of low, medium, high, xhigh, max"),  # type: ignore[arg-type]
    ):  # fmt: skip
        models, reported = made(model="haiku")
        with pytest.raises(SettingsError, match=why):
            models.choose(choice)
        assert models.choice == ModelChoice("haiku")
        assert reported == []


def test_what_the_agent_lists_is_tidied() -> None:
    models, _ = made()
    models.read_list(
        [
            {"value": "opus", "displayName": "Op\x1b[31mus", "description": "good"},
            {"value": "opus", "displayName": "Opus"},
            {"value": 3},
            "sonnet",
            {"displayName": "nameless"},
        ]
    )
    assert models.known == (KnownModel("opus", "Opus", ""),)


def test_at_an_address_of_ones_own_are_the_models_of_the_settings() -> None:
    models, _ = made(base_url="http://127.0.0.1:8080", model="llama", fallback_model="qwen")
    models.read_list([{"value": "opus", "displayName": "Opus", "description": "$4/$20 per Mtok"}])
    assert [known.name for known in models.known] == ["llama", "qwen"]


def test_the_model_of_the_demo_is_not_said_to_be_from_the_settings() -> None:
    chosen = Settings(model="sonnet", base_url="http://127.0.0.1:9")
    assert [each.about for each in Models(chosen, lambda _: None, lambda _: None).known] == [
        "from your settings"
    ]
    demo = Settings(model="sonnet", base_url="http://127.0.0.1:9", demo=True)
    assert [each.about for each in Models(demo, lambda _: None, lambda _: None).known] == [
        "scripted, for the demo"
    ]
