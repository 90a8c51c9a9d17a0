"""The options that describe a model: from words on the command line to a model, and back.

Only options that were typed are passed on, so the defaults are the library's.
"""

from __future__ import annotations

import argparse
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from topwise.cli.arguments import count, metric, number
from topwise.cli.errors import UsageError

if TYPE_CHECKING:
    from topwise.losses import Loss
    from topwise.models import Embedding

Options: TypeAlias = dict[str, Any]

MODELS = {
    "matrix-factorization": "MatrixFactorization",
    "item-bag": "ItemBag",
    "wsabie": "Wsabie",
    "lcr": "LCR",
    "maxmf": "MaxMF",
    "lasr": "LaSR",
}
LOSSES = ("warp", "auc", "owpc", "kos")


def _max_norm(value: str) -> float | str | None:
    if value in ("auto", "none"):
        return None if value == "none" else value
    try:
        return number(above=0)(value)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; or auto, or none") from None


def _bound(value: str) -> float | None:
    return None if value == "none" else number(above=0)(value)


def _tastes(value: str) -> int | str:
    return value if value == "auto" else count()(value)


def _position(value: str) -> int | list[float]:
    if "," not in value:
        return count()(value)
    return [number(least=0)(part) for part in value.split(",")]


@dataclass(frozen=True)
class _Option:
    """A parameter of a model or of a loss as an option; `parse=None` is a switch."""

    name: str
    parse: Callable[[str], Any] | None
    help: str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    parameter: str | None = None

    @property
    def target(self) -> str:
        return self.parameter or self.name

    def add(self, group: Any, defaults: Mapping[str, Any]) -> None:
        flag = "--" + self.name.replace("_", "-")
        if self.parse is None:
            group.add_argument(flag, action="store_true", default=argparse.SUPPRESS, help=self.help)
            return
        default = defaults.get(self.target)
        known = f" (default: {default})" if default is not None else ""
        group.add_argument(
            flag,
            type=self.parse,
            default=argparse.SUPPRESS,
            metavar=self.metavar,
            choices=self.choices,
            help=self.help + known,
        )


_POSITIVE = number(above=0)

MODEL_OPTIONS = (
    _Option("dim", count(), "the length of the vectors", "N"),
    _Option("epochs", count(), "passes over the events, at most", "N"),
    _Option("learning_rate", _POSITIVE, "the first step size", "RATE"),
    _Option("max_norm", _max_norm, "the longest that a row may be: C, auto to find it, or none", "C"),
    _Option("norm_exponent", number(0, 1), "how much longer rows of frequent items may be", "X"),
    _Option("optimizer", str, "how rows are stepped", choices=("adagrad", "sgd")),
    _Option("schedule", str, "how the step size falls", choices=("linear", "cosine", "constant")),
    _Option("item_bias", None, "learn one more factor an item"),
    _Option("init_scale", _POSITIVE, "the deviation of the first random rows (default: 0.3/dim)", "S"),
    _Option("threads", count(), f"threads (default: all, {os.cpu_count()} here); 1 repeats bit for bit", "N"),
    _Option("patience", count(), "stop after so many epochs without a better validation", "N"),
    _Option("metric", metric, "what validation looks at", "METRIC"),
    _Option("seed", count(0), "of everything random", "N"),
    _Option("steps", count(), "LaSR: the steps after step 0", "T"),
    _Option("list_size", count(), "LaSR: the length of the lists that a step hands on", "K"),
    _Option("list_norm", number(0, 1), "LaSR: the ball of S as a share of C (default: 1/Σw)", "X"),
    _Option("warm", None, "LaSR: begin a step at the rows of the one before"),
    _Option("inference", str, "LaSR: how a list is found", choices=("iterative", "greedy", "beam")),
    _Option("beam", count(), "LaSR: the beginnings that beam keeps", "M"),
    _Option("candidates", count(), "rank only so many again (lasr: all of them; two-stage: 100)", "N"),
    _Option(
        "identity", number(0), "Wsabie's α: the weight of the product of raw features", "A", None, "alpha"
    ),
    _Option("interaction", str, "what U_u may be (lcr)", choices=("none", "diagonal", "lowrank", "full")),
    _Option("rank", count(), "the rows of a low rank (lcr)", "N"),
    _Option("interaction_norm", _bound, "the ball of U_u around the identity: C, or none (lcr)", "C"),
    _Option("repeats", None, "validate without leaving out what a pair had in training (lcr)"),
    _Option("tastes", _tastes, "vectors of a user: T, or auto, by the number of positives (maxmf)", "T"),
    _Option(
        "smooth", number(0, 1), "what each taste weighs over the one before; 0 is the maximum (maxmf)", "X"
    ),
    _Option("stages", count(), "2: items first, then every user alone (maxmf)", "N"),
)
LOSS_OPTIONS = (
    _Option("margin", _POSITIVE, "by how much a positive is to lead (default: 1)", "M"),
    _Option("alpha", str, "what a rank weighs (default: 1/i)", choices=("1/i", "mean", "ndcg")),
    _Option("top", count(), "ranks past this one add nothing", "N"),
    _Option("max_trials", count(), "draws for a violator, at most (default: 2000; warp, kos)", "N"),
    _Option("violators", count(), "violators of a step (default: 1; warp, owpc, kos)", "K"),
    _Option("corrected", None, "correct the overestimation of ranks (warp, kos)"),
    _Option("refresh", count(), "steps that share one scoring of the catalogue (default: 16; owpc)", "N"),
    _Option("positives", count(), "positives to draw and order (default: 5; kos)", "K", None, "k"),
    _Option("position", _position, "the place to train, or K weights such as 1,2,1 (default: 2; kos)", "P"),
)


def add_model_options(parser: argparse.ArgumentParser, more: tuple[str, ...] = ()) -> None:
    """The model (or one of `more`), its parameters and its loss."""
    from topwise import models

    kinds = (models.LCR, models.LaSR, models.MaxMF, models.Wsabie)
    signatures = [inspect.signature(kind.__init__).parameters for kind in kinds]
    defaults = {name: parameter.default for known in signatures for name, parameter in known.items()}
    group = parser.add_argument_group("model")
    group.add_argument("--model", choices=(*MODELS, *more), help="(default: matrix-factorization)")
    for option in MODEL_OPTIONS:
        option.add(group, defaults)
    group = parser.add_argument_group("loss")
    group.add_argument("--loss", choices=LOSSES, default=argparse.SUPPRESS, help="(default: warp)")
    for option in LOSS_OPTIONS:
        option.add(group, {})


def typed_options(args: argparse.Namespace) -> Options:
    """The options of model and loss that were typed."""
    names = ["loss", *(option.name for option in (*MODEL_OPTIONS, *LOSS_OPTIONS))]
    return {name: getattr(args, name) for name in names if hasattr(args, name)}


def build_model(kind: str, options: Options) -> Embedding:
    """An unfitted model with these options."""
    from topwise import models

    cls = getattr(models, MODELS[kind])
    known = inspect.signature(cls.__init__).parameters
    params = {}
    for option in MODEL_OPTIONS:
        if option.name in options:
            if option.target not in known:
                raise UsageError(f"--{option.name.replace('_', '-')} does not go with the model {kind}")
            params[option.target] = options[option.name]
    loss = build_loss(options)
    model: Embedding = cls(**params, **({} if loss is None else {"loss": loss}))
    try:
        model.check_params()
    except ValueError as error:
        raise UsageError(str(error)) from None
    return model


def build_loss(options: Options) -> Loss | None:
    """The loss with these options; None when none is named, which is WARP."""
    from topwise import losses

    chosen = [option for option in LOSS_OPTIONS if option.name in options]
    if not chosen and "loss" not in options:
        return None
    name = options.get("loss", "warp")
    cls = getattr(losses, name.upper())
    own, of_base = {}, {}
    for option in chosen:
        if option.target in _field_names(cls):
            own[option.target] = options[option.name]
        elif cls is losses.KOS and option.target in _field_names(losses.WARP):
            of_base[option.target] = options[option.name]
        else:
            raise UsageError(f"--{option.name.replace('_', '-')} does not go with the loss {name}")
    if of_base:
        own["base"] = losses.WARP(**of_base, **{key: own[key] for key in ("margin",) if key in own})
    loss: Loss = cls(**own)
    return loss


def _field_names(cls: type[Any]) -> set[str]:
    return {field.name for field in fields(cls)}


# --- and back -------------------------------------------------------------------------------------------


def option_words(options: Options) -> list[str]:
    """The options as they would be typed."""
    words = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is None and name in ("max_norm", "interaction_norm"):
            words += [flag, "none"]
        elif value is not None and value is not False:
            written = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += [flag, written]
    return words


def python_expression(model: Embedding) -> str:
    """The model as it would be made in Python, defaults left out."""
    return f"tw.{_expression(model, model.get_params())}"


def _expression(thing: Any, values: Mapping[str, Any]) -> str:
    from topwise.losses import Loss

    parameters = inspect.signature(type(thing).__init__).parameters
    parts = []
    for name, value in values.items():
        if value != parameters[name].default:
            loss = isinstance(value, Loss)
            shown = f"tw.{_expression(value, vars(value))}" if loss else repr(value)
            parts.append(f"{name}={shown}")
    return f"{type(thing).__name__}({', '.join(parts)})"
