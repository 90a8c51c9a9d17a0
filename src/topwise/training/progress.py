"""A bar that shows how training goes; quiet where nobody looks at a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from topwise.training.session import EpochRecord


class Progress:
    """One step an epoch. `show=None` shows it in a terminal only."""

    def __init__(self, epochs: int, show: bool | None, stage: str = "training") -> None:
        from tqdm import tqdm

        self._stage = stage
        self._bar: Any = tqdm(
            total=epochs, unit="epoch", disable=None if show is None else not show, leave=True
        )

    def note(self, text: str) -> None:
        """A word on what is being done before the epochs."""
        self._bar.set_description_str(text if self._stage == "training" else f"{self._stage}: {text}")

    def expect(self, count: int, unit: str) -> None:
        """There are so many steps of another kind than epochs."""
        self._bar.reset(total=count)
        self._bar.unit = unit

    def one_more(self) -> None:
        """Such a step is done."""
        self._bar.set_description_str("training")
        self._bar.update(1)

    def show(self, record: EpochRecord) -> None:
        """An epoch is done."""
        self._bar.set_description_str(self._stage)
        fields = {
            "loss": f"{record.loss:.3f}",
            "trials": f"{record.trials:.1f}",
            "violators": f"{record.violators:.0%}",
        }
        if record.validation is not None:
            fields[str(record.metric)] = f"{record.validation:.4f}"
        self._bar.set_postfix(fields, refresh=False)
        self._bar.update(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()
