"""What the documents show of a team: command lines that can be read, sound manifests, and no password."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.paths import DOCS, PROJECT
from ua_tui.core.postgres.address import Address
from ua_tui.tui.cli.arguments import COMMANDS, command_first, read_arguments

PAGES = tuple(DOCS / name for name in ("team.md", "team-tutorial.md", "team-operation.md"))
EXAMPLES = DOCS / "examples" / "team"
COMPOSE = EXAMPLES / "compose.yaml"
KUBERNETES = EXAMPLES / "kubernetes.yaml"
FILES = [*PAGES, *sorted(EXAMPLES.iterdir())]
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What is in a file of that name, or in a Secret, may be named.
_PASSWORD = re.compile(
    r"""(?i)(password|api_key|token)"?\s*[:=]\s*["']?(?!database_password|model_key)[a-z0-9]{6,}"""
)
_ADDRESS = re.compile(r"postgresql://[^\s\"'`)\]]+")


def composed() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    return found


def resources() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8")))


def pods() -> Iterator[dict[str, Any]]:
    for each in resources():
        yield each["spec"]["template"]["spec"]


def in_shell(text: str) -> Iterator[list[str]]:
    """The commands of a shell script, one list of words each."""
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word in {";", "&", "&&", "|", ">", ">>"}:
                yield words
                words = []
            else:
                words.append(word)


def command_lines() -> Iterator[tuple[str, ...]]:
    """Every command line of the program, without its name."""
    pages = (PROJECT / "README.md", *DOCS.glob("*.md"))
    for block in (block for page in pages for block in _SHELL.findall(page.read_text(encoding="utf-8"))):
        yield from (tuple(words[1:]) for words in in_shell(block) if words[:1] == ["ua-tui"])
    for service in composed()["services"].values():
        if "build" in service:
            yield tuple(service["command"])
    for pod in pods():
        for container in pod["containers"]:
            yield tuple(container["args"])


def test_probes_ask_the_worker_and_not_the_database() -> None:
    worker = composed()["services"]["worker"]
    probes = [(worker["command"], worker["healthcheck"]["test"])]
    probes += [
        (container["args"], container["livenessProbe"]["exec"]["command"])
        for pod in pods()
        for container in pod["containers"]
        if "livenessProbe" in container
    ]
    assert len(probes) == 2
    for command, probe in probes:
        path = command[command.index("--health-file") + 1]
        assert probe[-1] == f"find {path} -mmin -2 | grep -q ."


def test_a_worker_has_the_time_to_hand_its_sessions_back() -> None:
    grace = read_arguments("ua-tui", COMMANDS["worker"], ()).grace
    (pod,) = [pod for pod in pods() if pod["containers"][0]["name"] == "worker"]
    periods = [pod["terminationGracePeriodSeconds"], composed()["services"]["worker"]["stop_grace_period"]]
    assert all(int(str(each).removesuffix("s")) >= grace + 20 for each in periods)


def test_every_command_line_is_one() -> None:
    lines = {*command_lines()}
    for given in lines:
        words = command_first(given)
        name = words[0] if words and words[0] in COMMANDS else None
        assert name is not None or not words or words[0].startswith("-"), f"there is no command {words[0]}"
        read_arguments("ua-tui", COMMANDS[name], words[1:] if name else words)
    assert {"team", "doctor", "batch", "worker", "fleet"} <= {line[0] for line in lines if line}


def test_no_password_is_in_an_example() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        for found in _ADDRESS.findall(text):
            if not found.endswith("..."):
                Address.parse(found)
        assert not _PASSWORD.search(text), path.name


def test_what_the_services_refer_to_is_there() -> None:
    found = composed()
    services = found["services"]
    for name, service in services.items():
        assert {*service.get("depends_on", ())} <= services.keys() - {name}
        assert {*service.get("secrets", ())} <= found["secrets"].keys()
        mounted = {volume.partition(":")[0] for volume in service.get("volumes", ())}
        assert mounted <= found["volumes"].keys()
    assert services["worker"]["deploy"]["replicas"] == 2
    # A service is healthy only if it has a check.
    for service in services.values():
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] != "service_healthy" or "healthcheck" in services[other]
    dockerfile = (
        COMPOSE.parent / found["x-program"]["build"]["context"] / found["x-program"]["build"]["dockerfile"]
    )
    assert dockerfile.resolve() == (EXAMPLES / "Dockerfile").resolve()
    assert all(port.startswith("127.0.0.1:") for port in services["database"]["ports"])


def test_the_entry_point_passes_secrets_and_arguments_on(tmp_path: Path) -> None:
    program = tmp_path / "ua-tui"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$PGPASSWORD" "$ANTHROPIC_API_KEY" "$@"\n')
    program.chmod(0o755)
    (tmp_path / "database_password").write_text("it's $HOME\n")
    (tmp_path / "model_key").write_text("k e y\n")
    worker = composed()["services"]["worker"]
    line = [each.replace("$$", "$").replace("/run/secrets", str(tmp_path)) for each in worker["entrypoint"]]
    done = subprocess.run([*line, *worker["command"]], capture_output=True, text=True, check=True, env={
        "PATH": f"{tmp_path}:/usr/bin:/bin"
    })  # fmt: skip
    assert done.stdout.splitlines() == ["it's $HOME", "k e y", *worker["command"]]


def test_the_pods_have_no_rights_and_what_they_refer_to_is_there() -> None:
    for resource in resources():
        labels = resource["spec"]["template"]["metadata"]["labels"]
        if selector := resource["spec"].get("selector"):
            assert selector["matchLabels"].items() <= labels.items()
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert {"requests", "limits"} <= container["resources"].keys()
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
            assert all("secretKeyRef" in variable["valueFrom"] for variable in container["env"])
    # The image has the user of the pods.
    assert {pod["securityContext"]["runAsUser"] for pod in pods()} == {1000}
    dockerfile = (EXAMPLES / "Dockerfile").read_text(encoding="utf-8")
    assert "USER 1000:1000" in dockerfile
    assert "[team]" in dockerfile
    (worker,) = [each for each in resources() if each["kind"] == "Deployment"]
    assert worker["spec"]["replicas"] == 2
