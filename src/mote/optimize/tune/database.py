"""Cost database: measured cycles of layers with kernels, reused across models.

A file is a journal (`mote.search.Journal`): a JSON line per cost, appended in one write, so that several tunings may
share a file and a kill loses at most the last line. Files are merged by concatenation. The key is a digest of the
part's memories and pipeline, the tools, and the layer with its kernel."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mote.base.errors import MoteError
from mote.optimize.search import Journal
from mote.optimize.tune.trials import LayerTime


@dataclass(frozen=True)
class KnownCost:
    """A measured cost, with human-readable context."""

    cycles: int
    kernel: str
    target: str
    tools: str


class CostDatabase:
    """Costs by key, of a file and of this process."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._journal = None if path is None else Journal(path)
        self._here: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._here) if self._journal is None else len(self._journal)

    def cycles(self, key: str) -> int | None:
        """Measured cycles of a layer with a kernel; None if unknown."""
        if key in self._here:
            return self._here[key]
        if self._journal is None or key not in self._journal:
            return None
        cost: KnownCost = self._journal.read(key, KnownCost)
        if cost.cycles < 0:
            raise MoteError(
                f"holds {cost.cycles} cycles", where=self._journal.path, remedy=f"delete the line of {key[:12]}..."
            )
        return cost.cycles

    def add(self, times: Iterable[LayerTime], target: str, tools: str) -> None:
        """Records measurements; the first one of a key is kept."""
        for time in times:
            if time.key and self.cycles(time.key) is None:
                self._here[time.key] = time.cycles
                if self._journal is not None:
                    name = f"layer {'+'.join(time.layers)}"
                    self._journal.add(time.key, name, KnownCost(time.cycles, time.kernel, target, tools))
