"""Files of SVMlight's form, as LETOR and MSLR have them: `label qid:… feature:value … # comment`."""

from __future__ import annotations

import gzip
import mmap
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data.csr import Csr
from topwise.data.judgments import Floats, Integers, Judgments, indptr_of_groups, parts_of_codes
from topwise.data.vocabulary import Ids

_DOCID = re.compile(r"docid\s*=\s*(\S+)")
_GROUP_ENDINGS = (".query", ".group")
# What is mostly zeros is kept as entries once the array would be larger than this many numbers.
_LARGE = 2**26
_MOST_FEATURES = 2**31 - 1
_AT_ONCE = 16_384


def read_svmlight(
    path: str | Path,
    groups: Any,
    n_features: int | None,
    sparse: bool | None,
    zero_based: bool,
    regroup: bool,
    threads: int | None,
) -> Judgments:
    """What `Judgments.read_svmlight` promises."""
    path = Path(path)
    text = _text_of(path)
    workers = os.cpu_count() or 1 if threads is None else threads
    try:
        reader = _core.SvmlightReader(text, zero_based, workers)
        if reader.rows == 0:
            raise ValueError("there are no rows: each line is to be `label qid:… feature:value …`")
        width = _width(n_features, reader.features)
        features, labels, spans = _parsed(reader, width, sparse)
        comments = _comments(text, spans)
        order, indptr, qids = _queries(path, text, reader, groups, regroup)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{path}: {error}") from None
    docids = _docids(comments)
    if order is not None:
        features = features.take(order) if isinstance(features, Csr) else features[order]
        labels = labels[order]
        comments = None if comments is None else comments[order]
        docids = None if docids is None else docids[order]
    return Judgments(features, labels, indptr, qids, docids, comments)


def _text_of(path: Path) -> npt.NDArray[np.uint8]:
    """The bytes of a file: of a plain one as the system maps it, without a copy."""
    if path.suffix.lower() == ".gz":
        try:
            return np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8)
        except (EOFError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValueError(f"{path} cannot be read: {error}") from error
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return np.empty(0, dtype=np.uint8)
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype=np.uint8)


def _width(asked: int | None, found: int) -> int:
    if asked is None:
        return found
    if isinstance(asked, bool) or not hasattr(asked, "__index__"):
        raise TypeError(f"n_features must be a whole number, got {asked!r}")
    if not found <= asked <= _MOST_FEATURES:
        raise ValueError(f"n_features must be at least {found}, which the file has, got {asked}")
    return int(asked)


def _parsed(
    reader: _core.SvmlightReader, width: int, sparse: bool | None
) -> tuple[Floats | Csr, Floats, Integers]:
    cells = reader.rows * width
    if sparse is None:
        sparse = cells > _LARGE and reader.entries < cells // 4
    if sparse:
        indptr, indices, values = reader.read_sparse()
        return Csr(indptr, indices, width, values), reader.labels(), reader.comments()
    features = np.zeros((reader.rows, width), dtype=np.float32)
    reader.read_dense(features)
    return features, reader.labels(), reader.comments()


def _queries(
    path: Path, text: npt.NDArray[np.uint8], reader: _core.SvmlightReader, groups: Any, regroup: bool
) -> tuple[Integers | None, Integers, Ids]:
    """The order of the rows (None: as they stand), where each query begins, and the ids of the queries."""
    starts, spans = reader.queries()
    if len(starts) == 0:  # no row has a qid
        sizes = _group_sizes(path, groups)
        indptr = indptr_of_groups(sizes, reader.rows)
        return None, indptr, np.arange(len(indptr) - 1, dtype=np.int64)
    if groups is not None:
        raise ValueError("the rows have a qid, which says what the groups are: leave groups= out")
    names = [text[begin:end].tobytes().decode() for begin, end in spans.tolist()]
    code_of: dict[str, int] = {}
    codes = np.array([code_of.setdefault(name, len(code_of)) for name in names], dtype=np.int64)
    ids = _ids(list(code_of))
    if len(code_of) < len(names) and not regroup:
        again = int(np.flatnonzero(codes < np.maximum.accumulate(codes))[0])
        raise ValueError(
            f"line {reader.line_of(int(starts[again]))}: the rows of a query must follow each other, but the "
            f"query {names[again]} was followed by another one: pass regroup=True to bring them together"
        )
    per_row = np.repeat(codes, np.diff(starts, append=reader.rows))
    return parts_of_codes(per_row, ids, regroup)


def _ids(names: list[str]) -> Ids:
    """Ints where all ids are written as ints are, else text: "007" is not 7."""
    if all(
        name.isdecimal() and name.isascii() and str(int(name)) == name and len(name) < 19 for name in names
    ):
        return np.array([int(name) for name in names], dtype=np.int64)
    return np.array(names, dtype=object)


def _group_sizes(path: Path, groups: Any) -> Any:
    if groups is None:
        plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
        beside = [plain.with_name(plain.name + end + gz) for end in _GROUP_ENDINGS for gz in ("", ".gz")]
        beside += [plain.with_suffix(end + gz) for end in _GROUP_ENDINGS for gz in ("", ".gz")]
        groups = next((file for file in beside if file.is_file()), None)
        if groups is None:
            raise ValueError(
                "the rows have no qid: pass groups=, the number of rows of each query, or a file of them"
            )
    if not isinstance(groups, str | Path):
        return groups
    data = (
        gzip.decompress(Path(groups).read_bytes())
        if str(groups).endswith(".gz")
        else Path(groups).read_bytes()
    )
    sizes = []
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            if not line.strip().isdigit():
                raise ValueError(
                    f"the groups in {groups} must be whole numbers, got {line.decode(errors='replace')!r} "
                    f"in its line {number}"
                )
            sizes.append(int(line))
    return np.array(sizes, dtype=np.int64)


def _comments(text: npt.NDArray[np.uint8], spans: Integers) -> Ids | None:
    if len(spans) == 0:
        return None
    comments = np.empty(len(spans), dtype=object)
    data = text.data
    comments[:] = [str(data[begin:end], "utf8", "replace") for begin, end in spans.tolist()]
    return comments


def _docids(comments: Ids | None) -> Ids | None:
    """The ids that LETOR writes into the comments, where every row has one."""
    if comments is None:
        return None
    found = [_DOCID.search(comment) for comment in comments.tolist()]
    if not all(found):
        return None
    docids = np.empty(len(found), dtype=object)
    docids[:] = [match[1] for match in found if match]
    return docids


def write_svmlight(judged: Judgments, path: str | Path, zero_based: bool, threads: int | None) -> None:
    """What `Judgments.write_svmlight` promises."""
    path = Path(path)
    workers = os.cpu_count() or 1 if threads is None else threads
    names = [_checked_qid(qid) for qid in judged.qids.tolist()]
    query_of_rows = judged.query_of_rows()
    with gzip.open(path, "wb", 6) if path.suffix.lower() == ".gz" else path.open("wb") as file:
        for start in range(0, len(judged), _AT_ONCE):
            rows = slice(start, min(start + _AT_ONCE, len(judged)))
            first, last = int(query_of_rows[rows.start]), int(query_of_rows[rows.stop - 1])
            labels, queries, ids = judged.labels[rows], query_of_rows[rows] - first, names[first : last + 1]
            base, said = 0 if zero_based else 1, _said(judged, rows)
            if isinstance(judged.features, Csr):
                part = judged.features.take(np.arange(rows.start, rows.stop))
                assert part.values is not None
                indptr, indices, values = part.indptr, part.indices, part.values
                lines = _core.svmlight_lines_sparse(
                    labels, queries, ids, said, indptr, indices, values, base, workers
                )
            else:
                some = judged.features[rows]
                lines = _core.svmlight_lines_dense(labels, queries, ids, said, some, base, workers)
            file.write(lines)


def _said(judged: Judgments, rows: slice) -> list[str]:
    """What stands in the comments: the given ones, or else the ids of the documents."""
    if judged.comments is not None:
        return [" ".join(str(comment).split()) for comment in judged.comments[rows].tolist()]
    if judged.docids is not None:
        return [f"docid = {docid}" for docid in judged.docids[rows].tolist()]
    return []


def _checked_qid(qid: Any) -> str:
    text = str(qid)
    if not text or len(text.split()) != 1 or text.split()[0] != text or "#" in text:
        raise ValueError(
            f"a qid in such a file must be text without spaces or '#', got {text!r}: give it another name"
        )
    return text
