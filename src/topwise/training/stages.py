"""Training in two stages, for more users than one machine learns together (the map-reduce of the slides):
f_1(u, d) = 1/|D_u| Σ_{i ∈ D_u} V_i · V_d gives the item vectors; then every user's tastes are learned alone,
with f_2(u, d) = max_t Û_tu · V*_d and V* fixed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from topwise.data import Events, Features, Vocabulary
from topwise.models.base import Embedding
from topwise.models.item_bag import ItemBag
from topwise.models.side import Side
from topwise.models.tables import aligned

if TYPE_CHECKING:
    from topwise.models.max_mf import MaxMF

_SHARED = (
    *("dim", "loss", "epochs", "learning_rate", "max_norm", "norm_exponent", "optimizer", "schedule"),
    *("item_bias", "init_scale", "threads", "patience", "metric", "seed"),
)


class ItemStage:
    """Where the second stage has its item vectors from: a model that was given, or an `ItemBag` of a log."""

    def __init__(self, model: MaxMF, given: Embedding | None = None) -> None:
        self.params = {name: getattr(model, name) for name in _SHARED}
        self.given = given
        self._learned: list[tuple[Events, Embedding]] = []

    def bag(self, **params: Any) -> ItemBag:
        """An unfitted first stage."""
        return ItemBag(**{**self.params, **params})

    def learned(self, log: Events, model: Embedding) -> None:
        """Keeps the first stage of a log."""
        self._learned.append((log, model))

    def items_of(self, log: Events) -> Side:
        """A copy of the item vectors that were learned from a log; of another log they are learned now.

        The search for max_norm asks for those of its own part of the log, lest they have seen what judges it.
        """
        if self.given is not None:
            return _copied(self.given)
        for known, model in self._learned:
            if known is log:
                return _copied(model)
        norm = self._learned[0][1].max_norm_ if self._learned else self.params["max_norm"]
        params = {"max_norm": norm, "patience": None}
        self.learned(log, self.bag(**params).fit(log, progress=False))
        return self.items_of(log)


def _copied(model: Embedding) -> Side:
    vocabulary = Vocabulary(model.item_vocabulary.ids)
    return Side("item", vocabulary, aligned(model.item_vectors(), model.columns))


def fit_two_stages(
    model: MaxMF,
    train: Events,
    validation: Events | None,
    features: dict[str, Features | None],
    items_from: Embedding | None,
    cluster: str | None,
    parts: str | Path | None,
    arguments: dict[str, Any],
) -> None:
    """The first stage, unless its vectors are given; then the second, here or on a cluster."""
    from topwise.training.fit import check_inputs

    check_inputs(train, validation, features)
    given = [f"{role}_features" for role, value in features.items() if value is not None]
    if given:
        raise ValueError(
            f"stages=2 has its items from ItemBag, which takes no features, got {', '.join(given)}: "
            "use stages=1"
        )
    _check_items_from(model, items_from)
    if parts is not None and cluster is None:
        raise ValueError("parts is where a cluster keeps what it has done: pass cluster= as well")
    if cluster is not None:
        from topwise.cluster import check_available

        check_available()
        wrong = [name for name in ("checkpoint", "callback") if arguments[name] is not None]
        if validation is not None or wrong:
            name = wrong[0] if wrong else "validation"
            raise ValueError(
                f"{name} goes by epochs of all users, which a cluster does not have: leave it out "
                "(parts= keeps what is done)"
            )
    stage = ItemStage(model, items_from)
    interrupted = False
    if items_from is None:
        bag, interrupted = _first_stage(stage, train, validation, parts, arguments)
        stage.learned(train, bag)
    model._item_stage = stage
    try:
        if interrupted:
            _briefly(model, train, arguments)
        elif cluster is not None:
            from topwise.cluster import fit_tastes

            fit_tastes(model, train, cluster, parts, arguments["progress"])
        else:
            Embedding.fit(model, train, validation, **arguments)
    finally:
        model._item_stage = model._positives = None


def _first_stage(
    stage: ItemStage,
    train: Events,
    validation: Events | None,
    parts: str | Path | None,
    arguments: dict[str, Any],
) -> tuple[Embedding, bool]:
    """The fitted `ItemBag`, and whether Ctrl-C ended it."""
    kept = None if parts is None else Path(parts) / "items.safetensors"
    if kept is not None and kept.exists():
        from topwise.models.files import load

        return load(kept), False
    beside = {key: arguments[key] for key in ("checkpoint_every", "resume", "progress")}
    if arguments["checkpoint"] is not None:
        beside["checkpoint"] = f"{arguments['checkpoint']}.items"
    bag = stage.bag().fit(train, validation, **beside)
    if kept is not None and not bag.interrupted_:
        kept.parent.mkdir(parents=True, exist_ok=True)
        bag.save(kept)
    return bag, bag.interrupted_


def _briefly(model: MaxMF, train: Events, arguments: dict[str, Any]) -> None:
    """Ctrl-C has ended the first stage: one pass over the log makes of its vectors a usable model."""
    norm = model.max_norm
    if norm == "auto":
        model.max_norm = model._stage()._learned[0][1].max_norm_
    try:
        Embedding.fit(model, train, callback=lambda _: False, progress=arguments["progress"])
    finally:
        model.max_norm = norm


def _check_items_from(model: MaxMF, items_from: Embedding | None) -> None:
    if items_from is None:
        return
    if not isinstance(items_from, Embedding):
        raise TypeError(f"items_from must be a fitted model, got {type(items_from).__name__}")
    items_from._check_fitted()
    ours, theirs = (model.dim, bool(model.item_bias)), (items_from.dim, bool(items_from.item_bias))
    if ours != theirs:
        raise ValueError(
            f"items_from has dim={theirs[0]} and item_bias={theirs[1]}, and this model dim={ours[0]} and "
            f"item_bias={ours[1]}: they must be the same"
        )
