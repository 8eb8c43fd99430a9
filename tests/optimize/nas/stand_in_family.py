"""A family whose accuracies are a formula, and whose models are all the same file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from mote.base.errors import MoteError
from mote.base.progress import Say
from mote.optimize.nas.costs.network_costs import DoesNotFit, NetworkCosts
from mote.optimize.nas.family import Choice, FinishedMember
from mote.optimize.search import digest

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"


@dataclass(frozen=True)
class StandInFamily:
    """Width and depth of nothing: more of both is better, width more so, and both cost."""

    name: str = "stand-in"
    shared: bool = False
    ram: int = 1000
    log: str = ""
    """A file that gets a line for each score."""
    broken: int = 0
    """The width from which on training fails."""

    @property
    def key(self) -> str:
        return digest(self.name, self.shared, self.ram)

    def first(self) -> Sequence[Choice]:
        return [{"width": 1, "depth": 1}, {"width": 20, "depth": 20}]

    def random(self, rng: Random) -> Choice:
        return {"width": rng.randint(1, 20), "depth": rng.randint(1, 20)}

    def mutated(self, choice: Choice, rng: Random) -> Choice:
        name = rng.choice(["width", "depth"])
        return {**choice, name: min(20, max(1, choice[name] + rng.choice([-2, -1, 1, 2])))}

    def crossed(self, one: Choice, other: Choice, rng: Random) -> Choice:
        return {name: rng.choice([one, other])[name] for name in one}

    def described(self, choice: Choice) -> str:
        return f"width {choice['width']}, depth {choice['depth']}"

    def costs(self, choice: Choice) -> NetworkCosts | DoesNotFit:
        width, depth = choice["width"], choice["depth"]
        ram = 100 * width
        if ram > self.ram:
            return DoesNotFit(f"takes {ram} bytes of RAM, {self.ram} are allowed")
        return NetworkCosts(ram, 50 * width * depth, 1000 * width * width * depth)

    def estimate(self, choice: Choice) -> NetworkCosts | DoesNotFit | None:
        """Costs that are a little off, and say of more than fits that it does."""
        costs = replace(self, ram=2 * self.ram).costs(choice)
        return replace(costs, flash=costs.flash + 7) if isinstance(costs, NetworkCosts) else costs

    def prepared(self, checkpoint: str, say: Say) -> StandInFamily:
        if checkpoint:
            Path(checkpoint).write_bytes(b"weights")
        return self

    def score(self, choice: Choice, epochs: int) -> float:
        assert self.shared or isinstance(self.costs(choice), NetworkCosts), "what does not fit is never trained"
        if self.broken and choice["width"] >= self.broken:
            raise MoteError("training did not converge")
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{self.described(choice)}, {epochs} epochs\n")
        long = 1.0 if self.shared else 1 - 0.5 / epochs
        return long * (1 - 1 / (1 + choice["width"] + 0.3 * choice["depth"]))

    def finish(self, choice: Choice, epochs: int) -> FinishedMember:
        if self.broken and choice["width"] % 2:
            raise MoteError("odd widths cannot be written")
        return FinishedMember({"model.tflite": DIGITS.read_bytes()}, self.score(choice, epochs))
