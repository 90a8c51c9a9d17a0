"""What all commands share: help, exit codes, errors in one line, pipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from commands import COMMAND, ENVIRONMENT, Run

import topwise
from topwise.cli import COMMANDS, main
from topwise.cli.errors import in_options


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from topwise.cli import main; code = main(['--help']);"
        "assert not {'numpy', 'polars', 'topwise.models'} & set(sys.modules); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"\n    {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    told = capsys.readouterr().out
    assert told.startswith(f"usage: topwise {command}")
    assert f"\n  topwise {command}" in told, "the help has no example"


def test_version(run: Run) -> None:
    assert run("--version").out == f"topwise {topwise.__version__}\n"


def test_without_a_command_help_goes_to_stderr(run: Run) -> None:
    outcome = run(code=2)
    assert outcome.out == ""
    assert "commands:" in outcome.err


USAGE = {
    "frobnicate": "COMMAND: invalid choice: 'frobnicate'",
    "fit train.csv": "the following arguments are required: --out",
    "fit --out x": "give a file of EVENTS, or --multilabel FILE",
    "fit train.csv --out x --dim 0": "--dim must be at least 1, got 0",
    "fit train.csv --out x --dim many": "--dim must be a whole number, got 'many'",
    "fit train.csv --out x --learning-rate 0": "--learning-rate must be above 0, got 0",
    "fit train.csv --out x --learning-rate nan": "--learning-rate must be finite, got nan",
    "fit train.csv --out x --max-norm fast": "--max-norm must be a number, got 'fast'; or auto, or none",
    "fit train.csv --out x --norm-exponent 2": "--norm-exponent must be between 0 and 1, got 2",
    "fit train.csv --out x --metric recal@10": "--metric: unknown metric 'recal@10'",
    "fit train.csv --out x --loss auc --top 3": "--top does not go with the loss auc",
    "fit train.csv --out x --loss kos --position 9": "position must be between 1 and k = 5, got 9",
    "fit train.csv --out x --identity 1": "--identity does not go with the model matrix-factorization",
    "fit train.csv --out x --patience 3": "--patience needs something to validate on",
    "fit train.csv --out x --validation-fraction 1": "--validation-fraction must be between 0 and 1",
    "fit train.csv --out x --resume": "--resume needs the file to go on from: give --checkpoint FILE",
    "fit --multilabel train.txt --model item-bag --out x": "--multilabel is for the models wsabie and lasr",
    "evaluate model.safetensors": "give a file of TEST events",
    "evaluate model.safetensors test.csv --metrics recall": "--metrics: recall needs a cutoff",
    "recommend model.safetensors": "one of the arguments --users --queries",
    "recommend model.safetensors --users u1 --all": "not allowed with argument --users",
    "recommend model.safetensors --users u1 --k 0": "--k must be at least 1, got 0",
    "recommend model.safetensors --users u1,,u2": "--users must be a list such as 42,7, got 'u1,,u2'",
    "recommend model.safetensors --all --out recs.xlsx": "--out must end in .csv or .parquet, got recs.xlsx",
    "recommend model.safetensors --queries q": "this model recommends for users, not for queries",
    "recommend model.safetensors --history 001": "--history is for the model item-bag",
    "neighbors model.safetensors --items 001 --metric cos": "--metric: invalid choice: 'cos'",
    "tune train.csv --losses warp,hinge": "--losses must be of warp, auc, owpc, kos, got 'hinge'",
}


@pytest.mark.parametrize("words", USAGE)
def test_wrong_usage_is_one_line_and_code_2(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(words.split()) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("topwise: error: ")
    assert USAGE[words] in told.err
    assert told.err.count("\n") == 1


FAILURES = {
    "fit nowhere.csv --out x": "nowhere.csv does not exist",
    "fit train.csv --user person --out x": "there is no column 'person'; the columns are 'user', 'item'",
    "fit train.csv --item 7 --out x": "there is no column 7 in train.csv: it has columns 0 to 1",
    "fit train.csv --no-header --user 0 --out x": "with --no-header columns are given by position",
    "fit latin.csv --out x": "latin.csv is not UTF-8 text: pass --encoding latin1",
    "fit empty.csv --out x": "empty.csv is empty: a header was expected, or pass --no-header",
    "fit header.csv --out x": "train must have at least one event, got an empty log",
    "fit weights.csv --weight weight --out x": "weight must be finite and at least 0, got -1.0 in row 0",
    "fit train.csv --out nowhere/x": "there is no directory nowhere for x: make it first",
    "fit train.csv --out .": "is a directory",
    "fit train.csv --model wsabie --out x": "Wsabie needs the features of its contexts: pass --user-features",
    "evaluate nowhere.safetensors test.csv": "there is no model file nowhere.safetensors",
    "evaluate garbage.safetensors test.csv": "garbage.safetensors is not a model file, or is truncated",
    "evaluate cut.safetensors test.csv": "cut.safetensors is not a model file, or is truncated",
    "evaluate altered.safetensors test.csv": "was altered or damaged after it was saved",
    "evaluate model.safetensors test.csv --exclude test.csv": "nothing is left to evaluate",
    "recommend model.safetensors --users-file empty.csv": "empty.csv has no ids: write one a line",
    "recommend model.safetensors --users u1 --items-file unknown.txt": "does not know the item 'nonsense'",
    "neighbors model.safetensors --items 001,nonsense": "the model does not know the item 'nonsense'",
}


@pytest.fixture(scope="module")
def damaged(folder: Path) -> Path:
    """The folder with files beside that nothing good can come of."""
    (folder / "latin.csv").write_bytes("user,item\nJosé,1\n".encode("latin1"))
    (folder / "empty.csv").write_bytes(b"")
    (folder / "header.csv").write_text("user,item\n")
    (folder / "weights.csv").write_text("user,item,weight\na,b,-1\n")
    (folder / "unknown.txt").write_text("001\nnonsense\n")
    (folder / "garbage.safetensors").write_bytes(b"x" * 1000)
    model = (folder / "model.safetensors").read_bytes()
    (folder / "cut.safetensors").write_bytes(model[: len(model) // 2])
    (folder / "altered.safetensors").write_bytes(model[:-3] + bytes(255 - byte for byte in model[-3:]))
    return folder


@pytest.mark.parametrize("words", FAILURES)
def test_failed_work_is_one_line_and_code_1(
    words: str, damaged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(damaged)
    assert main(words.split()) == 1
    told = capsys.readouterr()
    assert told.err.startswith("topwise: error: ")
    assert FAILURES[words] in told.err
    assert told.err.count("\n") == 1
    assert not (damaged / "x").exists()


def test_debug_shows_the_traceback(run: Run) -> None:
    assert "Traceback" not in run("fit", "nowhere.csv", "--out", "x", code=1).err
    shown = run("fit", "nowhere.csv", "--out", "x", "--debug", code=1).err
    assert "Traceback" in shown
    assert shown.splitlines()[-1].startswith("topwise: error: nowhere.csv does not exist")


def test_a_reader_who_leaves_early_is_no_error(folder: Path) -> None:
    command = [*COMMAND, "recommend", "model.safetensors", "--all", "--k", "40", "--format", "csv"]
    with subprocess.Popen(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "user,rank,item,score\n"
        child.stdout.close()
        assert child.stderr.read() == ""
        assert child.wait(timeout=60) == 0


def test_library_words_become_options() -> None:
    assert in_options("pass separator=, such as '\\t'") == "pass --separator, such as '\\t'"
    assert in_options("pass item_features= or resume=True") == "pass --item-features or --resume"
    assert in_options("it was written with dim=8") == "it was written with dim=8"
