"""The maximum flow through a network, and so its minimum cut: what bounds and searches are made of.

Flow is sent along shortest paths, all of one length before any longer one (Dinic's algorithm).
"""

from __future__ import annotations

FOREVER = 1 << 40
"""A capacity that no sum of rows reaches."""


class Flow:
    """A network of numbered vertices; arcs are numbered too, and each is followed by its reverse."""

    def __init__(self, size: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(size)]
        """The arcs out of each vertex."""
        self.head: list[int] = []
        self.left: list[int] = []
        """The capacity of each arc that is not used."""

    def vertex(self) -> int:
        """Add a vertex; its number."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def add(self, tail: int, head: int, capacity: int) -> int:
        """Add an arc; its number."""
        arc = len(self.head)
        self.head += (head, tail)
        self.left += (capacity, 0)
        self.arcs[tail].append(arc)
        self.arcs[head].append(arc + 1)
        return arc

    def send(self, source: int, sink: int) -> int:
        """Send all that fits from source to sink; how much that is."""
        total = 0
        while (level := self._levels(source, sink)) is not None:
            total += self._fill(level, source, sink)
        return total

    def _levels(self, source: int, sink: int) -> list[int] | None:
        """The distance of vertices from the source, -1 where it is not below the sink's; None if the sink is out of
        reach."""
        arcs, head, left = self.arcs, self.head, self.left
        level = [-1] * len(arcs)
        level[source] = 0
        ring = [source]
        while ring and level[sink] < 0:
            following = []
            for v in ring:
                below = level[v] + 1
                for arc in arcs[v]:
                    u = head[arc]
                    if level[u] < 0 and left[arc]:
                        level[u] = below
                        following.append(u)
            ring = following
        return level if level[sink] >= 0 else None

    def _fill(self, level: list[int], source: int, sink: int) -> int:
        """Send along paths of ascending levels until all are blocked; how much that was."""
        arcs, head, left = self.arcs, self.head, self.left
        tried = [0] * len(arcs)
        path: list[int] = []
        total, v = 0, source
        while True:
            below = level[v] + 1
            for k in range(tried[v], len(arcs[v])):
                arc = arcs[v][k]
                if left[arc] and level[head[arc]] == below:
                    tried[v] = k
                    path.append(arc)
                    v = head[arc]
                    break
            else:
                if v == source:
                    return total
                level[v] = -1
                v = head[path.pop() ^ 1]
            if v == sink:
                total += self._push(path)
                full = next(k for k, arc in enumerate(path) if not left[arc])
                v = head[path[full] ^ 1]
                del path[full:]

    def _push(self, path: list[int]) -> int:
        """Send as much as fits along a path; how much that is."""
        amount = min(self.left[arc] for arc in path)
        for arc in path:
            self.left[arc] -= amount
            self.left[arc ^ 1] += amount
        return amount
