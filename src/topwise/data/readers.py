"""Columns out of csv, tsv, other separated text and parquet files, gzip-compressed or not."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from topwise.data.columns import check_column

if TYPE_CHECKING:
    import polars as pl

Encoding: TypeAlias = Literal["utf8", "latin1"]
ColumnKey: TypeAlias = str | int

_SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
# Stands in for separators of several characters, which polars does not know: the "unit separator" of ASCII.
_UNIT_SEPARATOR = "\x1f"


def read_columns(
    path: str | Path,
    keys: Mapping[str, ColumnKey],
    *,
    separator: str | None = None,
    header: bool = True,
    encoding: Encoding = "utf8",
) -> dict[str, pl.Series]:
    """The columns `keys` of a file, by name or by position (from 0), under the names that `keys` gives them.

    Columns of text files stay text, whatever they look like: "007" is not 7. Of separated text, only what
    commas or semicolons separate may be quoted. Blank lines are skipped and not counted.
    """
    source = Source(path, separator=separator, header=header, encoding=encoding)
    return source.read(keys)


class Source:
    """A file with columns: says which there are, and reads some of them."""

    def __init__(
        self,
        path: str | Path,
        *,
        separator: str | None = None,
        header: bool = True,
        encoding: Encoding = "utf8",
    ) -> None:
        self.path = Path(path)
        if encoding not in ("utf8", "latin1"):
            raise ValueError(f"encoding must be 'utf8' or 'latin1', got {encoding!r}")
        if not self.path.is_file():
            reason = "is a directory" if self.path.is_dir() else "does not exist"
            raise FileNotFoundError(f"{self.path} {reason}: give the path of a csv, tsv or parquet file")
        self._zipped = self.path.suffix.lower() == ".gz"
        suffix = (self.path.with_suffix("") if self._zipped else self.path).suffix.lower()
        self._parquet = suffix in (".parquet", ".pq")
        self._separator = separator if separator is not None else _SEPARATORS.get(suffix, "")
        self._is_long = len(self._separator.encode()) > 1
        self._header = header
        self._encoding = encoding
        if not self._parquet and not self._separator:
            raise ValueError(
                f"{self.path.name} does not tell its separator by its ending: pass separator=, such as '\\t'"
            )

    def names(self) -> list[str] | None:
        """The names of the columns, or None for a file without a header."""
        import polars as pl

        with self._errors():
            if self._parquet:
                return list(pl.read_parquet_schema(self._parquet_source()))
            first = self._first_frame()
        if first is None and self._header:
            raise ValueError(f"{self.path} is empty: a header was expected, or pass header=False")
        return first.columns if first is not None and self._header else None

    def read(self, keys: Mapping[str, ColumnKey]) -> dict[str, pl.Series]:
        """Some columns, under the names that `keys` gives them."""
        import polars as pl

        if self._parquet:
            names = self.names() or []
            wanted = {role: self._resolved(key, names) for role, key in keys.items()}
            columns = list(dict.fromkeys(wanted.values()))
            with self._errors():
                frame = pl.read_parquet(self._parquet_source(), columns=columns, glob=False)
            return {role: frame[name] for role, name in wanted.items()}
        return self._read_text(keys)

    def _read_text(self, keys: Mapping[str, ColumnKey]) -> dict[str, pl.Series]:
        import polars as pl

        names = self.names()
        with self._errors():
            first = self._first_frame()
        if first is None:
            return {role: pl.Series([], dtype=pl.String) for role in keys}
        wanted = {role: self._resolved(key, first.columns, names is not None) for role, key in keys.items()}
        with self._errors():
            frame = self._parsed(self._text_source(), list(dict.fromkeys(wanted.values())))
            if frame.select(pl.all_horizontal(pl.all().is_null()).any()).item():
                frame = self._without_blank_lines(frame)
        return {role: frame[name] for role, name in wanted.items()}

    def _without_blank_lines(self, frame: pl.DataFrame) -> pl.DataFrame:
        # A row that lacks all that was asked for, but has something else, is an error for others to name.
        import polars as pl

        whole = self._parsed(self._text_source(), None)
        return frame.filter(whole.select(~pl.all_horizontal(pl.all().is_null())).to_series())

    def _resolved(self, key: Any, names: list[str], named: bool = True) -> str:
        if isinstance(key, int) and not isinstance(key, bool):
            if not 0 <= key < len(names):
                raise ValueError(
                    f"there is no column {key} in {self.path.name}: it has columns 0 to {len(names) - 1}"
                )
            return names[key]
        if not named:
            raise ValueError(f"with header=False columns are given by position, such as 0, got {key!r}")
        try:
            check_column(key, list(names))
        except ValueError as error:
            raise ValueError(f"{self.path.name}: {error}") from None
        return str(key)

    def _parquet_source(self) -> Any:
        return io.BytesIO(self._bytes()) if self._zipped else self.path

    def _text_source(self) -> Any:
        """What polars is to parse: the file itself, or its text once it is brought to what polars knows."""
        if self._encoding == "utf8" and not self._is_long:
            return self.path
        return io.BytesIO(self._adapted(self._bytes()))

    def _adapted(self, data: bytes) -> bytes:
        if self._encoding == "latin1":
            data = data.decode("latin1").encode()
        if self._is_long:
            data = data.replace(self._separator.encode(), _UNIT_SEPARATOR.encode())
        return data

    def _bytes(self) -> bytes:
        return gzip.decompress(self.path.read_bytes()) if self._zipped else self.path.read_bytes()

    def _first_frame(self) -> pl.DataFrame | None:
        """The first line as a frame: with no rows when it is the header, with one when it is data."""
        with gzip.open(self.path) if self._zipped else self.path.open("rb") as file:
            line = next((line for line in file if line.strip(b"\r\n")), b"")
        line = self._adapted(line)
        line.decode()  # polars would replace what is not UTF-8 in the names of columns
        return self._parsed(io.BytesIO(line), None) if line else None

    def _parsed(self, source: Any, columns: list[str] | None) -> pl.DataFrame:
        import polars as pl

        return pl.read_csv(
            source,
            columns=columns,
            has_header=self._header,
            separator=_UNIT_SEPARATOR if self._is_long else self._separator,
            quote_char='"' if self._separator in (",", ";") else None,
            infer_schema=False,
            glob=False,
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what polars and gzip raise into a ValueError that names the file and a remedy."""
        import polars as pl

        try:
            yield
        except (pl.exceptions.PolarsError, EOFError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the system's own refusal, such as a missing permission, says it best
            message = str(error).partition("\n")[0]
            if "utf-8" in message.lower() or "utf8" in message.lower():
                raise self._not_utf8() from None
            raise ValueError(f"{self.path} cannot be read: {message}") from error
        except UnicodeDecodeError:
            raise self._not_utf8() from None

    def _not_utf8(self) -> ValueError:
        return ValueError(f"{self.path} is not UTF-8 text: pass encoding='latin1'")
