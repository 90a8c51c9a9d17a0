"""Writes README.md beside this file from the results: every figure in it was printed by a benchmark.

python benchmarks/report.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from common import RESULTS, cell

NOTES = Path(__file__).with_name("notes.md")
"""What is said beside the figures: an introduction, then a part for each result, headed by its name."""


def main() -> None:
    introduction, *sections = re.split(r"<!-- (\S+) -->\n", NOTES.read_text())
    notes = dict(zip(sections[::2], sections[1::2], strict=True))
    parts = [introduction]
    files = {name: RESULTS / f"{name}.json" for name in notes}
    found = {name: json.loads(path.read_text()) for name, path in files.items() if path.exists()}
    parts.append("## All bars\n\n" + _bars(found))
    for name, content in found.items():
        parts.append(_section(notes[name], content))
    target = Path(__file__).with_name("README.md")
    target.write_text("\n".join(parts))
    print(f"wrote {target.name}, from {len(found)} of {len(notes)} results")


def _bars(found: dict[str, Any]) -> str:
    rows = [
        (name, b["bar"], b["measured"], b["wanted"], "met" if b["met"] else "**missed**")
        for name, content in found.items()
        for b in content.get("bars", [])
    ]
    return markdown(("benchmark", "bar", "measured", "wanted", ""), rows)


def _section(note: str, content: dict[str, Any]) -> str:
    machine = content["machine"]
    on = f"{machine.pop('processor')}, {machine.pop('cores')} cores; " + ", ".join(
        f"{package} {version}" for package, version in machine.items()
    )
    lines = [note] + ([_table(content["rows"])] if "rows" in content else [])
    for title, rows in content.get("tables", {}).items():
        lines.append(f"### {title}\n\n{_table(rows)}")
    if "text" in content:
        lines.append(f"```text\n{content['text']}\n```\n")
    settings = content.get("settings")
    if settings:
        lines.append("Settings: " + "; ".join(f"{side}: {text}" for side, text in settings.items()) + ".\n")
    return "\n".join([*lines, f"Measured on {on}.\n"])


def _table(rows: list[Any]) -> str:
    head = list(rows[0]) if isinstance(rows[0], dict) else ["side", "seconds", "over ours"]
    return markdown(head, [list(row.values()) if isinstance(row, dict) else row for row in rows])


def markdown(head: tuple[str, ...] | list[str], rows: list[Any]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *[[cell(value) for value in row] for row in rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
