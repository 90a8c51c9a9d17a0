from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from topwise.data import Events
from topwise.data.readers import read_columns

CSV = "user,item,stars\na,007,4\nb,8,0.5\n"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


# --- formats ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("log.csv", CSV, {}),
        ("log.csv.gz", CSV, {}),
        ("LOG.CSV", CSV, {}),
        ("log[1]*.csv", CSV, {}),
        ("log.txt", CSV.replace(",", "§"), {"separator": "§"}),
        ("log.tsv", CSV.replace(",", "\t"), {}),
        ("log.tsv.gz", CSV.replace(",", "\t"), {}),
        ("log.dat", CSV.replace(",", "::"), {"separator": "::"}),
        ("log.dat.gz", CSV.replace(",", "::"), {"separator": "::"}),
        ("log.txt", CSV.replace(",", " "), {"separator": " "}),
        ("log.csv", CSV.replace(",", ";"), {"separator": ";"}),
        ("log.csv", CSV, {"encoding": "latin1"}),
        ("crlf.csv", CSV.replace("\n", "\r\n"), {}),
        ("crlf.dat", CSV.replace("\n", "\r\n").replace(",", "::"), {"separator": "::"}),
        ("bom.csv", b"\xef\xbb\xbf" + CSV.encode(), {}),
        ("no-newline.csv", CSV.rstrip("\n"), {}),
        ("blank-lines.csv", CSV.replace("b,", "\nb,") + "\n\n", {}),
        ("blank-first.csv", "\n" + CSV, {}),
        ("quoted.csv", CSV.replace("a,", '"a",').replace("user", '"user"'), {}),
    ],
)
def test_text_files(tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any]):
    log = Events.read(write(tmp_path, name, content), user="user", item="item", weight="stars", **options)
    assert log.ids("user").tolist() == ["a", "b"]
    assert log.ids("item").tolist() == ["007", "8"]
    assert log.weight is not None
    assert log.weight.tolist() == [4.0, 0.5]


@pytest.mark.parametrize("name", ["log.parquet", "log.parquet.gz"])
def test_parquet_keeps_its_types(tmp_path: Path, name: str):
    pl.DataFrame({"user": ["a", "b"], "item": [7, 8]}).write_parquet(tmp_path / "log")
    log = Events.read(write(tmp_path, name, (tmp_path / "log").read_bytes()))
    assert log.ids("user").tolist() == ["a", "b"]
    assert log.ids("item").tolist() == [7, 8]


def test_a_path_may_be_text(tmp_path: Path):
    assert len(Events.read(str(write(tmp_path, "log.csv", CSV)))) == 2


def test_columns_by_position(tmp_path: Path):
    with_header = write(tmp_path, "log.csv", CSV)
    without = write(tmp_path, "bare.csv", CSV.partition("\n")[2])
    for path, header in ((with_header, True), (without, False)):
        log = Events.read(path, user=0, item=1, weight=2, header=header)
        assert log.ids("item").tolist() == ["007", "8"]
    pl.read_csv(with_header).write_parquet(tmp_path / "log.parquet")
    assert Events.read(tmp_path / "log.parquet", user=0, item=1).ids("user").tolist() == ["a", "b"]


def test_one_column_may_serve_twice(tmp_path: Path):
    log = Events.read(write(tmp_path, "log.csv", CSV), user="item", item="item")
    assert log.ids("user").tolist() == log.ids("item").tolist()


def test_user_and_query_columns_are_taken_when_neither_is_named(tmp_path: Path):
    path = write(tmp_path, "log.csv", "query,item,user,uid\nq,1,u,2\n")
    assert Events.read(path).roles == ("user", "query", "item")
    assert Events.read(path, user="uid").roles == ("user", "item")


def test_tabs_separate_without_quotes(tmp_path: Path):
    log = Events.read(write(tmp_path, "log.tsv", 'user\titem\n"a\tx"y\nb"\tz\n'))
    assert log.ids("user").tolist() == ['"a', 'b"']


def test_commas_and_line_breaks_inside_of_quotes(tmp_path: Path):
    log = Events.read(write(tmp_path, "log.csv", 'user,item\n"a,b","c\nd"\ne,f\n'))
    assert log.ids("user").tolist() == ["a,b", "e"]
    assert log.ids("item").tolist() == ["c\nd", "f"]


def test_times_in_text(tmp_path: Path):
    path = write(tmp_path, "log.csv", "user,item,time\na,b,1241478537\n")
    log = Events.read(path, time="time")
    assert log.time is not None
    assert log.time.tolist() == [1_241_478_537_000_000_000]


def test_latin1(tmp_path: Path):
    path = write(tmp_path, "log.csv", "user,item\na,Café\n".encode("latin1"))
    assert Events.read(path, encoding="latin1").ids("item").tolist() == ["Café"]


# --- empty ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["user,item\n", "user,item", "user,item\n\n"])
def test_a_header_without_rows_is_an_empty_log(tmp_path: Path, content: str):
    log = Events.read(write(tmp_path, "log.csv", content))
    assert len(log) == 0
    assert log.roles == ("user", "item")


def test_an_empty_file_is_an_empty_log_where_no_header_is_expected(tmp_path: Path):
    path = write(tmp_path, "log.csv", "")
    assert len(Events.read(path, user=0, item=1, header=False)) == 0
    with pytest.raises(ValueError, match="is empty: a header was expected"):
        Events.read(path)


# --- what cannot be read ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz", "log.dat"])
@pytest.mark.parametrize("content", [b"user,item\na,Caf\xe9\n", b"us\xe9r,item\na,b\n"])
def test_text_that_is_not_utf8_names_the_remedy(tmp_path: Path, name: str, content: bytes):
    with pytest.raises(ValueError, match="is not UTF-8 text: pass encoding='latin1'"):
        Events.read(write(tmp_path, name, content), user=0, item=1, separator=",")
    with pytest.raises(ValueError, match="is not UTF-8 text: pass encoding='latin1'"):
        Events.read(write(tmp_path, name, content.replace(b",", b"::")), user=0, item=1, separator="::")


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match=r"absent\.csv does not exist"):
        Events.read(tmp_path / "absent.csv")
    with pytest.raises(FileNotFoundError, match="is a directory"):
        Events.read(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"user": "uid"}, r"log\.csv: there is no column 'uid'; the columns are 'user', 'item', 'stars'"),
        ({"item": 3}, r"there is no column 3 in log\.csv: it has columns 0 to 2"),
        ({"item": -1}, "there is no column -1"),
        ({"header": False, "user": "user"}, "columns are given by position, such as 0, got 'user'"),
        ({"encoding": "cp1252"}, "encoding must be 'utf8' or 'latin1', got 'cp1252'"),
    ],
)
def test_keys_that_do_not_fit(tmp_path: Path, options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        Events.read(write(tmp_path, "log.csv", CSV), **options)


def test_a_missing_column_of_parquet_lists_those_there_are(tmp_path: Path):
    pl.DataFrame({"user": [1], "movie": [2]}).write_parquet(tmp_path / "log.parquet")
    with pytest.raises(ValueError, match="no column 'item'; the columns are 'user', 'movie'"):
        Events.read(tmp_path / "log.parquet")


def test_an_unknown_ending_asks_for_the_separator(tmp_path: Path):
    with pytest.raises(
        ValueError, match=r"log\.dat does not tell its separator by its ending: pass separator="
    ):
        Events.read(write(tmp_path, "log.dat", CSV))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("user,item,x\na,,1\n", "the item id in row 0 is missing"),
        ("user,item,x\na,b,1\n,,1\n", "the user id in row 1 is missing"),
        ("user,item,x\n\na,b,1\n\na\n", "the item id in row 1 is missing"),
        ("user,item\na,b,c\n", "cannot be read"),
        ('user,item\n"a,b\nc,d\n', "cannot be read"),
    ],
)
def test_damaged_rows(tmp_path: Path, content: str, message: str):
    with pytest.raises(ValueError, match=message):
        Events.read(write(tmp_path, "log.csv", content))


@pytest.mark.parametrize("name", ["log.csv.gz", "log.parquet.gz"])
def test_truncated_and_foreign_compressed_files(tmp_path: Path, name: str):
    path = tmp_path / name
    for content in (gzip.compress(CSV.encode() * 5000)[:-12], b"no compressed data"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} cannot be read"):
            Events.read(path)


def test_a_truncated_parquet_file(tmp_path: Path):
    path = tmp_path / "log.parquet"
    pl.DataFrame({"user": range(1000), "item": range(1000)}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"log\.parquet cannot be read"):
        Events.read(path)


# --- properties -------------------------------------------------------------------------------------------

ID = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00\x1f"), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(ID, ID), min_size=1, max_size=20))
def test_ids_survive_a_csv_file(tmp_path: Path, rows: list[tuple[str, str]]):
    frame = pl.DataFrame(rows, schema={"user": pl.String, "item": pl.String}, orient="row")
    frame.write_csv(tmp_path / "log.csv", quote_style="always")
    log = Events.read(tmp_path / "log.csv")
    assert list(zip(log.ids("user").tolist(), log.ids("item").tolist(), strict=True)) == rows


PLAIN_ID = st.text(st.characters(codec="latin-1", exclude_characters='\r\n\x00\x1f:"\t'), min_size=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(PLAIN_ID, PLAIN_ID), min_size=1, max_size=20),
    st.sampled_from(["\t", "::"]),
    st.sampled_from(["utf8", "latin1"]),
)
def test_ids_survive_other_text_files(
    tmp_path: Path, rows: list[tuple[str, str]], separator: str, encoding: Any
):
    path = tmp_path / "log.dat"
    path.write_bytes("".join(f"{a}{separator}{b}\n" for a, b in rows).encode(encoding))
    columns = read_columns(path, {"a": 0, "b": 1}, separator=separator, header=False, encoding=encoding)
    assert list(zip(columns["a"].to_list(), columns["b"].to_list(), strict=True)) == rows
