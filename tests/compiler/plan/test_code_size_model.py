"""Kernels of operators that share pieces of code: the choice against all choices."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mote import compile
from mote.compiler.kernels.contract import Instance, Packed
from mote.compiler.plan.selection.code_size_model import code, flash, missing, smallest
from tests.helpers.network import Net

PIECES = ("a", "b", "c", "d")
CODE = {name: tuple(["nop"] * (100 * (n + 1))) for n, name in enumerate(PIECES)}


def kernel(nbytes: int, pieces: frozenset[str]) -> Packed:
    """A kernel with so many bytes of constants."""
    made = tuple(Instance("MOTE_MADE", (name,), CODE[name]) for name in sorted(pieces))
    return Packed("made", {"weights": np.zeros(nbytes, np.int8)}, instances=made, headers=("made",))


KERNELS = st.builds(kernel, st.integers(0, 2000), st.frozensets(st.sampled_from(PIECES), max_size=2))
OFFERED = st.lists(st.lists(KERNELS, min_size=1, max_size=4), min_size=1, max_size=4)


@given(OFFERED)
@settings(max_examples=60, deadline=None)
def test_nothing_that_changes_one_operator_takes_less(offered: list[list[Packed]]) -> None:
    chosen = list(smallest({(n,): kernels for n, kernels in enumerate(offered)}).values())
    least, best = flash(chosen), min(flash(kernels) for kernels in product(*offered))
    assert best <= least
    for n, kernels in enumerate(offered):
        assert all(least <= flash([*chosen[:n], other, *chosen[n + 1 :]]) for other in kernels)


def test_a_piece_that_no_operator_would_take_alone_is_shared() -> None:
    own, shared = kernel(0, frozenset("d")), kernel(1200, frozenset("a"))
    apart = [Packed("own", {"weights": np.zeros(1500 + n, np.int8)}, headers=("made",)) for n in range(3)]
    assert set(smallest({(0,): [apart[0], shared]}).values()) == {apart[0]}
    together = smallest({(n,): [one, shared, own] for n, one in enumerate(apart)})
    assert set(together.values()) == {own}


def test_time_counts_as_the_bytes_that_it_is_worth() -> None:
    slow, fast = kernel(0, frozenset()), kernel(400, frozenset("a"))

    def alone(cycles: float) -> list[Packed]:
        time = {slow: cycles, fast: 0.0}
        return list(smallest({(0,): [slow, fast]}, lambda ops, k: time[k] + k.own_flash).values())

    assert alone(100.0) == [slow] and alone(2000.0) == [fast]
    assert missing(fast, set()) > missing(fast, code(fast).keys()) == 0


def test_balanced_has_less_code() -> None:
    """Of layers of many depths."""
    net, relu = Net(), {"fused_activation_function": "RELU", "quant": (0.05, -128)}
    x = net.input(1, 4, 5, 64)
    for outputs in (96, 120, 88, 104, 136, 112, 72):
        x = net.conv(x, outputs, 1, **relu)
    model = net.finish(x)
    made = {}
    for optimize in ("speed", "balanced"):
        plan = compile(model, target="cortex-m4", optimize=optimize).plan
        made[optimize] = sum({i: i.instructions for step in plan.steps for i in step.kernel.instances}.values())
    assert made["balanced"] < 0.8 * made["speed"]
