"""A measurer that knows the cycles of every kernel beforehand, so that what tuning finds can be told in advance."""

from __future__ import annotations

from dataclasses import dataclass, field
from zlib import crc32

from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Packed
from mote.hardware.targets import Target
from tests.helpers.network import Net


@dataclass(frozen=True)
class Counted:
    """Cycles by a digest of the kernel's name, knobs and place of constants; fewer for what is favoured."""

    favoured: tuple[str, ...] = ()
    flags: str = ""
    """Compiler flags with which all takes a tenth less."""
    seen: list[dict[str, str]] = field(default_factory=list, compare=False, hash=False)

    def tools(self, target: Target) -> str:
        return f"counted {self.favoured} {self.flags}"

    def check(self, target: Target) -> None:
        pass

    def cycles(self, compiled: Compiled) -> list[int]:
        self.seen.append(dict(compiled.settings.kernels))
        share = 9 if self.flags and compiled.settings.flags == self.flags else 10
        return [self.of(steps[0].kernel) * share // 10 for _, steps in compiled.plan.works]

    def of(self, kernel: Packed) -> int:
        name = f"{kernel.family}{kernel.variant.removeprefix(kernel.name)}{'ram' * kernel.loaded}"
        return 10 if name in self.favoured else 1000 + crc32(name.encode()) % 1000


def small() -> bytes:
    """A convolution, a depthwise and a pointwise one, and a classifier."""
    net = Net()
    x = net.conv(net.depthwise(net.conv(net.input(1, 8, 8, 4), 8)), 8, 1)
    return net.finish(net.fully_connected(net.mean(x), 4))


SMALL = small()
