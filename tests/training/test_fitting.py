"""What a fit does around its epochs: validation, patience, the best epoch, callbacks, divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from logs import parts

import topwise as tw
from topwise.training import DivergenceError, EpochRecord

SETTINGS = {"dim": 8, "epochs": 10, "learning_rate": 0.3, "max_norm": 1.5, "threads": 1}
# Without the ball and with long steps, quality rises and then falls.
OVERFITTING = {
    "dim": 16,
    "epochs": 40,
    "learning_rate": 0.5,
    "max_norm": None,
    "schedule": "constant",
    "threads": 1,
}


def model_of(**params: Any) -> tw.MatrixFactorization:
    return tw.MatrixFactorization(**{**SETTINGS, **params})


def quality(model: tw.MatrixFactorization, on: tw.Events, train: tw.Events, metric: str = "ndcg@10") -> float:
    return float(tw.evaluate(model, on, metrics=[metric], exclude=train)[metric])


@pytest.mark.parametrize("metric", ["ndcg@10", "mean_rank", "rank_loss", "AP"])
def test_the_best_epoch_is_restored(metric: str) -> None:
    train, validation, _ = parts()
    records: list[EpochRecord] = []
    model = model_of(**OVERFITTING, metric=metric).fit(train, validation, callback=records.append)
    values = [record.validation for record in records]
    assert len(values) == 40
    best = min(values) if metric in ("mean_rank", "rank_loss") else max(values)
    assert model.best_epoch_ == values.index(best) + 1 < 40
    assert quality(model, validation, train, metric) == pytest.approx(best, rel=1e-9)
    assert values[-1] != best, "the last epoch must be worse, or nothing was restored"


def test_patience_ends_the_fit() -> None:
    train, validation, _ = parts()
    model = model_of(**{**OVERFITTING, "patience": 3}).fit(train, validation)
    assert len(model.history_records_) == model.best_epoch_ + 3 < 40
    short = model_of(**{**OVERFITTING, "epochs": model.best_epoch_}).fit(train)
    np.testing.assert_array_equal(model.item_vectors(), short.item_vectors())
    np.testing.assert_array_equal(model.mean_context_, short.mean_context_)


def test_validation_changes_nothing_but_when_to_stop() -> None:
    train, validation, _ = parts()
    losses = [
        [record["loss"] for record in model_of().fit(train, watched).history_records_]
        for watched in (validation, None)
    ]
    assert losses[0] == losses[1]


def test_every_metric_name_can_be_watched() -> None:
    train, validation, _ = parts()
    records: list[EpochRecord] = []
    model_of(metric="nDCG@5", epochs=1).fit(train, validation, callback=records.append)
    assert records[0].metric == "ndcg@5"
    with pytest.raises(ValueError, match="no such metric"):
        model_of(metric="no such metric").fit(train, validation)


def test_patience_and_validation_belong_together() -> None:
    train, validation, _ = parts()
    with pytest.raises(ValueError, match="patience needs a validation log: pass validation="):
        model_of(patience=2).fit(train)
    with pytest.raises(ValueError, match="validation must have at least one event, got an empty log"):
        model_of().fit(train, validation.take([]))
    with pytest.raises(TypeError, match=r"validation must be a log of events \(tw.Events\), got list"):
        model_of().fit(train, [1, 2])


def test_records_of_every_epoch() -> None:
    train, _, _ = parts()
    records: list[EpochRecord] = []
    model = model_of(schedule="linear").fit(train, callback=records.append)
    assert [record.epoch for record in records] == list(range(1, 11))
    rates = [record.learning_rate for record in records]
    np.testing.assert_allclose(rates, 0.3 * (1 - np.arange(10) / 10))
    for record in records:
        assert record.loss > 0
        assert 1 <= record.trials < 90
        assert 0 < record.violators <= 1
        assert record.seconds > 0
        assert record.validation is None
    assert records[-1].loss < records[0].loss
    assert records[-1].trials > records[0].trials
    assert model.history_records_ == [record.to_dict() for record in records]
    assert model.best_epoch_ == 10


def test_a_callback_stops_by_false_and_by_nothing_else() -> None:
    train, _, _ = parts()
    model = model_of().fit(train, callback=lambda record: record.epoch < 4)
    assert len(model.history_records_) == 4
    assert quality(model, parts()[2], train) > 0.2
    assert len(model_of().fit(train, callback=lambda record: None).history_records_) == 10
    assert len(model_of().fit(train, callback=lambda record: 0).history_records_) == 10


def test_an_error_in_a_callback_reaches_the_caller() -> None:
    train, _, _ = parts()
    model = model_of()

    def fail(record: EpochRecord) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(train, callback=fail)
    assert quality(model.fit(train), parts()[2], train) > 0.2


@pytest.mark.parametrize("threads", [1, 2])
def test_divergence_is_an_error_that_names_the_remedy(threads: int) -> None:
    train, _, _ = parts()
    model = model_of(learning_rate=1e6, optimizer="sgd", max_norm=None, threads=threads)
    with pytest.raises(DivergenceError, match=r"lower learning_rate \(now 1e\+06\) or set max_norm"):
        model.fit(train)
    with pytest.raises(tw.models.NotFittedError):
        model.recommend(users="u0")
    model.set_params(learning_rate=0.1, max_norm=1.0).fit(train)
    assert np.isfinite(model.item_vectors()).all()


@pytest.mark.parametrize("loss", [tw.AUC(), tw.OWPC(), tw.KOS(), tw.WARP(violators=3)], ids=repr)
def test_every_loss_survives_divergence(loss: tw.losses.Loss) -> None:
    train, _, _ = parts()
    with pytest.raises(DivergenceError):
        model_of(loss=loss, learning_rate=1e30, optimizer="sgd", max_norm=None).fit(train)


def test_events_that_cannot_be_learned_from() -> None:
    log = tw.Events.from_arrays(item=["a", "b"], user=["u", "v"], weight=[0.0, 0.0])
    with pytest.raises(
        ValueError, match="train must have at least one event with a weight above 0, got none"
    ):
        model_of().fit(log)


def test_logs_of_one_item_or_one_user() -> None:
    one_item = tw.Events.from_arrays(item=["a", "a"], user=["u", "v"])
    ids, _ = model_of().fit(one_item).recommend(users="u", k=3)
    assert ids.tolist() == ["a"]
    one_user = tw.Events.from_arrays(item=["a", "b"], user=["u", "u"])
    assert set(model_of().fit(one_user).recommend(users="u", k=3)[0]) == {"a", "b"}


def test_users_of_validation_that_are_not_in_train() -> None:
    train, _, _ = parts()
    others = tw.Events.from_arrays(item=["i1", "never seen"], user=["stranger", "stranger"])
    records: list[EpochRecord] = []
    model_of(epochs=2).fit(train, others, callback=records.append)
    assert all(0 <= record.validation <= 1 for record in records)
