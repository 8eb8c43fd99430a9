"""Maximum flow of a network, which equals its minimum cut, by Dinic's algorithm."""

from __future__ import annotations

FOREVER = 1 << 40
"""An infinite capacity."""


class Flow:
    """A network of numbered vertices and arcs. Arcs have even numbers; arc + 1 is the reverse arc."""

    def __init__(self, size: int) -> None:
        self.arcs: list[list[int]] = [[] for _ in range(size)]
        """Outgoing arcs of each vertex."""
        self.head: list[int] = []
        """Target vertex of each arc."""
        self.left: list[int] = []
        """Residual capacity of each arc."""

    def vertex(self) -> int:
        """Adds a vertex; returns its number."""
        self.arcs.append([])
        return len(self.arcs) - 1

    def add(self, tail: int, head: int, capacity: int) -> int:
        """Adds an arc; returns its number."""
        arc = len(self.head)
        self.head += (head, tail)
        self.left += (capacity, 0)
        self.arcs[tail].append(arc)
        self.arcs[head].append(arc + 1)
        return arc

    def send(self, source: int, sink: int) -> int:
        """Sends the maximum flow from source to sink; returns its value."""
        total = 0
        while (level := self._levels(source, sink)) is not None:
            total += self._fill(level, source, sink)
        return total

    def _levels(self, source: int, sink: int) -> list[int] | None:
        """Breadth-first distances from the source, -1 for vertices beyond the sink; None if the sink is unreachable."""
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
        """Sends a blocking flow along ascending levels; returns its value."""
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
        """Sends the bottleneck capacity along a path; returns it."""
        amount = min(self.left[arc] for arc in path)
        for arc in path:
            self.left[arc] -= amount
            self.left[arc ^ 1] += amount
        return amount
