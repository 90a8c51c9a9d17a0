"""Run and qrels files as TREC's tools read them (trec_eval, ir-measures)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Events
from topwise.data.events import CONTEXTS
from topwise.data.vocabulary import as_ids
from topwise.evaluation.cases import Cases, Excluded, Ids, Pairs, check_log
from topwise.evaluation.ranking import (
    PLURAL,
    Floats,
    Ranker,
    block_of,
    by_product,
    check_count,
    check_model,
    known_ids,
    use_threads,
    vectors_of,
)

if TYPE_CHECKING:
    import polars as pl

    from topwise.retrieval import Retriever

_CONTEXTS = 4096  # written at once
_JOINT = "|"  # between the two ids of a context that is a pair


def write_run(
    model: Ranker,
    path: str | Path,
    users: Any = None,
    queries: Any = None,
    *,
    k: int = 1000,
    exclude: Excluded = None,
    tag: str = "topwise",
    threads: int | None = None,
) -> None:
    """The k best items of contexts, a line each: `context Q0 item rank score tag`.

    Contexts are given by their ids, and repeated ones are written once; without any, they are all that the
    model knows. A context that is a pair is written as `user|query`. Items with equal scores stand in the
    catalogue's order, but TREC's tools sort them in their own way.
    """
    check_model(model)
    check_count("k", k)
    _check_names("tag", [tag])
    n_threads = use_threads(threads)
    contexts, excluded = _contexts(model, {"user": users, "query": queries}, exclude)
    names, items = _context_names(contexts), _names("item", model.item_vocabulary.ids)
    retriever = retriever_of(model)
    with Path(path).open("wb") as file:
        for start in range(0, len(names), _CONTEXTS):
            chosen = np.arange(start, min(start + _CONTEXTS, len(names)))
            some = {role: ids[chosen] for role, ids in contexts.items()}
            best, scores = search_contexts(model, retriever, some, k, excluded.take(chosen), n_threads)
            row, place = np.nonzero(best >= 0)
            columns = (names.gather(chosen[row]), "Q0", items.gather(best[row, place]), place + 1)
            file.write(_lines(*columns, scores[row, place], tag))


def write_qrels(
    test: Events, path: str | Path, *, exclude: Excluded = None, roles: Sequence[str] | None = None
) -> None:
    """The items to find, a line each: `context 0 item 1`, without those that `exclude` has as well.

    A context is what `roles` says, as the model's: ("user",), ("query",) or ("user", "query"). Without it, it
    is all that the log has.
    """
    check_log("test", test)
    roles = _in_order(test.roles[:-1] if roles is None else roles)
    cases = Cases.from_log(test, roles, test.vocabulary("item"), exclude)
    names, items = _context_names(cases.contexts), _names("item", test.vocabulary("item").ids)
    targets = cases.targets
    lines = _lines(names.gather(targets.row_of_entries()), "0", items.gather(targets.indices), "1")
    Path(path).write_bytes(lines)


def _contexts(model: Ranker, given: dict[str, Any], exclude: Excluded) -> tuple[dict[str, Ids], Csr]:
    """The distinct contexts, and what is left out of their lists."""
    roles = _in_order(model.roles)
    if all(ids is None for ids in given.values()):
        given = {role: _all_known(model, role) for role in roles}
    given = {role: as_ids(ids, role) for role, ids in given.items() if ids is not None}
    if set(given) != set(roles):
        raise ValueError(
            f"the model's contexts are made of {' and '.join(roles)}, got ids of {' and '.join(given)}"
        )
    if len(given[roles[0]]) == 0:
        raise ValueError(f"{PLURAL[roles[0]]}= must name at least one context, got none")
    catalogue = model.item_vocabulary
    # As a log, since a log of contexts knows all about ids; its items stand for nothing.
    item = np.repeat(catalogue.ids[:1], len(given[roles[0]]))
    pairs = Pairs(Events.from_arrays(item=item, **given), roles, catalogue)
    every = np.arange(len(pairs.contexts))
    return pairs.context_ids(every), pairs.rows(pairs.known(exclude), every)


def _all_known(model: Ranker, role: str) -> Ids:
    vocabulary = known_ids(model, role)
    if vocabulary is None or len(model.roles) > 1:
        raise ValueError("the model does not tell the contexts that it knows: pass users=, queries= or both")
    return vocabulary.ids


def search_contexts(
    model: Ranker, retriever: Retriever, contexts: dict[str, Ids], k: int, excluded: Csr, threads: int
) -> tuple[npt.NDArray[np.int32], Floats]:
    """The k best items of contexts by their codes, and their scores."""
    if by_product(model):
        return retriever.search(vectors_of(model, contexts), k, excluded, None, threads)

    def scores(rows: slice) -> Floats:
        some = excluded.take(np.arange(len(excluded))[rows])
        return block_of(model, {role: ids[rows] for role, ids in contexts.items()}, some)

    return retriever.search_blocks(scores, len(excluded), k, excluded, None)


def retriever_of(model: Ranker) -> Retriever:
    """The exact top-k of a model: by its items' vectors, or by scores alone where it has no vectors."""
    from topwise.retrieval import Retriever

    if by_product(model):
        return Retriever(np.ascontiguousarray(model.item_vectors(), dtype=np.float32))
    return Retriever(np.zeros((len(model.item_vocabulary), 1), dtype=np.float32))


def _in_order(roles: Sequence[str]) -> tuple[str, ...]:
    # Runs and qrels have to agree on how a pair is written.
    known = tuple(role for role in CONTEXTS if role in roles)
    if not known or set(roles) != set(known):
        raise ValueError(f"roles must be of 'user' and 'query', got {', '.join(map(repr, roles)) or 'none'}")
    return known


def _context_names(contexts: dict[str, Ids]) -> pl.Series:
    names = [_names(role, ids) for role, ids in contexts.items()]
    if len(names) == 1:
        return names[0]
    for role, column in zip(contexts, names, strict=True):
        with_joint = column.filter(column.str.contains(_JOINT, literal=True))
        if len(with_joint):
            raise ValueError(
                f"in a TREC file a pair is written as user{_JOINT}query, so its ids must be without "
                f"{_JOINT!r}, got the {role} {with_joint[0]!r}: give such ids other names"
            )
    return names[0] + _JOINT + names[1]


def _names(what: str, ids: Ids) -> pl.Series:
    """Ids as text that a TREC file can hold."""
    import polars as pl

    names = list(map(str, ids.tolist()))
    _check_names(what, names)
    return pl.Series(names, dtype=pl.String)


def _check_names(what: str, names: Iterable[Any]) -> None:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be text, got {name!r}")
        if len(name.split()) != 1 or name.split()[0] != name:
            raise ValueError(
                f"a TREC file is parted by spaces, so each {what} must be text without any, got {name!r}: "
                "give it another name"
            )


def _lines(*columns: pl.Series | npt.NDArray[Any] | str) -> bytes:
    """Columns beside each other, parted by spaces; text stands in every line."""
    import polars as pl

    texts = [pl.lit(column) if isinstance(column, str) else pl.Series(column) for column in columns]
    frame = pl.select(column.alias(str(number)) for number, column in enumerate(texts))
    return frame.write_csv(include_header=False, separator=" ", quote_style="never").encode()
