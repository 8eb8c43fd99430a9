"""Loads spread between products: nothing is read before it is loaded, or after something else took its register."""

from __future__ import annotations

import pytest

from mote.compiler.kernels.helium.depthwise.depthwise_assembly import cycles as overlapping
from mote.compiler.kernels.helium.gemm.gemm_assembly import (
    CHANNELS,
    ROW_POINTERS,
    SUMS,
    Columns,
    Outputs,
    Pixels,
    Weights,
)
from mote.compiler.kernels.helium.gemm.schedule import Load, Product, scheduled
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.pack.requantize.vector import LaneForm


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


def pair_of(pixels: Pixels | Columns, form: LaneForm, scaled: bool = False) -> list[str]:
    """The instructions of a pair of pixels, with what turns the sums of the pair before it into bytes."""
    outputs = Outputs(Requantize(form, 16), 16, scaled)
    weights = Weights(pixels.weights, len(outputs.registers))
    free = outputs.registers[weights.count :] if weights.resident else outputs.registers
    return scheduled(pixels.products(weights), free, outputs.finish())


@pytest.mark.quick_cases(8)
@pytest.mark.parametrize("form, scaled", [(LaneForm.LINE, False), (LaneForm.LINE, True), (LaneForm.TWICE, False)])
@pytest.mark.parametrize(
    "pixels",
    [
        Pixels(1, 16),
        Pixels(4, 64),
        Pixels(9, 136),
        Pixels(3, 48),
        Columns(3, 3, 1, 16, 16),
        Columns(3, 3, 2, 32, 32),
        Columns(2, 5, 3, 16, 16),
    ],
    ids=str,
)
def test_each_sum_has_its_products(pixels: Pixels | Columns, form: LaneForm, scaled: bool) -> None:
    """As many for each sum, none twice; the first begins it, behind what takes the sum before it to its lane."""
    lines = pair_of(pixels, form, scaled)
    products = [line for line in lines if line.startswith("vmladav")]
    sums = replayed(products_and_loads(lines))
    assert sorted(sums) == sorted(register for four in SUMS for register in four)
    assert {len(each) for each in sums.values()} == {pixels.weights // CHANNELS}
    assert all(len(set(each)) == len(each) for each in sums.values())
    for name in sums:
        first = next(line for line in products if line.split()[1] == f"{name},")
        taken = next(n for n, line in enumerate(lines) if line.startswith("vmov q") and name in line.split(", ")[2:])
        assert first.startswith("vmladav.s8") and taken < lines.index(first)


@pytest.mark.parametrize("steps, scaled, cycles", [(1, True, 27), (2, True, 46), (4, False, 76)])
def test_pipelines_overlap(steps: int, scaled: bool, cycles: int) -> None:
    """Hardly two neighbours are for the same pipeline: a pair takes about a cycle for each instruction."""
    assert overlapping(pair_of(Pixels(steps, 16 * steps), LaneForm.LINE, scaled)) <= cycles + 1


def products_and_loads(lines: list[str]) -> list[str]:
    """Without the steps that turn sums into bytes, whose registers products do not have."""
    own = ("[r1", *(f"[{pointer}" for pointer in ROW_POINTERS))
    return [line for line in lines if line.startswith("vmladav") or line.split(", ")[-1].startswith(own) or
            line.split(", ")[1].startswith(own)]  # fmt: skip
