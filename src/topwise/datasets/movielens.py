"""MovieLens: who rated which film, when. By GroupLens, for research (Harper & Konstan, TiiS 2015)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from topwise.data import Events, Features
from topwise.data.readers import read_columns
from topwise.datasets.base import Dataset, find_file

if TYPE_CHECKING:
    import polars as pl

_SHIPPED = Path(__file__).parent / "movielens_small"
_ORIGIN_100K = "grouplens.org/datasets/movielens/100k"
_ORIGIN_1M = "grouplens.org/datasets/movielens/1m"

# The order of the flags in u.item, from the file u.genre beside it.
_GENRES_100K = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *(
        "Fantasy",
        "Film-Noir",
        "Horror",
        "Musical",
        "Mystery",
        "Romance",
        "Sci-Fi",
        "Thriller",
        "War",
        "Western",
    ),
)


def movielens_small(min_rating: float | None = 4.0) -> Dataset:
    """The small set that ships with this package: 100,004 ratings by 671 users, with titles and genres.

    By default the log has the ratings of at least 4 stars, as likes without a weight. `min_rating=None` keeps
    all, with the rating as weight. Its terms are in the README.txt beside it: research use, and naming it.
    """
    ratings = read_columns(
        _SHIPPED / "ratings.csv.gz",
        {"user": "userId", "item": "movieId", "rating": "rating", "time": "timestamp"},
    )
    movies = read_columns(
        _SHIPPED / "movies.csv.gz", {"item": "movieId", "title": "title", "genres": "genres"}
    )
    return Dataset(
        log=_likes(ratings, min_rating),
        description=_description("MovieLens latest-small", min_rating),
        item_titles=_titles(movies),
        item_features=_genres(movies["item"], movies["genres"]),
    )


def movielens_100k(root: str | Path, min_rating: float | None = 4.0) -> Dataset:
    """MovieLens-100K from a local folder (u.data, u.item, u.user); `min_rating` as in `movielens_small`."""
    ratings = read_columns(
        find_file(root, "u.data", _ORIGIN_100K),
        {"user": 0, "item": 1, "rating": 2, "time": 3},
        separator="\t",
        header=False,
    )
    first_flag = 5
    flags = {genre: first_flag + number for number, genre in enumerate(_GENRES_100K)}
    movies = read_columns(
        find_file(root, "u.item", _ORIGIN_100K),
        {"item": 0, "title": 1} | flags,
        separator="|",
        header=False,
        encoding="latin1",
    )
    users = read_columns(
        find_file(root, "u.user", _ORIGIN_100K),
        {"user": 0, "age": 1, "gender": 2, "occupation": 3},
        separator="|",
        header=False,
    )
    return Dataset(
        log=_likes(ratings, min_rating),
        description=_description("MovieLens-100K", min_rating),
        item_titles=_titles(movies),
        item_features=_genres(movies["item"], _flagged(movies)),
        user_features=_people(users, numeric=["age"]),
    )


def movielens_1m(root: str | Path, min_rating: float | None = 4.0) -> Dataset:
    """MovieLens-1M from a local folder (ratings.dat, movies.dat, users.dat); as in `movielens_small`."""
    ratings = read_columns(
        find_file(root, "ratings.dat", _ORIGIN_1M),
        {"user": 0, "item": 1, "rating": 2, "time": 3},
        separator="::",
        header=False,
    )
    movies = read_columns(
        find_file(root, "movies.dat", _ORIGIN_1M),
        {"item": 0, "title": 1, "genres": 2},
        separator="::",
        header=False,
        encoding="latin1",
    )
    # The ages are the lower bounds of bands, so they stay categories.
    users = read_columns(
        find_file(root, "users.dat", _ORIGIN_1M),
        {"user": 0, "gender": 1, "age": 2, "occupation": 3},
        separator="::",
        header=False,
    )
    return Dataset(
        log=_likes(ratings, min_rating),
        description=_description("MovieLens-1M", min_rating),
        item_titles=_titles(movies),
        item_features=_genres(movies["item"], movies["genres"]),
        user_features=_people(users, numeric=[]),
    )


def _likes(ratings: dict[str, pl.Series], min_rating: float | None) -> Events:
    import polars as pl

    frame = pl.DataFrame(ratings).with_columns(pl.col("rating").cast(pl.Float32))
    if min_rating is None:
        return Events.from_frame(frame, user="user", weight="rating", time="time")
    return Events.from_frame(frame.filter(pl.col("rating") >= min_rating), user="user", time="time")


def _description(name: str, min_rating: float | None) -> str:
    return f"{name}, all ratings as weights" if min_rating is None else f"{name}, ratings ≥ {min_rating:g}"


def _titles(movies: dict[str, pl.Series]) -> dict[str, str]:
    return dict(zip(movies["item"].to_list(), movies["title"].to_list(), strict=True))


def _genres(items: pl.Series, genres: pl.Series) -> Features:
    """Genres, written as "Action|Comedy", as multi-hot rows."""
    import polars as pl

    named = genres.replace("(no genres listed)", None)
    return Features.from_frame(pl.DataFrame({"item": items, "genre": named.str.split("|")}), id="item")


def _flagged(movies: dict[str, pl.Series]) -> pl.Series:
    import polars as pl

    flags = [pl.when(pl.col(genre) == "1").then(pl.lit(genre)) for genre in _GENRES_100K]
    return pl.DataFrame(movies).select(pl.concat_str(flags, separator="|", ignore_nulls=True)).to_series()


def _people(users: dict[str, pl.Series], numeric: list[str]) -> Features:
    import polars as pl

    return Features.from_frame(pl.DataFrame(users).with_columns(pl.col(numeric).cast(pl.Float64)), id="user")
