"""The maximum flow against the minimum cut, which small networks allow to find by trying all."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from mote.compiler.plan.memory.max_flow import FOREVER, Flow

SIZE = 6
VERTEX = st.integers(0, SIZE - 1)
ARCS = st.lists(st.tuples(VERTEX, VERTEX, st.sampled_from((0, 1, 2, 5, 9, FOREVER))), max_size=20)


def least_cut(arcs: list[tuple[int, int, int]]) -> int:
    """The least capacity out of a set with the first vertex and without the last."""
    inner = range(1, SIZE - 1)
    sides = [{0, *chosen} for n in range(SIZE - 1) for chosen in combinations(inner, n)]
    return min(sum(c for tail, head, c in arcs if tail in side and head not in side) for side in sides)


@given(ARCS)
def test_the_most_that_flows_is_the_least_cut(arcs: list[tuple[int, int, int]]) -> None:
    flow = Flow(SIZE)
    for arc in arcs:
        flow.add(*arc)
    assert flow.send(0, SIZE - 1) == least_cut(arcs)
    assert flow.send(0, SIZE - 1) == 0


def test_vertices_are_added_one_by_one() -> None:
    flow = Flow(2)
    middle = flow.vertex()
    flow.add(0, middle, 7)
    flow.add(middle, 1, 4)
    assert flow.send(0, 1) == 4
