"""Sound: shapes, what a louder or a later copy changes, silence, and a dictionary that tells tones apart."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import topwise as tw
from topwise.features import SoundWords, frames

Doubles = npt.NDArray[np.float64]

RATE = 8000


def tone(frequency: float, seconds: float = 1.0, seed: int = 0, noise: float = 0.05) -> Doubles:
    """A tone with an overtone, and noise, so that no band is silent."""
    time = np.arange(round(seconds * RATE)) / RATE
    sound = np.sin(2 * np.pi * frequency * time) + 0.4 * np.sin(4 * np.pi * frequency * time)
    return 0.2 * sound + noise * np.random.default_rng(seed).normal(size=len(time))


def write(path: Path, *channels: Doubles, rate: int = RATE) -> Path:
    """A WAV file of 16 bits."""
    samples = np.round(np.stack(channels, axis=1) * 32767).clip(-32768, 32767).astype("<i2")
    with wave.open(str(path), "wb") as file:
        file.setnchannels(len(channels))
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return path


def test_thirty_nine_numbers_each_ten_milliseconds(tmp_path: Path) -> None:
    sound = tone(440, 1.5)
    found = frames(sound, RATE)
    window = 256  # 25 ms are 200 samples, within the next power of two
    assert found.shape == (1 + (len(sound) - window) // 80, 39)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    from_file = frames(write(tmp_path / "a.wav", sound), RATE)
    np.testing.assert_allclose(from_file[:, 1:13], found[:, 1:13], atol=1.0)
    both = frames(write(tmp_path / "b.wav", sound, sound), RATE)
    np.testing.assert_allclose(both, from_file, atol=0.1)
    integers = frames(np.round(sound * 32767).astype(np.int16), RATE)
    np.testing.assert_allclose(integers, from_file, atol=0.5)


def test_files_are_brought_to_one_rate(tmp_path: Path) -> None:
    time = np.arange(2 * RATE) / (2 * RATE)
    slow = frames(write(tmp_path / "slow.wav", 0.3 * np.sin(2 * np.pi * 500 * time[::2])), RATE)
    fast = frames(write(tmp_path / "fast.wav", 0.3 * np.sin(2 * np.pi * 500 * time), rate=2 * RATE), RATE)
    assert slow.shape == fast.shape
    loud = slow[:, 1:6].mean(axis=0)
    np.testing.assert_allclose(fast[:, 1:6].mean(axis=0), loud, atol=0.25 * np.abs(loud).max())


def test_a_louder_copy_differs_in_the_first_coefficient_alone() -> None:
    sound = tone(600)
    found, louder = frames(sound, RATE), frames(4 * sound, RATE)
    np.testing.assert_allclose(louder[:, 1:], found[:, 1:], atol=2e-2)
    # 12.04 decibels in each of 40 bands; the first row of an orthonormal cosine transform is 1/√40.
    np.testing.assert_allclose(louder[:, 0] - found[:, 0], 20 * np.log10(4) * np.sqrt(40), rtol=1e-3)


def test_a_later_copy_has_the_same_frames_later() -> None:
    sound = tone(600, 1.0)
    shifted = np.concatenate([tone(300, 0.5, seed=1), sound])  # 50 steps of 10 ms
    found, later = frames(sound, RATE), frames(shifted, RATE)
    assert len(later) == len(found) + 50
    np.testing.assert_allclose(later[50:, :13], found[:, :13], atol=2e-2)
    # The differences look at four frames to either side.
    np.testing.assert_allclose(later[54:-4], found[4:-4], atol=2e-2)


def test_differences_are_slopes() -> None:
    sound = tone(600, 1.0) * np.exp(2 * np.arange(RATE) / RATE)
    cepstrum = frames(sound, RATE).astype(float)
    steps = np.arange(-4, 5)
    for frame in (10, 30, 60):
        slope = (steps[:, None] * cepstrum[frame - 4 : frame + 5, :13]).sum(axis=0) / (steps**2).sum()
        np.testing.assert_allclose(cepstrum[frame, 13:26], slope, atol=1e-2)
    assert cepstrum[20:-20, 13].mean() > 0
    assert abs(cepstrum[20:-20, 26].mean()) < 0.3


def test_silence_is_one_word_and_finite() -> None:
    found = frames(np.zeros(RATE), RATE)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, np.broadcast_to(found[0], found.shape), atol=1e-3)
    np.testing.assert_allclose(found[:, 1:], 0, atol=1e-3)
    words = SoundWords(4, rate=RATE)
    words.fit(["a", "b"], [tone(300), tone(1500)])
    counts = words.encode(["silence"], [np.zeros(RATE)]).matrix
    assert counts.nnz == 1
    assert counts.values is not None
    assert counts.values.tolist() == [len(found)]


@pytest.fixture(scope="module")
def tracks(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[str]]:
    """Files of three kinds of sound, twelve of each, of which some are silent for a while."""
    folder = tmp_path_factory.mktemp("tracks")
    paths, kinds = [], []
    for kind, frequency in (("low", 200), ("middle", 700), ("high", 2500)):
        for number in range(12):
            sound = tone(frequency * (1 + 0.01 * number), 0.6, seed=number)
            sound[: 800 * (number % 3)] = 0
            paths.append(write(folder / f"{kind}{number}.wav", sound))
            kinds.append(kind)
    return paths, kinds


def test_a_track_is_counts_of_a_dictionary(tracks: tuple[list[Path], list[str]]) -> None:
    paths, kinds = tracks
    names = [path.name for path in paths]
    words = SoundWords(20, rate=RATE, frames_per_track=30)
    counts = words.fit(names, paths)
    assert counts.matrix.shape == (36, 20)
    assert counts.vocabulary.ids.tolist() == names
    assert words.dictionary_.shape == (20, 39)
    n_frames = [len(frames(path, RATE)) for path in paths[:3]]
    np.testing.assert_array_equal(counts.matrix.to_dense()[:3].sum(axis=1), n_frames)
    # Each frame counts for the vector of the dictionary that is nearest.
    first = frames(paths[0], RATE)
    distances = ((first[:, None] - words.dictionary_) ** 2).sum(axis=2)
    expected = np.bincount(distances.argmin(axis=1), minlength=20)
    np.testing.assert_array_equal(counts.matrix.to_dense()[0], expected)
    np.testing.assert_array_equal(
        words.encode(names[:3], paths[:3]).matrix.to_dense(), counts.matrix.to_dense()[:3]
    )
    again = SoundWords(20, rate=RATE, frames_per_track=30).fit(names, paths)
    np.testing.assert_array_equal(again.matrix.to_dense(), counts.matrix.to_dense())
    log = tw.Events.from_arrays(item=kinds, query=names)
    learned = np.arange(36) % 3 != 0
    model = tw.baselines.NearestMeans("cosine").fit(log.take(learned), query_features=counts)
    assert tw.evaluate(model, log.take(~learned), metrics=["hit@1"])["hit@1"] > 0.9


def test_the_papers_dictionary_is_the_default() -> None:
    assert SoundWords().words == 2000
    short = tone(300, 0.5)
    for params, given, error, message in (
        ({}, [short], ValueError, "a dictionary of 2000 words needs as many frames, got"),
        ({"words": 0}, [short], ValueError, "words must be at least 1"),
        ({"frames_per_track": 0}, [short], ValueError, "frames_per_track must be at least 1"),
        ({"rate": 100}, [short], ValueError, "rate must be at least 2000, got 100"),
        ({"words": 2}, [], ValueError, "at least one track, got none"),
        ({"words": 2}, ["no such.wav"], FileNotFoundError, "there is no file no such.wav"),
        ({"words": 2}, [np.zeros((2, 900))], TypeError, "samples of one channel, got 2 dimensions"),
        ({"words": 2}, [np.full(9000, np.nan)], ValueError, "samples of a sound must be finite"),
        (
            {"words": 2},
            [np.zeros(100)],
            ValueError,
            "at least 256 samples, one window at 8000 a second, got 100",
        ),
    ):
        with pytest.raises(error, match=message):
            SoundWords(**{"rate": RATE, **params}).fit(range(len(given)), given)
    with pytest.raises(ValueError, match="no dictionary yet: call fit"):
        SoundWords().encode([0], [short])


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "librosa", None)
    with pytest.raises(ImportError, match=r"this needs librosa: pip install 'topwise\[audio\]'"):
        frames(tone(300), RATE)
    with pytest.raises(AttributeError, match="has no attribute 'colours'"):
        _ = tw.features.colours
