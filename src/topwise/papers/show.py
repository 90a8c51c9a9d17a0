"""A result as Markdown: the paper's layout, with what it printed, ours and the peers' beside each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from topwise.papers.study import OURS, Column, Study


def markdown(study: Study, result: dict[str, Any], picture: str | None = None, level: int = 2) -> str:
    """A section of the page of results."""
    parts = [f"{'#' * level} {study.id}: {study.title}", f"{study.document}, {study.place}. {study.protocol}"]
    if result["quick"]:
        parts.append("**A quick run on a small cut: it shows that the table can be made, and nothing else.**")
    for table in result["tables"]:
        parts.append(f"{'#' * (level + 1)} {_data(table)}")
        parts.append("\n".join(table_lines(study, table)))
        parts += _extras(table)
        parts.append(_settings(table))
    if picture:
        parts.append(f"![{study.title}]({picture})")
    parts.append("\n".join(claim_lines(result)))
    return "\n\n".join(part for part in parts if part) + "\n"


def table_lines(study: Study, table: dict[str, Any]) -> Iterator[str]:
    """The lines of one table. A side (paper, ours, peer) of a column without any number is left out."""
    sides = [
        (column, side)
        for column in study.columns
        for side in ("paper", "ours", "peer")
        if any(_cell(row, column, side) for row in table["rows"])
    ]
    heads = ["method", *(f"{column.head} {side}" for column, side in sides)]
    yield "| " + " | ".join(heads) + " |"
    yield "| --- |" + " ---: |" * len(sides)
    for row in table["rows"]:
        name = row["method"] if row["by"] == OURS else f"{row['method']} ({row['by']})"
        cells = [_cell(row, column, side) or "" for column, side in sides]
        yield "| " + " | ".join([name, *cells]) + " |"


def claim_lines(result: dict[str, Any]) -> Iterator[str]:
    """Each claim, its verdict, and the sizes that it rests on."""
    for claim in result["claims"]:
        yield f"- **{claim['verdict']}**: {claim['claim']}"
        for one in claim["comparisons"]:
            where = f"{one['data']}, {one['column']}"
            yield f"    - {where}: {one['better']} against {one['than']} {effect_text(one)}"


def effect_text(comparison: dict[str, Any]) -> str:
    """An effect with its interval over seeds: a change in percent, or how many times less."""
    change = _change if comparison["larger"] else _times
    bounds = comparison["interval"]
    between = "one seed" if bounds is None else f"{change(bounds[0])} to {change(bounds[1])}"
    return f"{change(comparison['effect'])}{'' if comparison['larger'] else ' lower'} ({between})"


def _change(value: float) -> str:
    return f"{100 * value:+.1f} %" if abs(value) < 10 else f"×{1 + value:.0f}"


def _times(value: float) -> str:
    return f"×{1 + value:.3g}"


def number(value: float, form: str) -> str:
    """A measurement in the form of its column."""
    if form == "percent":
        return f"{100 * value:.2f} %"
    if form == "points":
        return f"{value:.3f} %"
    if form == "relative":
        return f"{100 * value:+.1f} %"
    if form == "seconds":
        return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"
    if form == "count":
        return f"{value:,.0f}"
    return f"{value:.1f}" if form == "rank" else f"{value:.4f}" if abs(value) < 10 else f"{value:.1f}"


def _cell(row: dict[str, Any], column: Column, side: str) -> str | None:
    cell = row["cells"][column.head]
    if side == "paper":
        return None if cell["published"] is None else number(cell["published"], column.form)
    if (side == "ours") != (row["by"] == OURS):
        return None
    if row["missing"]:
        return "not here"
    if cell["mean"] is None:
        return None
    if column.relative_to:
        if row["method"] == column.relative_to:
            return f"({number(cell['mean'], 'decimal')})"
        cell = cell.get("change", {"mean": float("nan"), "half": None})
    if cell["half"] is None:
        return number(cell["mean"], column.form)
    return f"{number(cell['mean'], column.form)} ± {number(cell['half'], column.form).lstrip('+')}"


def _data(table: dict[str, Any]) -> str:
    if table["original"] or not table["stands_for"]:
        return str(table["data"])
    return f"{table['data']}, for {table['stands_for']}"


def _settings(table: dict[str, Any]) -> str:
    """What was searched and what was chosen, where there was a choice."""
    lines = []
    for row in table["rows"]:
        if not row["search"] or not row["settings"] or not any(row["tried"]):
            continue
        grid = "; ".join(f"{name} of {', '.join(map(str, values))}" for name, values in row["search"].items())
        chosen = {
            ", ".join(f"{name} {settings[name]}" for name in row["search"]): None
            for settings in row["settings"]
        }
        lines.append(f"- {row['method']}: {' / '.join(chosen)} (from {grid})")
    sizes = ", ".join(f"{count:,} {part}" for part, count in table["size"].items())
    told = [f"Sizes: {sizes}."] if sizes else []
    told += [f"Not here: {row['method']} ({row['missing']})." for row in table["rows"] if row["missing"]]
    return "\n".join([*told, "", "Chosen on validation:", "", *lines] if lines else told)


def _extras(table: dict[str, Any]) -> Iterator[str]:
    """Tables that rows bring along: lists of neighbours, for example."""
    for row in table["rows"]:
        for lines in row["extra"][:1]:
            if "listing" in lines:
                heads, *body = lines["listing"]
                yield "\n".join(
                    ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
                    + ["| " + " | ".join(map(str, one)) + " |" for one in body]
                )
