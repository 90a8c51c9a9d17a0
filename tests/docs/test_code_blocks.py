"""Every block of Python in the README and in docs/ runs, page by page, each page in a folder of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```python[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def code_blocks(page: Path) -> list[tuple[int, str]]:
    """The blocks that are fenced as ```python, and the line of the page where each begins.

    Blocks of other libraries are fenced as ```python no-run, or as ```text.
    """
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in FENCE.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = code_blocks(page)
    if not blocks:
        pytest.skip(f"{page.name} has no code in Python")
    names: dict[str, Any] = {"__name__": page.stem}
    for line, code in blocks:
        # Empty lines before it, so that a traceback names the line of the page.
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)


def test_pages_and_pictures_find_each_other() -> None:
    links = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
    targets = {
        (page.parent / target).resolve(): page.name
        for page in PAGES
        for target in links.findall(page.read_text(encoding="utf-8"))
        if "://" not in target
    }
    missing = [f"{page}: {target}" for target, page in targets.items() if not target.exists()]
    assert not missing
    unused = [p.name for p in (ROOT / "docs" / "images").glob("*.png") if p.resolve() not in targets]
    assert not unused, "pictures that no page shows"
