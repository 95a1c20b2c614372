from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ua_tui.core.demo import launch
from ua_tui.core.demo.launch import DemoEndpoints, demo_servers, demo_settings
from ua_tui.core.postgres.address import Address
from ua_tui.core.settings.model import Settings

CHILD = """\
#!/bin/sh
cat < {held} > /dev/null &
echo '{{"url": "http://h:1", "composio_api_key": "k"}}'
read nothing
"""


@pytest_asyncio.fixture
async def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Let the servers be a script that leaves a process behind, which holds on to their standard error."""
    pipe, script = tmp_path / "held", tmp_path / "servers"
    os.mkfifo(pipe)
    script.write_text(CHILD.format(held=pipe))
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setattr(launch, "STOP_SECONDS", 0.1)
    started: list[asyncio.subprocess.Process] = []
    create = asyncio.create_subprocess_exec

    async def noted(*args: Any, **options: Any) -> asyncio.subprocess.Process:
        started.append(await create(*args, **options))
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    yield
    # That process ends with its input, and lets go of the pipes.
    os.close(os.open(pipe, os.O_WRONLY))
    assert started[0].stdin is not None
    started[0].stdin.close()
    assert started[0].stdout is not None
    await started[0].stdout.read()
    await started[0].wait()


def others() -> set[asyncio.Task[object]]:
    return asyncio.all_tasks() - {asyncio.current_task()}


async def test_who_holds_the_servers_output_open_holds_nothing_up(held: None) -> None:
    async with demo_servers(0) as endpoints:
        assert endpoints.address == "h:1"
    assert others() == set()


def test_a_demo_uses_no_settings_of_the_person_but_what_was_given_with_it() -> None:
    endpoints = DemoEndpoints("http://127.0.0.1:1", "k")
    own = Settings(
        demo=True, model="llama", effort="high", base_url="http://192.0.2.1", api_key="own", custom_headers="X: y",
        knowledge=Address.parse("postgresql://192.0.2.1/team"),
    )  # fmt: skip
    used = demo_settings(own, endpoints)
    assert (used.model, used.effort, used.custom_headers, used.knowledge) == (
        "claude-sonnet-5",
        None,
        None,
        "on",
    )
    assert used.base_url == endpoints.url
    given = demo_settings(replace(own, options={"model": "llama"}), endpoints, of_team=True)
    assert (given.model, given.effort, given.knowledge) == ("llama", None, own.knowledge)
