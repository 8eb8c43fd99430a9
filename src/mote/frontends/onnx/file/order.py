"""The order in which nodes are read: each after those that it depends on, whatever order the file has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from heapq import heappop, heappush
from typing import NoReturn

from mote.base.text import printable
from mote.frontends.onnx.file.container import named
from mote.frontends.onnx.file.tensors import DamagedError
from mote.frontends.onnx.node import FileNode


def in_order(calls: Sequence[FileNode], given: Sequence[str]) -> list[FileNode]:
    """Nodes after those that they read from, and otherwise as they are: exporters and editors append nodes. Checks that
    every node has outputs, that no name is computed twice, and that no node depends on itself."""
    made = _makers(calls, given)
    needs = [{made[name] for name in call.reads if name in made} for call in calls]
    readers: list[list[int]] = [[] for _ in calls]
    for place, before in enumerate(needs):
        for maker in before:
            readers[maker].append(place)
    missing = [len(before) for before in needs]
    ready = [place for place, count in enumerate(missing) if not count]
    order: list[int] = []
    while ready:
        order.append(heappop(ready))
        for reader in readers[order[-1]]:
            missing[reader] -= 1
            if not missing[reader]:
                heappush(ready, reader)
    if len(order) < len(calls):
        _refuse_cycle(calls, made, needs, set(order))
    return [calls[place] for place in order]


def _makers(calls: Sequence[FileNode], given: Sequence[str]) -> dict[str, int]:
    """The place of the node that computes each name."""
    made: dict[str, int] = {}
    for place, call in enumerate(calls):
        if not call.outputs:
            raise DamagedError(f"{named(place, call)} has no outputs")
        for name in call.outputs:
            if name and (name in made or name in given):
                raise DamagedError(f"'{printable(name)}' is computed twice, the second time by {named(place, call)}")
            made |= {name: place} if name else {}
    return made


def _refuse_cycle(
    calls: Sequence[FileNode], made: Mapping[str, int], needs: Sequence[Set[int]], ordered: Set[int]
) -> NoReturn:
    """Names a value of a cycle: whoever is not in order needs somebody who is not, and at last one again."""
    at, seen = next(place for place in range(len(calls)) if place not in ordered), dict[int, None]()
    while at not in seen:
        seen[at] = None
        at = min(needs[at] - ordered)
    name = min(name for name in calls[at].reads if made.get(name) in seen)
    raise DamagedError(f"'{printable(name)}' depends on itself, at {named(at, calls[at])}")
