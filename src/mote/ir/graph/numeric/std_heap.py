"""std::make_heap and its kin as in the C++ library that LiteRT is built with: ties keep the order that they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Before = Callable[[int, int], bool]
"""Whether an element is less than another; the greatest is on top."""


def push(heap: list[int], hole: int, top: int, value: int, before: Before) -> None:
    """Put a value into a hole, and lift it as far as `top`."""
    while hole > top and before(heap[(hole - 1) // 2], value):
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = value


def adjust(heap: list[int], top: int, length: int, value: int, before: Before) -> None:
    """Let the hole at `top` sink to the bottom, then lift the value from there."""
    hole = child = top
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if before(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    push(heap, hole, top, value, before)


def pop(heap: list[int], before: Before) -> int:
    """Take the greatest element away."""
    top, value = heap[0], heap.pop()
    if heap:
        adjust(heap, 0, len(heap), value, before)
    return top


def largest(values: Sequence[float], count: int) -> list[int]:
    """Where the `count` largest values are, from the largest on."""

    def before(a: int, b: int) -> bool:
        return values[a] > values[b]

    heap = list(range(len(values)))
    for top in range(count // 2 - 1, -1, -1):
        adjust(heap, top, count, heap[top], before)
    for i in range(count, len(values)):
        if before(heap[i], heap[0]):
            value, heap[i] = heap[i], heap[0]
            adjust(heap, 0, count, value, before)
    for last in range(count - 1, 0, -1):
        value, heap[last] = heap[last], heap[0]
        adjust(heap, 0, last, value, before)
    return heap[:count]
