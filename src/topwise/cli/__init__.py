"""The command `topwise`: one file a command, imported only when it is asked for.

Exit codes: 0 fine, 1 the work failed, 2 wrong usage, 130 Ctrl-C. An error is one line on stderr.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from topwise import __version__
from topwise.cli.errors import INTERRUPTED, Parser, UsageError, complain, one_line_warnings, spoken

__all__ = ["COMMANDS", "main"]

COMMANDS = {
    "fit": "train a model on a log of events",
    "evaluate": "how well a model ranks what is in a test log",
    "rank": "score and order the rows of a file of judgments",
    "recommend": "the best items for users, for queries, or for rows of features",
    "playlist": "a walk from item to item, by a model of what follows what",
    "neighbors": "the nearest items of items, or users of users",
    "tune": "search for the settings that suit a log best",
    "demo": "train, measure and recommend on the data that ships with the package",
    "papers": "the tables of the papers, run again beside what they printed",
    "doctor": "versions, processor, threads, and a short benchmark of this installation",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    with one_line_warnings():
        try:
            args = _parser(arguments).parse_args(arguments)
            code = int(args.run(args))
            sys.stdout.flush()
        except SystemExit as end:  # argparse after --help and --version
            return int(end.code or 0)
        except KeyboardInterrupt:
            complain("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            _silence_stdout()
            return 0
        except Exception as error:
            # The boundary to the shell: whatever went wrong below is told in one line.
            if debug:
                traceback.print_exc()
            complain(f"error: {spoken(error)}")
            return 2 if isinstance(error, UsageError) else 1
        return code


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, with the options of no command but the one that is asked for."""
    parser = Parser(
        prog="topwise", description="Learn embeddings that put the right things at the top of the list."
    )
    parser.add_argument("-V", "--version", action="version", version=f"topwise {__version__}")
    parser.set_defaults(run=_without_command(parser))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, allow_abbrev=False)
        if name == chosen:
            module = importlib.import_module(f"topwise.cli.{name}")
            command.description = module.__doc__
            command.epilog = "\n  ".join(["examples:", *module.EXAMPLES])
            command.formatter_class = argparse.RawDescriptionHelpFormatter
            module.add_arguments(command)
            command.set_defaults(run=module.run)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _without_command(parser: argparse.ArgumentParser) -> Any:
    def run(_: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return 2

    return run


def _silence_stdout() -> None:
    """Nobody reads any more: what is still in the buffer would raise once more at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
