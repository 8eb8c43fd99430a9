"""The models of the benchmarks and what others need for them: anchors.json."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "models"), str(HERE.parent)]

TFLM, TINYENGINE = "TFLM + CMSIS-NN", "TinyEngine"


@dataclass(frozen=True)
class Anchor:
    """One model. `engines` and `published` are as in anchors.json."""

    name: str
    file: str
    architecture: str
    engines: dict[str, dict[str, Any]]
    published: dict[str, dict[str, int]]

    def model(self, folder: Path | None) -> Path | bytes:
        """The published file, or a network of the same shape with random weights."""
        import mlperf_tiny

        return folder / self.file if folder else mlperf_tiny.build(self.architecture)

    def instructions(self, engine: str, core: str) -> int | None:
        found: int | None = self.engines.get(engine, {}).get("instructions", {}).get(core)
        return found

    def best_published(self, core: str) -> tuple[str, int] | None:
        """The engine with the fewest cycles on a core, and how many."""
        return min(self.published.get(core, {}).items(), key=lambda found: found[1], default=None)

    @property
    def rival(self) -> tuple[str, dict[str, Any]]:
        """The engine whose memory Mote's is held against: TFLM where it runs the model."""
        name = TFLM if TFLM in self.engines else TINYENGINE
        return name, self.engines[name]


def load() -> list[Anchor]:
    found = json.loads((HERE / "anchors.json").read_text())
    del found["about"]
    return [Anchor(name, **keys) for name, keys in found.items()]
