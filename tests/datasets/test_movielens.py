from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topwise import datasets
from topwise.data import Vocabulary


def test_the_small_set_has_likes_titles_and_genres():
    likes = datasets.movielens_small()
    assert likes.log.weight is None
    assert len(likes.log) == 51_568
    assert likes.log.vocabulary("item").ids.dtype == object
    assert likes.item_titles["50"] == "Usual Suspects, The (1995)"
    assert likes.item_titles["1"] == "Toy Story (1995)"
    assert len(likes.item_titles) == 9_125
    assert repr(likes).startswith(
        "Dataset(MovieLens latest-small, ratings ≥ 4: Events(51,568 events: 671 users"
    )
    assert set(likes.log.vocabulary("item").ids) <= set(likes.item_titles)


def test_the_small_set_with_all_ratings():
    everything = datasets.movielens_small(min_rating=None).log
    assert len(everything) == 100_004
    assert everything.n("user") == 671
    assert everything.weight is not None
    assert sorted(set(everything.weight.tolist())) == [number / 2 for number in range(1, 11)]
    first = everything.take([0])
    assert (first.ids("user")[0], first.ids("item")[0]) == ("1", "31")
    assert first.time is not None
    assert first.time[0] == 1_260_759_144 * 10**9


def test_the_likes_are_the_ratings_from_the_bound_on():
    everything = datasets.movielens_small(min_rating=None).log
    best = datasets.movielens_small(min_rating=5.0).log
    assert everything.weight is not None
    assert len(best) == np.count_nonzero(everything.weight == 5)
    assert best.ids("item").tolist() == everything.take(everything.weight == 5).ids("item").tolist()


def test_genres_are_rows_of_length_one():
    features = datasets.movielens_small().item_features
    assert features is not None
    toy_story = features.rows(Vocabulary(["1"]))
    assert [features.names[column] for column in toy_story.row(0)] == [
        "genre=Adventure",
        "genre=Animation",
        "genre=Children",
        "genre=Comedy",
        "genre=Fantasy",
    ]
    norms = np.linalg.norm(features.matrix.to_dense(), axis=1)
    np.testing.assert_allclose(norms[features.matrix.lengths() > 0], 1.0, rtol=1e-6)
    assert "genre=(no genres listed)" not in features.names


def test_the_terms_travel_with_the_data():
    folder = Path(datasets.__file__).parent / "movielens_small"
    assert "redistribute" in (folder / "README.txt").read_text()


def test_100k(data_root: Path):
    loaded = datasets.movielens_100k(data_root / "movielens-100k", min_rating=None)
    assert (len(loaded.log), loaded.log.n("user"), loaded.log.n("item")) == (100_000, 943, 1_682)
    assert loaded.item_titles["2"] == "GoldenEye (1995)"
    assert loaded.item_titles["1633"] == "Á köldum klaka (Cold Fever) (1994)"
    assert loaded.item_features is not None
    golden_eye = loaded.item_features.rows(Vocabulary(["2"])).row(0)
    assert [loaded.item_features.names[column] for column in golden_eye] == [
        "genre=Action",
        "genre=Adventure",
        "genre=Thriller",
    ]
    assert loaded.user_features is not None
    assert len(loaded.user_features) == 943
    assert loaded.user_features.names[:3] == ["age", "gender=F", "gender=M"]


def test_1m(data_root: Path):
    loaded = datasets.movielens_1m(data_root / "movielens-1m", min_rating=None)
    assert (len(loaded.log), loaded.log.n("user"), loaded.log.n("item")) == (1_000_209, 6_040, 3_706)
    assert loaded.item_titles["1193"] == "One Flew Over the Cuckoo's Nest (1975)"
    assert len(loaded.item_titles) == 3_883
    assert loaded.item_features is not None
    assert len(loaded.item_features.names) == 18
    assert loaded.user_features is not None
    assert "age=56" in loaded.user_features.names
    assert len(datasets.movielens_1m(data_root / "movielens-1m").log) == 575_281


@pytest.mark.parametrize(
    ("load", "file", "origin"),
    [
        (datasets.movielens_100k, r"u\.data", "grouplens.org/datasets/movielens/100k"),
        (datasets.movielens_1m, r"ratings\.dat", "grouplens.org/datasets/movielens/1m"),
    ],
)
def test_absent_files_say_where_to_get_them(tmp_path: Path, load: Any, file: str, origin: str):
    with pytest.raises(
        FileNotFoundError, match=rf"no {file} \(nor {file}\.gz\) in .*: get the data from {origin}"
    ):
        load(tmp_path)
