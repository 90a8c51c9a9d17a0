"""One safetensors file a model: parameters as tensors, everything else as JSON in its header. No pickle.

The header's metadata has "topwise_format" (the version), "topwise" (a JSON object) and "checksum". Ids are
tensors: ints as int64; text as its UTF-8 bytes and the offsets of each id. See docs/model-file.md.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from topwise.data import Csr, Vocabulary
from topwise.losses import Loss, loss_from_dict
from topwise.models.side import Side
from topwise.models.tables import aligned
from topwise.models.taste_side import TasteSide

if TYPE_CHECKING:
    from topwise.models.base import Embedding

Tensors: TypeAlias = dict[str, npt.NDArray[Any]]

FORMAT = 1


class ModelFileError(ValueError):
    """The file is not a model that this version can read."""


def save_model(model: Any, path: str | Path, extra: Tensors | None = None, **header: Any) -> None:
    """Writes a fitted model; `extra` tensors and header entries are for checkpoints."""
    tensors, description = describe(model)
    write_tensors(path, {**tensors, **(extra or {})}, {**description, **header})


def load(path: str | Path) -> Any:
    """The model in a file that `save` wrote: an `Embedding`, a ranker of judgments, a `TwoStage`."""
    header, tensors = read_tensors(path)
    if "checkpoint" in header:
        raise ModelFileError(f"{path} is a checkpoint of training: go on from it by fit(..., resume=True)")
    return rebuild(path, header, tensors)


# --- a model as tensors and JSON ------------------------------------------------------------------------


def describe(model: Any) -> tuple[Tensors, dict[str, Any]]:
    """The tensors of a model, and everything else as plain data."""
    if hasattr(model, "to_parts"):
        tensors, header = model.to_parts()
        return tensors, {**header, "params": {key: _plain(value) for key, value in header["params"].items()}}
    return _describe_embedding(model)


def _describe_embedding(model: Embedding) -> tuple[Tensors, dict[str, Any]]:
    tensors: Tensors = {}
    header: dict[str, Any] = {
        "class": type(model).__name__,
        "params": {key: _plain(value) for key, value in model.get_params().items()},
        "role": model.role_,
        "max_norm": getattr(model, "max_norm_", None),
        "best_epoch": getattr(model, "best_epoch_", 0),
        "history": getattr(model, "history_records_", []),
        "sides": {},
    }
    for name, side in model._sides().items():
        like = next(n for n, other in model._sides().items() if _same_ids_and_content(side, other))
        if like != name:  # another table of the same ids and content: its rows are all that is new
            tensors[f"{name}.rows"] = np.ascontiguousarray(side.rows[:, : model.columns])
            header["sides"][name] = {"like": like}
            continue
        header["sides"][name] = _put_side(tensors, name, side, model.columns)
    if hasattr(model, "mean_context_"):
        tensors["mean_context"] = model.mean_context_
    if model._history_is_context:
        header["contexts"] = put_vocabulary(tensors, "contexts", model.context_vocabulary)
        put_csr(tensors, "history", model.history_)  # type: ignore[attr-defined]
    more, entries = model._extra()
    return {**tensors, **more}, {**header, **entries}


def rebuild(path: str | Path, header: Mapping[str, Any], tensors: Tensors) -> Any:
    """The model that `describe` took apart."""
    kind = _kind(str(header.get("class")))
    if kind is None:
        raise ModelFileError(
            f"{path} holds a {header.get('class')}, which this version of topwise does not have; "
            "if it is a class of your own, import it first"
        )
    try:
        if hasattr(kind, "from_parts"):
            return kind.from_parts(dict(header), tensors)
        params = dict(header["params"])
        if isinstance(params.get("loss"), dict):
            params["loss"] = loss_from_dict(params["loss"])
        model: Embedding = kind(**params)
        model.role_ = header["role"]
        model.max_norm_ = header["max_norm"]
        model.best_epoch_ = header["best_epoch"]
        model.history_records_ = header["history"]
        model._put_sides(
            {
                name: _take_side(tensors, name, side, model.columns)
                for name, side in header["sides"].items()
                if "like" not in side  # of which the model itself knows what it is
            }
        )
        if "mean_context" in tensors:
            model.mean_context_ = tensors["mean_context"]
        if model._history_is_context:
            vars(model)["context_vocabulary_"] = take_vocabulary(tensors, "contexts", header["contexts"])
            vars(model)["history_"] = take_csr(tensors, "history", len(model.items_.vocabulary))
        model._take_extra(tensors, dict(header))
    except (KeyError, TypeError, IndexError) as error:
        raise ModelFileError(f"{path} is damaged or incomplete: {error!r}") from error
    return model


def _kind(name: str) -> Any:
    """A model class by its name, of the package or of the user."""
    from topwise import baselines, models, two_stage

    if name in baselines.__all__:  # imported by their names alone, each with the library that it needs
        return getattr(baselines, name)
    kinds: list[Any] = [models.Embedding, models.FeatureRanker, two_stage.TwoStage, two_stage.Run]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    ours_first = sorted(kinds, key=lambda kind: not kind.__module__.startswith("topwise."))
    return next((kind for kind in ours_first if kind.__name__ == name), None)


def _plain(value: Any) -> Any:
    if isinstance(value, Loss):
        return value.to_dict()
    if hasattr(value, "get_params"):
        return None  # a model among the parameters is kept as a model
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _same_ids_and_content(side: Side, other: Side) -> bool:
    shared = side.vocabulary is other.vocabulary and side.content is other.content
    return shared and (side.role, side.ids, side.lines) == (other.role, other.ids, other.lines)


def _put_side(tensors: Tensors, name: str, side: Side, columns: int) -> dict[str, Any]:
    tensors[f"{name}.rows"] = np.ascontiguousarray(side.rows[:, :columns])
    if side.content is not None:
        put_csr(tensors, f"{name}.content", side.content)
    if isinstance(side, TasteSide):
        tensors[f"{name}.indptr"] = side.indptr
    return {
        "role": side.role,
        "ids": side.ids,
        "vocabulary": put_vocabulary(tensors, name, side.vocabulary),
        "features": side.feature_names,
        "plan": side.plan,
    }


def _take_side(tensors: Tensors, name: str, header: Mapping[str, Any], columns: int) -> Side:
    features = header["features"]
    content = None if features is None else take_csr(tensors, f"{name}.content", len(features))
    side = Side(
        header["role"],
        take_vocabulary(tensors, name, header["vocabulary"]),
        aligned(tensors[f"{name}.rows"], columns),
        header["ids"],
        content,
        features,
        header["plan"],
    )
    indptr = tensors.get(f"{name}.indptr")
    return side if indptr is None else TasteSide(**vars(side), indptr=indptr)


def put_vocabulary(tensors: Tensors, name: str, vocabulary: Vocabulary) -> str:
    ids = vocabulary.ids
    if ids.dtype == np.int64:
        tensors[f"{name}.ids"] = ids
        return "int"
    encoded = [_encoded(id_) for id_ in ids.tolist()]
    tensors[f"{name}.ids"] = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
    tensors[f"{name}.offsets"] = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return "text"


def _encoded(id_: Any) -> bytes:
    if not isinstance(id_, str):
        raise TypeError(f"only ids that are ints or text can be saved, got the {type(id_).__name__} {id_!r}")
    return id_.encode()


def take_vocabulary(tensors: Tensors, name: str, kind: str) -> Vocabulary:
    if kind == "int":
        return Vocabulary(tensors[f"{name}.ids"])
    raw, offsets = tensors[f"{name}.ids"].tobytes(), tensors[f"{name}.offsets"].tolist()
    ids = np.empty(len(offsets) - 1, dtype=object)
    ids[:] = [raw[start:end].decode() for start, end in pairwise(offsets)]
    return Vocabulary(ids)


def put_csr(tensors: Tensors, name: str, matrix: Csr) -> None:
    tensors[f"{name}.indptr"] = matrix.indptr
    tensors[f"{name}.indices"] = matrix.indices
    if matrix.values is not None:
        tensors[f"{name}.values"] = matrix.values


def take_csr(tensors: Tensors, name: str, n_cols: int) -> Csr:
    return Csr(tensors[f"{name}.indptr"], tensors[f"{name}.indices"], n_cols, tensors.get(f"{name}.values"))


# --- files ----------------------------------------------------------------------------------------------


def write_tensors(path: str | Path, tensors: Tensors, header: Mapping[str, Any]) -> None:
    """Writes to a file beside the target and renames it, so that the target is never half a model."""
    from safetensors.numpy import save

    path = Path(path)
    text = json.dumps(header, allow_nan=True)
    metadata = {"topwise_format": str(FORMAT), "topwise": text, "checksum": _checksum(tensors, text)}
    # A copy of its own for every tensor: safetensors refuses views that share memory.
    data = save({name: np.array(array, order="C") for name, array in tensors.items()}, metadata)
    handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_tensors(path: str | Path) -> tuple[dict[str, Any], Tensors]:
    """The header and the tensors of a file of ours, or an error that says what is wrong with it."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no model file {path}")
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_format(path, metadata)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path} is not a model file, or is truncated: {error}") from error
    text = metadata.get("topwise", "")
    if metadata.get("checksum") != _checksum(tensors, text):
        raise ModelFileError(f"{path} was altered or damaged after it was saved: its checksum does not agree")
    header: dict[str, Any] = json.loads(text)
    return header, tensors


def _check_format(path: Path, metadata: Mapping[str, str]) -> None:
    version = metadata.get("topwise_format")
    if version is None:
        raise ModelFileError(f"{path} is a safetensors file, but not one of topwise")
    if not version.isdigit() or int(version) > FORMAT:
        raise ModelFileError(
            f"{path} has the format {version}, and this version of topwise reads up to {FORMAT}: "
            "upgrade topwise"
        )


def _checksum(tensors: Tensors, text: str) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
