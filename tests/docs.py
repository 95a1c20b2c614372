"""Writes the parts of the documents that are generated from the code: `python -m tests.docs`.

A test fails if one of these parts is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.dependencies_page import constraints, licences_table
from tests.keys_page import keys_page, standard_tables
from tests.paths import DOCS, PROJECT
from ua_tui.tui.cli.arguments import COMMANDS


def settings_table() -> str:
    """The table of all settings: names, environment variables, defaults and meanings."""
    from ua_tui.core.settings.describe import field_texts
    from ua_tui.core.settings.model import ENVIRONMENT, SPECS

    arguments = COMMANDS[None].arguments.items()
    options = {how["setting"]: names.split()[0] for names, how in arguments if "setting" in how}
    rows = [
        "| setting | environment | default | about | meaning |",
        "|---|---|---|---|---|",
    ]
    for name, (summary, notes) in field_texts().items():
        spec = SPECS[name]
        variables = ", ".join(f"`{variable}`" for variable in ENVIRONMENT.get(name, ()))
        written = f"Written as {spec.table}." if spec.table else ""
        option = f"Option: `{options[name]}`." if name in options else ""
        meaning = " ".join(filter(None, (summary, notes, written, option))).replace("|", "\\|")
        group = f"{spec.affects} *" if spec.user_only else spec.affects
        rows.append(f"| `{name}` | {variables} | {_default(name)} | {group} | {meaning} |")
    return "\n".join(rows)


def _default(name: str) -> str:
    from ua_tui.core.settings.model import DEFAULTS, SPECS

    match DEFAULTS[name]:
        case bool() as flag:
            return "`true`" if flag else "`false`"
        case str() | float() | int() as value:
            return f"`{value}`"
        case tuple() as values if values:
            return ", ".join(f"`{value}`" for value in values)
        case _:
            return SPECS[name].unset


def configuration_page(page: str) -> str:
    """The text of the page with its table of settings made again."""
    return _with_table(page, "settings", settings_table())


def conventions_tables() -> str:
    """The tables of the standard attributes: which spans are of which kind, and the names of each fact."""
    from ua_tui.core.telemetry.spans.conventions import FACTS, SPANS

    kinds = ["| span | kind | operation |", "|---|---|---|"]
    for name, facts in SPANS.items():
        numbered = f"{name}_N" if name.endswith("_iteration") else name
        kinds.append(f"| {numbered} | {facts['kind']} | {facts.get('operation', '')} |")
    kinds.append("| any other | CHAIN | |")
    names = ["| attributes | meaning |", "|---|---|"]
    names += [
        f"| {', '.join(f'`{name}`' for name in fact.names)} | {fact.meaning} |" for fact in FACTS.values()
    ]
    return "\n".join([*kinds, "", *names])


def tracing_page(page: str) -> str:
    """The text of the page with its tables of standard attributes and of metrics made again."""
    page = _with_table(page, "conventions", conventions_tables())
    return _with_table(page, "metrics", metrics_table())


def metrics_table() -> str:
    """The table of the metrics."""
    from ua_tui.core.telemetry.metrics import INSTRUMENTS

    rows = ["| metric | kind | unit | meaning | attributes |", "|---|---|---|---|---|"]
    for each in INSTRUMENTS:
        attributes = ", ".join(f"`{name}`" for name in each.attributes)
        rows.append(f"| `{each.name}` | {each.kind} | {each.unit} | {each.meaning} | {attributes} |")
    return "\n".join(rows)


def dependencies_page(page: str) -> str:
    """The text of the page with its table of licences made again."""
    return _with_table(page, "licences", licences_table(page))


def toolkit_tools(listed: str) -> str:
    """The file with what the local toolkit says of its tools, with what their functions say made again."""
    from ua_tui.core.toolkit.server import TOOLS

    described = {tool.name: tool.description() for tool in TOOLS}
    groups = {
        group: [each | described.pop(each["name"]) for each in tools]
        for group, tools in json.loads(listed).items()
    }
    assert not described, f"{', '.join(described)} is in no group of toolkit.json"
    return json.dumps(groups, indent=1, ensure_ascii=False) + "\n"


def _with_table(page: str, name: str, table: str) -> str:
    pattern = re.compile(rf"(<!-- generated: {name} -->\n).*?(<!-- end: {name} -->)", re.DOTALL)
    return pattern.sub(lambda marks: f"{marks[1]}\n{table}\n\n{marks[2]}", page)


PAGES: dict[Path, Callable[[str], str]] = {
    DOCS / "configuration.md": configuration_page,
    DOCS / "dependencies.md": dependencies_page,
    DOCS / "tracing.md": tracing_page,
    PROJECT / "core" / "connections" / "toolkit.json": toolkit_tools,
    PROJECT / "tui" / "keys" / "standard.json": standard_tables,
    DOCS / "keys.md": keys_page,
    PROJECT / "constraints.txt": constraints,
}
"""The pages with generated parts, and the functions that make these parts again in the text of a page."""


def stale_pages(*, write: bool = False) -> Iterator[Path]:
    """Give the pages whose generated parts differ from the code; with `write` they are updated."""
    for page, update in PAGES.items():
        text = page.read_text(encoding="utf-8")
        updated = update(text)
        if updated != text:
            if write:
                page.write_text(updated, encoding="utf-8")
            yield page


def main(arguments: list[str] | None = None) -> Any:
    """Update the pages; with `--check` only report those that are out of date."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs", description=main.__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if a page is out of date"
    )
    check = parser.parse_args(arguments).check
    stale = list(stale_pages(write=not check))
    for page in stale:
        sys.stdout.write(f"{'out of date' if check else 'updated'}: {page.relative_to(PROJECT)}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
