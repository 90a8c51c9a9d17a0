"""The data that ships with the package as files, for trying the commands on."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from topwise.cli.files import replacing
from topwise.cli.tables import whole, write_csv

if TYPE_CHECKING:
    from topwise.data import Events
    from topwise.datasets import Dataset

_SECOND = 1_000_000_000


def export(data: Dataset, train: Events, test: Events, folder: str) -> None:
    """Writes likes.csv, its parts train.csv and test.csv, movies.csv, the terms, and judgments."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    for name, log in (("likes", data.log), ("train", train), ("test", test)):
        _write_log(path / f"{name}.csv", log)
        print(f"{path / name}.csv: {whole(len(log))} likes (user, item, time)")
    _write_movies(path / "movies.csv", data)
    print(f"{path / 'movies.csv'}: {whole(len(data.item_titles))} films (item, title, genres)")
    terms = resources.files("topwise.datasets") / "movielens_small" / "README.txt"
    (path / "README.txt").write_bytes(terms.read_bytes())
    print(f"{path / 'README.txt'}: what the data is, and its terms of use")
    for seed, part in enumerate(("train", "vali", "test")):
        from topwise.datasets import judgments_like

        judged = judgments_like(seed=seed)
        judged.write_svmlight(path / f"judged_{part}.txt")
        print(f"{path / f'judged_{part}.txt'}: {whole(judged.n_queries)} generated queries with judged rows")


def _write_log(path: Path, log: Events) -> None:
    assert log.time is not None
    columns = (log.ids("user").tolist(), log.ids("item").tolist(), (log.time // _SECOND).tolist())
    with replacing(path) as beside, beside.open("w", encoding="utf8", newline="") as file:
        write_csv(file, ["user", "item", "time"], zip(*columns, strict=True))


def _write_movies(path: Path, data: Dataset) -> None:
    features = data.item_features
    assert features is not None
    names = [name.partition("=")[2] for name in features.names]
    rows = features.vocabulary.codes(list(data.item_titles))
    with replacing(path) as beside, beside.open("w", encoding="utf8", newline="") as file:
        genres = ("|".join(names[column] for column in features.matrix.row(row)) for row in rows)
        write_csv(
            file,
            ["item", "title", "genres"],
            (
                (item, title, kinds)
                for (item, title), kinds in zip(data.item_titles.items(), genres, strict=True)
            ),
        )
