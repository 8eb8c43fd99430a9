"""Binary heaps that order ties exactly as std::push_heap, std::pop_heap and std::partial_sort of LiteRT's C++
library."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Less = Callable[[int, int], bool]
"""Comparison operator<: whether the first element is less than the second. The greatest element is on top."""


def push(heap: list[int], hole: int, top: int, value: int, less: Less) -> None:
    """Insert `value` at index `hole` and sift it up, at most to index `top`."""
    while hole > top and less(heap[(hole - 1) // 2], value):
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = value


def adjust(heap: list[int], top: int, length: int, value: int, less: Less) -> None:
    """Sift the hole at `top` down to a leaf, then sift `value` up from there."""
    hole = child = top
    while child < (length - 1) // 2:
        child = 2 * (child + 1)
        if less(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if length % 2 == 0 and child == (length - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    push(heap, hole, top, value, less)


def pop(heap: list[int], less: Less) -> int:
    """Remove and return the greatest element."""
    top, value = heap[0], heap.pop()
    if heap:
        adjust(heap, 0, len(heap), value, less)
    return top


def largest(values: Sequence[float], count: int) -> list[int]:
    """Indices of the `count` largest values, in descending order of the values."""

    def less(a: int, b: int) -> bool:
        return values[a] > values[b]

    heap = list(range(len(values)))
    for top in range(count // 2 - 1, -1, -1):
        adjust(heap, top, count, heap[top], less)
    for i in range(count, len(values)):
        if less(heap[i], heap[0]):
            value, heap[i] = heap[i], heap[0]
            adjust(heap, 0, count, value, less)
    for last in range(count - 1, 0, -1):
        value, heap[last] = heap[last], heap[0]
        adjust(heap, 0, last, value, less)
    return heap[:count]
