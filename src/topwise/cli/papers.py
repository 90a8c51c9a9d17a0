"""The tables and figures of the papers, run again on public data: the paper's numbers, ours and the peers'.

list     what there is, and which data it needs
run      one table (or several): printed, and written as Markdown, JSON and a picture
report   all of them, on one page with the verdict of each claim

Results are kept in the folder --out by their content: a run that was broken off goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwise.cli.arguments import count
from topwise.cli.errors import UsageError, complain
from topwise.cli.tables import Column, add_format, print_rows

if TYPE_CHECKING:
    from topwise.papers import Study

EXAMPLES = (
    "topwise papers list",
    "topwise papers run slides-annotation --data ~/data",
    "topwise papers run lasr-1 lasr-2 --quick --out results",
    "topwise papers report --data ~/data --out results --page docs/results.md",
)

OUT = "papers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `topwise papers`."""
    parser.add_argument("action", choices=("list", "run", "report"), help="what to do")
    parser.add_argument(
        "ids", metavar="ID", nargs="*", help="tables, such as lasr-1; report takes all without one"
    )
    parser.add_argument(
        "--data", metavar="DIR", help="the folder with a folder for each data set (TOPWISE_DATA)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small cuts and one seed: under a minute a table"
    )
    parser.add_argument("--seeds", metavar="N", type=count(), help="runs of each method (default: 3)")
    parser.add_argument(
        "--out", metavar="DIR", default=OUT, help=f"where results are written (default: {OUT})"
    )
    parser.add_argument("--page", metavar="FILE", help="of report: the page (default: results.md in --out)")
    parser.add_argument(
        "--written", action="store_true", help="of report: only what is in --out already, nothing is run"
    )
    add_format(parser)


def run(args: argparse.Namespace) -> int:
    """Lists, runs or reports."""
    if args.action == "list":
        return _list(args)
    if args.action == "run":
        if not args.ids:
            raise UsageError("say which table: topwise papers run ID; topwise papers list has them")
        from topwise.papers import find

        for study in [find(name) for name in args.ids]:
            print(_ran(study, args))
        return 0
    return _report(args)


def _list(args: argparse.Namespace) -> int:
    from topwise.papers import studies

    rows = [
        (study.id, study.place, study.title, ", ".join(source.name for source in study.sources))
        for study in studies()
    ]
    print_rows([Column(name) for name in ("id", "place", "title", "data")], rows, args.format)
    return 0


def _ran(study: Study, args: argparse.Namespace) -> str:
    """Runs a table, writes it, and gives it as Markdown."""
    from topwise.papers.cache import Cache
    from topwise.papers.report import write_result
    from topwise.papers.run import SEEDS, Runner

    folder = Path(args.out)
    seeds = args.seeds or (1 if args.quick else SEEDS)
    runner = Runner(study, _data(args), Cache(folder / "cache"), seeds, args.quick)
    written = write_result(study, runner.run(), folder)
    page: str = written[0].read_text(encoding="utf8")
    return page


def _report(args: argparse.Namespace) -> int:
    from topwise.papers import find, studies
    from topwise.papers.report import write_page

    folder = Path(args.out)
    done: list[tuple[Study, dict[str, Any]]] = []
    failed = []
    for study in [find(name) for name in args.ids] or studies():
        file = folder / f"{study.id}.json"
        try:
            if not args.written:
                _ran(study, args)
            if file.is_file():
                done.append((study, json.loads(file.read_text(encoding="utf8"))))
        except (FileNotFoundError, ImportError) as error:
            # A set that is not there, or a library: the other tables can be made all the same.
            failed.append(study.id)
            complain(f"{study.id}: {error}")
    if not done:
        raise FileNotFoundError(f"there is no result in {folder}: run some first, by topwise papers run")
    page = Path(args.page) if args.page else folder / "results.md"
    write_page(done, page, _machine(), "topwise papers report")
    print(f"wrote {page}, with {len(done)} tables")
    return 1 if failed else 0


def _data(args: argparse.Namespace) -> Path:
    named = args.data or os.environ.get("TOPWISE_DATA")
    if not named:
        raise UsageError("tables need public data: give --data DIR, a folder with a folder for each set")
    return Path(named)


def _machine() -> dict[str, Any]:
    from topwise.cli.machine import hardware, versions

    known = hardware()
    found = {name: value for name, value in versions().items() if name in ("python", "numpy", "scipy")}
    return {"processor": known["processor"], "threads": known["threads"], **found}
