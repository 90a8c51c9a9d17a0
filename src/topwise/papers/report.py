"""The page of results: every claim with its verdict first, then all tables. Written by the package alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from topwise import __version__
from topwise.papers.show import effect_text, markdown
from topwise.papers.study import Study


def write_result(study: Study, result: dict[str, Any], folder: Path) -> list[Path]:
    """One table as Markdown, as JSON and, where the paper has a picture, as a picture."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = draw(study, result, folder / f"{study.id}.png")
    page = folder / f"{study.id}.md"
    page.write_text(markdown(study, result, drawn.name if drawn else None, level=1), encoding="utf8")
    data = folder / f"{study.id}.json"
    data.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf8")
    return [page, data, *([drawn] if drawn else [])]


def draw(study: Study, result: dict[str, Any], path: Path) -> Path | None:
    """The picture of a result, if it has one."""
    if study.picture is None:
        return None
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ImportError("pictures need matplotlib: pip install 'topwise[papers]'") from None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    study.picture(figure, result)
    figure.savefig(path, dpi=110)
    return path


def write_page(
    done: Sequence[tuple[Study, dict[str, Any]]], page: Path, machine: dict[str, Any], words: str
) -> None:
    """The page with all results, its pictures in `images` beside it. `words` is the command that made it."""
    images = page.parent / "images"
    parts = [_introduction(machine, words, done), _verdicts(done)]
    for study, result in done:
        picture = None
        if study.picture is not None:
            images.mkdir(parents=True, exist_ok=True)
            name = f"results-{study.id}.png"
            draw(study, result, images / name)
            picture = f"images/{name}"
        parts.append(markdown(study, result, picture))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(parts), encoding="utf8")


def _introduction(machine: dict[str, Any], words: str, done: Sequence[tuple[Study, dict[str, Any]]]) -> str:
    seeds = sorted({result["seeds"] for _, result in done})
    return f"""# The papers' tables, run again

Written by `{words}`; not to be edited. Each table has the numbers that the paper printed, ours,
and those of other libraries (peers) on the same data. Most of the papers' data cannot be had or are too large
to be run here, so the tables run on public data of the same kind: read the columns *paper* for their shape,
not for their size. The same command runs on the original data where `--data` has them.

± and intervals are 95 % over seeds ({", ".join(map(str, seeds))}), by Student's t. A claim *holds* when
the whole interval of each of its comparisons is on the claimed side, *holds partly* when only means, or only
some comparisons are, and *does not hold* when none is. All settings were chosen on validation events alone.

topwise {__version__}, commit {commit()}; {_machine(machine)}.
"""


def _machine(machine: dict[str, Any]) -> str:
    named = [f"{name} {value}" for name, value in machine.items() if value is not None]
    return ", ".join(named) if named else "machine unknown"


def _verdicts(done: Sequence[tuple[Study, dict[str, Any]]]) -> str:
    lines = [
        "## Claims",
        "",
        "| table | claim | verdict | the effects measured |",
        "| --- | --- | --- | --- |",
    ]
    for study, result in done:
        for claim in result["claims"]:
            sizes = sorted(claim["comparisons"], key=lambda one: one["effect"])
            ends = sizes if len(sizes) < 2 else [sizes[0], sizes[-1]]
            told = " … ".join(f"{effect_text(one)}, {one['data']} {one['column']}" for one in ends)
            verdict = claim["verdict"] + (" (quick)" if result["quick"] else "")
            lines.append(f"| [{study.id}](#{_anchor(study)}) | {claim['claim']} | {verdict} | {told} |")
    return "\n".join(lines) + "\n"


def _anchor(study: Study) -> str:
    kept = "".join(sign for sign in f"{study.id}: {study.title}".lower() if sign.isalnum() or sign in " -_")
    return kept.replace(" ", "-")


def commit() -> str:
    """The commit of the source that runs, if it runs from a repository."""
    try:
        asked = subprocess.run(
            ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return asked.stdout.strip()
