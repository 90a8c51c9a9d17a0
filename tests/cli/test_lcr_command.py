"""Models of queries and users from the shell: fit, evaluate, recommend for both, and playlists."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from commands import Run, run_topwise

import topwise as tw

FIT = ("--model", "lcr", "--dim", 8, "--max-norm", 1.2, "--epochs", 20, "--threads", 1)
BOTH = ("--user", "user", "--query", "query")


@pytest.fixture(scope="module")
def songs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """plays.csv, in which users go round a circle of twelve songs, one a minute; triples.csv; and a model."""
    root = tmp_path_factory.mktemp("songs")
    with (root / "plays.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("who", "song", "when"))
        for user in range(6):
            for step in range(30):
                writer.writerow((f"u{user}", f"s{(user + step) % 12}", user * 86_400 + step * 60))
    with (root / "triples.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("user", "query", "item"))
        for user in range(6):
            for step in range(12):
                writer.writerow((f"u{user}", f"s{step}", f"s{(step + 1) % 12}"))
    outcome = run_topwise(
        *("fit", "plays.csv", "--user", "who", "--item", "song", "--time", "when", "--sessions", "1h"),
        *(
            *FIT,
            "--interaction",
            "full",
            "--interaction-norm",
            0.5,
            "--repeats",
            "--out",
            "model.safetensors",
        ),
        cwd=root,
    )
    assert outcome.code == 0, outcome.err
    assert "6 users, 12 queries, 12 items" in outcome.out
    return root


def test_the_options_arrive(songs: Path) -> None:
    model = tw.load(songs / "model.safetensors")
    assert isinstance(model, tw.LCR)
    assert (model.interaction, model.interaction_norm, model.repeats) == ("full", 0.5, True)
    assert model.roles == ("user", "query")


@pytest.mark.parametrize("form", ["none", "diagonal", "lowrank"])
def test_triples_of_one_file(run: Run, songs: Path, form: str) -> None:
    more = ("--rank", 2) if form == "lowrank" else ()
    run("fit", songs / "triples.csv", *BOTH, *FIT, "--interaction", form, *more,
        "--interaction-norm", "none", "--validation-fraction", 0.1, "--out", "m.safetensors")  # fmt: skip
    report = json.loads(
        run("evaluate", "m.safetensors", songs / "triples.csv", *BOTH,
            "--metrics", "recall@1", "--format", "json").out
    )  # fmt: skip
    assert report["n_contexts"] == 72
    assert report["metrics"]["recall@1"]["mean"] > 0.8


def test_evaluate_says_what_its_contexts_are(run: Run, songs: Path) -> None:
    out = run("evaluate", songs / "model.safetensors", songs / "triples.csv", *BOTH,
              "--exclude", songs / "triples.csv", "--exclude", songs / "triples.csv", code=1)  # fmt: skip
    assert "nothing is left to evaluate" in out.err
    out = run("evaluate", songs / "model.safetensors", songs / "triples.csv", *BOTH)
    assert "72 pairs of a user and a query, 72 items to find" in out.out


def test_recommend_for_both(run: Run, songs: Path, tmp_path: Path) -> None:
    words = ("recommend", songs / "model.safetensors", "--k", 1, "--format", "csv")
    out = run(*words, "--users", "u1,u2", "--queries", "s3,s11").out.splitlines()
    assert out[0] == "user,query,rank,item,score"
    assert [line.rsplit(",", 1)[0] for line in out[1:]] == ["u1,s3,1,s4", "u2,s11,1,s0"]
    one = run(*words, "--users", "u1", "--queries", "s3,s11").out.splitlines()
    assert [line.rsplit(",", 1)[0] for line in one[1:]] == ["u1,s3,1,s4", "u1,s11,1,s0"]
    unknown = run(*words, "--users", "stranger", "--queries", "s3")
    assert unknown.err == (
        "topwise: warning: the model does not know the user 'stranger', and recommends what suits the query\n"
    )
    assert unknown.out.splitlines()[1].startswith("stranger,s3,1,s4,")
    alone = run(*words, "--queries", "s5").out.splitlines()
    assert (alone[0], alone[1].startswith("s5,1,s6,")) == ("query,rank,item,score", True)
    run(*words, "--users", "u1,u2", "--queries", "s3,s11", "--exclude", songs / "triples.csv", *BOTH,
        "--out", "lists.parquet")  # fmt: skip
    frame = pl.read_parquet(tmp_path / "lists.parquet")
    assert frame.columns == ["user", "query", "rank", "item", "score"]
    assert "s4" not in frame["item"].to_list()


def test_a_playlist(run: Run, songs: Path) -> None:
    words = ("playlist", songs / "model.safetensors", "--seed", "s3", "--length", 4)
    assert run(*words, "--for-user", "u1", "--format", "csv").out.splitlines() == [
        "place,item", "1,s4", "2,s5", "3,s6", "4,s7",
    ]  # fmt: skip
    head, _, *lines = run(*words).out.splitlines()
    assert head.split() == ["place", "item"]
    assert [line.split()[1] for line in lines] == ["s4", "s5", "s6", "s7"]
    long = json.loads(run(*words[:-1], 50, "--format", "json").out)
    assert len({row["item"] for row in long}) == len(long) == 11


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("recommend M --users u1,u2,u3 --queries s1,s2", 2, "must be as many, or one of them single"),
        ("recommend M --all", 2, "--all is for a model of users or of queries alone"),
        ("recommend M --queries s1 --all", 2, "--queries not allowed with argument --all"),
        ("recommend M", 2, "one of the arguments --users"),
        (
            "playlist M --seed nothing",
            1,
            "the model knows the seed 'nothing' neither as an item nor as a query",
        ),
        ("playlist M", 2, "the following arguments are required: --seed"),
        (
            "fit plays.csv --user who --item song --sessions 1h --model lcr --out x.safetensors",
            2,
            "needs times",
        ),
        (
            "fit plays.csv --user who --item song --time when --sessions soon --model lcr --out x",
            1,
            "max_gap must be a number and a unit",
        ),
        (
            "fit triples.csv --model lcr --interaction lowrank --rank 9 --dim 8 --out x",
            2,
            "rank must be below dim",
        ),
        (
            "fit triples.csv --rank 2 --out x.safetensors",
            2,
            "--rank does not go with the model matrix-factor",
        ),
    ],
)
def test_what_is_refused(songs: Path, words: str, code: int, message: str) -> None:
    outcome = run_topwise(*words.replace("M", "model.safetensors").split(), cwd=songs)
    assert message in outcome.err
    assert outcome.code == code
    assert outcome.err.count("\n") == 1


def test_neighbors_of_queries_and_of_users(run: Run, songs: Path) -> None:
    for role, id_ in (("users", "u1"), ("queries", "s2"), ("items", "s2")):
        rows = json.loads(
            run("neighbors", songs / "model.safetensors", f"--{role}", id_, "--k", 3, "--format", "json").out
        )
        assert len(rows) == 3
        assert id_ not in [row["neighbor"] for row in rows]
