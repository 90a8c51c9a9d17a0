"""Sound as counts of typical frames: MFCCs with their differences, and a dictionary of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from topwise.data import Features
from topwise.features import needs
from topwise.models.params import Params, check_count

Floats = npt.NDArray[np.float32]

COEFFICIENTS = 13
WINDOW, HOP = 0.025, 0.010  # seconds
_DIFFERENCE = 9  # frames that a difference looks at


def frames(sound: str | Path | npt.NDArray[Any], rate: int = 22_050) -> Floats:
    """13 MFCCs with their first and second differences, 39 numbers a frame, a frame each 10 ms.

    Windows are Hamming's, of 25 ms. A path is read as one channel at `rate`; an array is taken to have it.
    A louder copy of a sound differs in the first coefficient alone, which is the loudness.
    """
    librosa = needs("librosa")
    check_count("rate", rate, 2000)
    samples = _samples(sound, rate)
    length = round(WINDOW * rate)
    # No floor that depends on the loudest frame: what a frame is does not hang on the rest of the track.
    power = librosa.feature.melspectrogram(
        y=samples,
        sr=rate,
        n_fft=1 << (length - 1).bit_length(),
        win_length=length,
        hop_length=round(HOP * rate),
        window="hamming",
        center=False,
        n_mels=40,
    )
    decibels = librosa.power_to_db(power, amin=1e-10, top_db=None)
    cepstrum = librosa.feature.mfcc(S=decibels, n_mfcc=COEFFICIENTS)
    # Frames beyond the ends are like the last ones, so that short sounds have differences too.
    beyond = _DIFFERENCE // 2
    padded = np.pad(cepstrum, ((0, 0), (beyond, beyond)), mode="edge")
    first, second = (librosa.feature.delta(padded, width=_DIFFERENCE, order=order) for order in (1, 2))
    parts = [cepstrum, first[:, beyond:-beyond], second[:, beyond:-beyond]]
    return np.ascontiguousarray(np.concatenate(parts).T, dtype=np.float32)


class SoundWords(Params):
    """A track as counts: of each of its frames, which vector of a dictionary is nearest.

    `fit` learns the dictionary by k-means from frames of all tracks, and gives the tracks' counts; `encode`
    counts for other tracks. One track is held at a time, and the frames that the dictionary is learned from.

    Parameters
    ----------
    words: the size of the dictionary.
    rate: the samples of a second, to which files are brought.
    frames_per_track: the frames of a track, drawn at random, that the dictionary learns from; None is all.
    iterations: passes of k-means at most.
    """

    def __init__(
        self,
        words: int = 2000,
        *,
        rate: int = 22_050,
        frames_per_track: int | None = 500,
        iterations: int = 20,
        seed: int = 0,
    ) -> None:
        self.words = words
        self.rate = rate
        self.frames_per_track = frames_per_track
        self.iterations = iterations
        self.seed = seed

    def fit(self, ids: Any, tracks: Iterable[str | Path | npt.NDArray[Any]]) -> Features:
        """Learns the dictionary from tracks, given as paths or as arrays of samples; gives their counts."""
        cluster = needs("sklearn.cluster")
        self._check()
        rng = np.random.default_rng(self.seed)
        every = list(tracks)
        if not every:
            raise ValueError("tracks must have at least one track, got none")
        sample = np.concatenate([self._some(frames(track, self.rate), rng) for track in every])
        if len(sample) < self.words:
            raise ValueError(
                f"a dictionary of {self.words} words needs as many frames, got {len(sample)}: "
                "lower words, or raise frames_per_track"
            )
        model = cluster.MiniBatchKMeans(
            self.words, max_iter=self.iterations, n_init=1, batch_size=4096, random_state=self.seed
        )
        self.dictionary_: Floats = model.fit(sample).cluster_centers_.astype(np.float32)
        self.model_ = model
        return self.encode(ids, every)

    def encode(self, ids: Any, tracks: Iterable[str | Path | npt.NDArray[Any]]) -> Features:
        """The counts of other tracks."""
        if not hasattr(self, "model_"):
            raise ValueError("these SoundWords have no dictionary yet: call fit first")
        counts = [self._counts(frames(track, self.rate)) for track in tracks]
        matrix = np.stack(counts) if counts else np.empty((0, self.words))
        return Features.from_matrix(ids, matrix, identity=False)

    def _counts(self, found: Floats) -> npt.NDArray[np.int64]:
        return np.bincount(self.model_.predict(found), minlength=self.words)

    def _some(self, found: Floats, rng: np.random.Generator) -> Floats:
        if self.frames_per_track is None or len(found) <= self.frames_per_track:
            return found
        return found[rng.choice(len(found), self.frames_per_track, replace=False)]

    def _check(self) -> None:
        check_count("words", self.words)
        check_count("rate", self.rate, 2000)
        check_count("iterations", self.iterations)
        check_count("seed", self.seed, 0)
        if self.frames_per_track is not None:
            check_count("frames_per_track", self.frames_per_track)


def _samples(sound: Any, rate: int) -> Floats:
    if isinstance(sound, str | Path):
        path = Path(sound)
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        samples = needs("librosa").load(path, sr=rate, mono=True)[0]
    else:
        samples = np.asarray(sound)
        if samples.ndim != 1 or samples.dtype.kind not in "iuf":
            raise TypeError(
                "a sound must be a path, or the samples of one channel, "
                f"got {samples.ndim} dimensions of {samples.dtype}"
            )
        if samples.dtype.kind in "iu":  # as files have them: full scale is 1
            samples = samples / float(np.iinfo(samples.dtype).max)
    if not np.isfinite(samples).all():
        raise ValueError("the samples of a sound must be finite")
    least = 1 << (round(WINDOW * rate) - 1).bit_length()
    if len(samples) < least:
        raise ValueError(
            f"a sound must have at least {least} samples, one window at {rate} a second, got {len(samples)}"
        )
    return np.ascontiguousarray(samples, dtype=np.float32)
