"""Loads spread between products: nothing is read before it is loaded, or after something else took its register."""

from __future__ import annotations

import pytest

from mote.kernels.helium.gemm.gemm_assembly import Columns, Pixels
from mote.kernels.helium.gemm.schedule import Load, Product, scheduled


def replayed(lines: list[str]) -> dict[str, list[tuple[str, str]]]:
    """What is added to each sum, with registers as what was loaded into them: the number of the load and its place."""
    held: dict[str, str] = {}
    sums: dict[str, list[tuple[str, str]]] = {}
    for number, line in enumerate(text for text in lines if text.startswith("v")):
        op, first, *others = line.replace(",", "").split()
        if op == "vldrw.u32":
            place = " ".join(others)
            held[first] = f"{place} {number if '],' in line else ''}"
        else:
            sums.setdefault(first, []).append((held.get(others[0], others[0]), held.get(others[1], others[1])))
    return sums


def test_loads_come_between_products() -> None:
    steps = [Load("a", "[r1]"), Load("b", "[r2]"), Product("mul", "r0", ("a", "q7")), Product("mul", "r0", ("b", "q7"))]
    assert scheduled(steps, ["q0"]) == ["vldrw.u32 q0, [r1]", "mul r0, q0, q7", "vldrw.u32 q0, [r2]", "mul r0, q0, q7"]


def test_too_few_registers() -> None:
    steps = [Load("a", "[r1]"), Load("b", "[r2]"), Product("mul", "r0", ("a", "b"))]
    with pytest.raises(AssertionError, match="too few registers"):
        scheduled(steps, ["q0"])


@pytest.mark.parametrize(
    "lines",
    [
        Pixels(4, 64).pairs(1),
        Pixels(9, 136).pairs(1),
        Pixels(3, 48, 3).pairs(1),
        Columns(3, 3, 1, 16).pairs(1),
        Columns(3, 3, 2, 32).pairs(1),
        Columns(2, 5, 3, 16).pairs(1),
    ],
)
def test_each_sum_has_its_products(lines: list[str]) -> None:
    """As many for each sum, none twice, the first of which begins it."""
    sums = replayed(lines)
    counts = {len(products) for products in sums.values()}
    assert len(sums) in (6, 8) and len(counts) == 1
    assert all(len(set(products)) == len(products) for products in sums.values())
    begun = [line.split()[1] for line in lines if line.startswith("vmladav.s8")]
    assert sorted(begun) == sorted(f"{name}," for name in sums)
    products = [line for line in lines if line.startswith("vmladav")]
    for name in sums:
        assert next(line for line in products if line.split()[1] == f"{name},").startswith("vmladav.s8")
