"""f(q, u, d) = (S_qᵀ U_u + V_uᵀ) T_d."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise import _core
from topwise.data import Events, Features, Vocabulary
from topwise.data.vocabulary import as_ids
from topwise.losses import Loss
from topwise.memory import check_memory
from topwise.models.base import Embedding
from topwise.models.params import check_above_zero, check_choice, check_count
from topwise.models.serving import Asked, Ids, _is_single, _rows_2d
from topwise.models.side import Side
from topwise.models.tables import Floats, empty_rows, random_rows

INTERACTIONS = ("none", "diagonal", "lowrank", "full")

# The deviation of the first rows of A, times the square root of dim. At 0 they would have no gradient.
_LOW_RANK_SCALE = 0.1


class LCR(Embedding):
    """Latent collaborative retrieval: the items that suit a query and a user together.

    S_q, V_u and T_d are the rows of ids, of content, or the sums of both (eq. 1, 2, 4-6); U_u is a matrix of
    the user's own, which begins at the identity: φ(q, u) = U_uᵀ S_q + V_u, ψ(d) = T_d.

    Of a log with queries and users, contexts are its pairs. Of a log without queries, or without users, the
    other side is all there is: f = V_u · T_d, or f = S_q · T_d.

    Parameters beside those of every embedding model
    ------------------------------------------------
    interaction: what U_u is. "none": the identity (eq. 3). "diagonal": a factor for each dimension.
        "lowrank": AᵀA + D, with `rank` rows in A and D diagonal. "full": a dim × dim matrix.
    rank: the rows of A, below dim.
    interaction_norm: U_u stays within ‖U_u − I‖ ≤ this, by the Frobenius norm, since a user of few events has
        too few for a matrix. None leaves it unconstrained, as in the paper.
    repeats: what a pair already had may be right once more, as the next song may. So validation, and the
        search for max_norm, leave nothing out of the lists. Without it they leave out what a pair has in the
        training log.
    """

    queries_: Side | None
    interactions_: Side | None

    def __init__(
        self,
        dim: int = 64,
        interaction: str = "full",
        rank: int = 8,
        loss: Loss | str | None = None,
        epochs: int = 30,
        learning_rate: float = 0.8,
        max_norm: float | str | None = "auto",
        *,
        interaction_norm: float | None = 1.0,
        repeats: bool = False,
        norm_exponent: float = 0.15,
        optimizer: str = "adagrad",
        schedule: str = "linear",
        item_bias: bool = False,
        init_scale: float | None = None,
        threads: int | None = None,
        patience: int | None = None,
        metric: str = "ndcg@10",
        seed: int = 0,
    ) -> None:
        super().__init__(
            dim,
            loss,
            epochs,
            learning_rate,
            max_norm,
            norm_exponent=norm_exponent,
            optimizer=optimizer,
            schedule=schedule,
            item_bias=item_bias,
            init_scale=init_scale,
            threads=threads,
            patience=patience,
            metric=metric,
            seed=seed,
        )
        self.interaction = interaction
        self.rank = rank
        self.interaction_norm = interaction_norm
        self.repeats = repeats

    def check_params(self) -> None:
        super().check_params()
        check_choice("interaction", self.interaction, INTERACTIONS)
        if self.interaction == "lowrank":
            check_count("rank", self.rank)
            if self.rank >= self.dim:
                raise ValueError(
                    f"rank must be below dim, {self.dim}, got {self.rank}: lower it, or use "
                    "interaction='full', which is as large and holds every matrix"
                )
        if self.interaction_norm is not None:
            check_above_zero("interaction_norm", self.interaction_norm)

    # --- the composition ----------------------------------------------------------------------------------

    def _context_roles(self, log: Events) -> tuple[str, ...]:
        return log.roles[:-1]

    def _create_sides(self, log: Events, role: str, features: dict[str, Features | None]) -> None:
        self.queries_ = self.interactions_ = None
        super()._create_sides(log, role, features)
        if len(self._context_roles(log)) == 1:
            return
        assert self.context_ is not None
        rng = np.random.default_rng([self.seed, 1])
        scale = 0.3 / self.dim if self.init_scale is None else float(self.init_scale)
        queries = Side.create(
            "query", log.vocabulary("query"), features["query"], self.dim, self.columns, scale, rng
        )
        self.queries_ = queries
        # Of a pair, the 1 of the items' bias is put into the sum, and not into its parts.
        self.context_.rows[:, self.dim :] = 0
        if self._lines:
            self._check_memory(len(self.context_.vocabulary))
            self.interactions_ = Side(
                "user",
                Vocabulary([]),
                self._fresh_interactions(len(self.context_.vocabulary), rng),
                ids=False,
                lines=self._lines,
            )

    @property
    def _lines(self) -> int:
        """The rows of a user's U_u − I: its diagonal and the rows of A, or all of it."""
        return {"none": 0, "diagonal": 1, "lowrank": 1 + self.rank, "full": self.dim}[self.interaction]

    def _fresh_interactions(self, users: int, rng: np.random.Generator) -> Floats:
        """U_u = I: zeros; and for a low rank, AᵀA is small and D makes up for its diagonal."""
        if self.interaction != "lowrank":
            return empty_rows(users * self._lines, self.columns)
        rows = random_rows(users * self._lines, self.dim, self.columns, _LOW_RANK_SCALE / self.dim**0.5, rng)
        blocks = rows.reshape(users, self._lines, -1)
        blocks[:, 0] = -(blocks[:, 1:] ** 2).sum(axis=1)
        return rows

    def _check_memory(self, users: int) -> None:
        row = 4 * empty_rows(1, self.columns).shape[1]
        smaller = {"full": ("lowrank", "diagonal"), "lowrank": ("diagonal",)}.get(self.interaction, ())
        remedy = " or ".join(f"interaction={name!r}" for name in smaller) or "interaction='none'"
        what = (
            f"U_u of {users:,} users with interaction={self.interaction!r}, {self._lines} × {self.dim} each,"
        )
        check_memory(what, users * self._lines * row, f"use {remedy}, or a smaller dim (now {self.dim})")

    def _kernel_contexts(self, bind: Callable[[Side], _core.Side]) -> _core.Contexts:
        if self.queries_ is None:
            return super()._kernel_contexts(bind)
        assert self.context_ is not None
        rank = self.rank if self.interaction == "lowrank" else 0
        blocks = None if self.interactions_ is None else bind(self.interactions_)
        return _core.Contexts.by_pairs(
            bind(self.context_), bind(self.queries_), self.interaction, rank, blocks
        )

    def _sides(self) -> dict[str, Side]:
        more = {"queries": self.queries_, "interactions": self.interactions_}
        return super()._sides() | {name: side for name, side in more.items() if side is not None}

    def _put_sides(self, sides: dict[str, Side]) -> None:
        super()._put_sides(sides)
        self.queries_, self.interactions_ = sides.get("queries"), sides.get("interactions")
        if self.interactions_ is not None:
            self.interactions_.lines = self._lines

    def _max_norm_of(self, side: Side, max_norm: float | None) -> float | None:
        return self.interaction_norm if side is self.interactions_ else max_norm

    def _judged_without(self, train: Events) -> Events | None:
        return None if self.repeats else train

    def _extend(
        self, role: str, ids: npt.NDArray[Any], log: Events, make: Callable[[Side, int], Floats]
    ) -> None:
        if role == "query" and self.queries_ is not None:
            side = self.queries_
            if not side.ids:
                raise ValueError("queries of this LCR are their content alone: use features=")
            self.queries_ = side.extended(ids, lambda count: make(side, count))
            return
        super()._extend(role, ids, log, make)
        if self.interactions_ is not None:
            rng = np.random.default_rng([self.seed, len(self.interactions_.rows)])
            more = self._fresh_interactions(len(ids), rng)
            old = self.interactions_
            rows = empty_rows(len(old.rows) + len(more), self.columns)
            rows[: len(old.rows)], rows[len(old.rows) :] = old.rows, more
            self.interactions_ = Side("user", old.vocabulary, rows, ids=False, lines=old.lines)

    # --- serving ------------------------------------------------------------------------------------------

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that make a context: as many as the log had."""
        self._check_fitted()
        return (self.role_,) if self.queries_ is None else ("user", "query")

    @property
    def user_vocabulary(self) -> Vocabulary | None:
        """The users that the model knows; None where the log had none."""
        self._check_fitted()
        return self._vocabulary("user") if "user" in self.roles else None

    @property
    def query_vocabulary(self) -> Vocabulary | None:
        """The queries that the model knows; None where the log had none."""
        self._check_fitted()
        return self._vocabulary("query") if "query" in self.roles else None

    def _vocabulary(self, role: str) -> Vocabulary:
        if role == "query" and self.queries_ is not None:
            return self.queries_.vocabulary
        return self.context_vocabulary

    def interactions(self, users: Any = None) -> Floats:
        """U_u of some users, or of all: a dim × dim matrix each; of unknown users, the identity."""
        self._check_fitted()
        known = self.context_vocabulary
        codes = np.arange(len(known)) if users is None else known.codes(users)
        matrices = np.tile(np.eye(self.dim, dtype=np.float32), (len(codes), 1, 1))
        if self.interactions_ is not None:
            for row, code in enumerate(codes):
                if code >= 0:
                    matrices[row] = self._through(matrices[row], code)[:, : self.dim]
        return matrices

    def _interaction_of(self, user: int) -> Floats:
        assert self.interactions_ is not None
        lines = self.interactions_.lines
        return self.interactions_.rows[user * lines : (user + 1) * lines, : self.columns]

    def _through(self, s: Floats, user: int) -> Floats:
        """U_uᵀ s for rows s of some queries."""
        block = self._interaction_of(user)[:, : self.dim]
        if self.interaction == "full":
            moved = s + s @ block
        else:
            moved = s + s * block[0] + (s @ block[1:].T) @ block[1:]
        return np.asarray(moved, dtype=np.float32)

    def _vectors_of(self, codes: Mapping[str, npt.NDArray[np.int64]]) -> Floats:
        if self.queries_ is None:
            return super()._vectors_of(codes)
        return self._compose(codes.get("user"), codes.get("query"))

    def _compose(
        self,
        users: npt.NDArray[np.int64] | None,
        queries: npt.NDArray[np.int64] | None,
        s: Floats | None = None,
    ) -> Floats:
        """φ of pairs. Without a user, or with an unknown one, it is the query's term, and vice versa; with
        neither it is the mean over the pairs of training. `s` has the queries' vectors where they come from
        features.
        """
        given = next(part for part in (users, queries, s) if part is not None)
        users = np.full(len(given), -1) if users is None else users
        nothing = users < 0
        if s is None:
            queries = np.full(len(given), -1) if queries is None else queries
            s = _rows_of(self.queries_, queries, self.columns)
            nothing &= queries < 0
        else:
            nothing = np.zeros(len(given), dtype=bool)
        vectors = s + _rows_of(self.context_, users, self.columns)
        if self.interactions_ is not None:
            for user, rows in _runs(users):
                own = s[rows, : self.dim]
                vectors[rows, : self.dim] += self._through(own, user) - own
        if nothing.any():
            vectors[nothing] = self.mean_context_
        return self._with_one(np.ascontiguousarray(vectors, dtype=np.float32))

    def _asked(self, users: Any, queries: Any, features: Any) -> Asked:
        if self.queries_ is None:
            return super()._asked(users, queries, features)
        ids = {role: of for role, of in (("user", users), ("query", queries)) if of is not None}
        rows = None if features is None else _rows_2d(features)
        if not ids and rows is None:
            raise ValueError("this model recommends for queries and users: pass queries=, users=, or both")
        codes = {role: self._vocabulary(role).codes(of) for role, of in ids.items()}
        single = all(_is_single(of, self._vocabulary(role)) for role, of in ids.items())
        s = None
        if rows is not None:
            if queries is not None:
                raise ValueError("features stand in place of queries: pass one of them")
            if self.queries_.content is None:
                raise ValueError("this LCR was fitted without features of its queries: pass query_features=")
            s = self.queries_.compose(self._feature_rows(rows), self.columns)
            single &= rows is not features
        length = _common_length({**codes, **({} if s is None else {"features": s})})
        codes = {role: _repeated(of, length) for role, of in codes.items()}
        vectors = self._compose(
            codes.get("user"), codes.get("query"), None if s is None else _repeated(s, length)
        )
        ids = {
            role: _repeated(as_ids([of] if _is_single(of, self._vocabulary(role)) else of, role), length)
            for role, of in ids.items()
        }
        return Asked(vectors, ids, single)

    def _content_side(self) -> Side | None:
        return self.context_ if self.queries_ is None else self.queries_

    def _neighbors_of(self, users: Any, queries: Any) -> Mapping[str, Any]:
        if self.queries_ is None:
            return super()._neighbors_of(users, queries)
        if users is not None and queries is not None:
            raise ValueError("neighbors are of users or of queries: pass one of them")
        return {"user": users} if users is not None else {"query": queries}

    # --- playlists ----------------------------------------------------------------------------------------

    def playlist(
        self,
        user: Any = None,
        seed: Any = None,
        length: int = 20,
        *,
        items: Any = None,
        exclude: Events | None = None,
    ) -> Ids:
        """A walk of so many items from a seed item on: each is the query for the next, none comes twice.

        Queries must be items, as in the logs of `tw.sessions`. The seed is not in the list. `items` restricts
        it to some; left out are the items that the user has in `exclude`. It ends early where none remain.
        """
        self._check_fitted()
        if "query" not in self.roles:
            raise ValueError("a playlist needs a model of queries: fit it on tw.sessions.consecutive(log)")
        check_count("length", length)
        if seed is None:
            raise ValueError("a playlist needs an item to begin with: pass seed=")
        known = self.item_vocabulary
        left = np.zeros(len(known), dtype=bool)
        left[slice(None) if items is None else self._known_items(items)] = True
        if user is not None and exclude is not None:
            left[self._excluded({"user": [user]}, exclude).row(0)] = False
        if known.codes([seed])[0] >= 0:
            left[known.codes([seed])] = False
        elif self._vocabulary("query").codes([seed])[0] < 0:
            raise ValueError(f"the model knows the seed {seed!r} neither as an item nor as a query")
        found: list[int] = []
        asked = {} if user is None or "user" not in self.roles else {"users": user}
        while len(found) < length and left.any():
            query = seed if not found else known.ids[found[-1]]
            scores = self.score_block(queries=query, **asked)[0]
            scores[~left] = -np.inf
            found.append(int(np.argmax(scores)))
            left[found[-1]] = False
        return known.ids[np.array(found, dtype=np.int64)]


def _rows_of(side: Side | None, codes: npt.NDArray[np.int64], columns: int) -> Floats:
    """The vectors of a side, and zeros for what it does not know."""
    assert side is not None
    vectors = np.zeros((len(codes), columns), dtype=np.float32)
    known = codes >= 0
    vectors[known] = side.vectors(columns, codes[known])
    return vectors


def _runs(users: npt.NDArray[np.int64]) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Each of the known users, and where they are."""
    order = np.argsort(users, kind="stable")
    starts = np.flatnonzero(np.diff(users[order], prepend=-1) > 0)
    for start, end in pairwise([*starts, len(order)]):
        yield int(users[order[start]]), order[start:end]


def _common_length(parts: Mapping[str, npt.NDArray[Any]]) -> int:
    """Of batches of the same length, and of one of length one that goes with each of the others."""
    lengths = {role: len(part) for role, part in parts.items()}
    longest = max(lengths.values())
    if {*lengths.values()} - {1, longest} or (0 in lengths.values() and longest > 0):
        named = {"user": "users", "query": "queries"}
        listed = " and ".join(f"{length} {named.get(role, role)}" for role, length in lengths.items())
        raise ValueError(f"users and queries must be as many, or one of them single, got {listed}")
    return longest


def _repeated(part: npt.NDArray[Any], length: int) -> npt.NDArray[Any]:
    return part if len(part) == length else np.repeat(part, length, axis=0)
