"""Forests: every kernel against the operator's reference, on features at, just above and just below thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.pack.forest import BYTES, HALVES, WORDS, ForestTable, Width, keys_of, slots_of, table_of
from mote.frontends.trees.forest import Leaf, Tree, TreeNode, grow
from mote.frontends.trees.forest import TreeEnsemble as Described
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.forest import Forest, Trees
from tests.compiler.kernels.c_harness import Program
from tests.compiler.kernels.rooms import Collection, Rooms
from tests.helpers.offered import offered
from tests.helpers.support import FUZZ, emulated, examples

ROWS = 60
MUTANTS = examples(300)
Rng = np.random.Generator


def tree(rng: Rng, features: int, depth: int, leaf: object, sets: bool) -> Tree:
    """A random tree; some of its nodes divide what a feature can be into several parts."""
    nodes: list[TreeNode | Leaf | None] = [None]
    ahead = [(0, 0)]
    while ahead:
        at, level = ahead.pop()
        if level == depth or rng.random() < 0.1:
            nodes[at] = leaf()  # type: ignore[operator]
            continue
        first = len(nodes)
        nodes += [None, None]
        ahead += [(first, level + 1), (first + 1, level + 1)]
        count = int(rng.integers(1, 6)) if sets and rng.random() < 0.3 else 1
        bounds = sorted({round(float(b), 1) for b in rng.normal(0, 40, count)})
        children = tuple(first + i % 2 for i in range(len(bounds) + 1))
        nodes[at] = TreeNode(int(rng.integers(features)), tuple(bounds), children, first + int(rng.integers(2)))
    return [node for node in nodes if node is not None]


def described(
    seed: int, form: str, *, features: int = 9, trees: int = 4, depth: int = 4, outputs: int = 3
) -> Described:
    rng = np.random.default_rng(seed)
    outputs = 1 if form == "sum" else outputs
    made = []
    for number in range(trees):
        leaves = {
            "vote": lambda: Leaf(int(rng.integers(outputs)), (1.0,)),
            "sum": lambda: Leaf(0, (float(rng.normal()),)),
            "column": lambda n=number: Leaf(n % outputs, (float(rng.normal()),)),
            "row": lambda: Leaf(0, tuple(rng.dirichlet(np.ones(outputs)).tolist())),
        }
        made.append(tree(rng, features, depth, leaves[form], sets=seed % 2 == 0))
    return Described(features, made, (0.0,) * outputs, doubles=seed % 3 != 0, missing=seed % 4 < 2)


@dataclass(frozen=True, eq=False)
class Case:
    trees: Trees
    dtype: DType
    seed: int

    @cached_property
    def rows(self) -> Array:
        return rows_for(self.trees, self.dtype, np.random.default_rng(self.seed))

    @cached_property
    def graph(self) -> Graph:
        sums = DType.FLOAT32 if self.trees.values.dtype == np.float32 else DType.INT32
        x = Tensor(0, "x", (ROWS, self.trees.features), self.dtype)
        y = Tensor(1, "y", (ROWS, self.trees.outputs), sums)
        op = Forest(inputs=(0,), outputs=(1,), trees=self.trees)
        assert op.unsupported(Graph("forest", {0: x, 1: y}, (op,), (0,), (1,))) is None
        return Graph("forest", {0: x, 1: y}, (op,), (0,), (1,)).verify()

    @property
    def kernels(self) -> list[Packed]:
        return offered(self.graph, self.graph.ops[0])


def rows_for(trees: Trees, dtype: DType, rng: Rng) -> Array:
    """Rows of thresholds of the features, of their neighbours, and of numbers at the ends of the type."""
    rows = np.zeros((ROWS, trees.features), dtype.numpy)
    for feature in range(trees.features):
        at = trees.threshold[trees.feature == feature]
        if dtype == DType.FLOAT32:
            near = [at, np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf)), -at]
            odd = [0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3e38] + ([] if trees.numbers else [np.nan, -np.nan] * 4)
        else:
            low, high = dtype.limits
            near = [np.clip(at.astype(np.int64) + d, low, high) for d in (-1, 0, 1)]
            odd = [low, high, 0]
        rows[:, feature] = rng.choice(np.concatenate([*near, *near, np.array(odd)]).astype(dtype.numpy), ROWS)
    return rows


def check(cases: list[Case], program: Program) -> None:
    """All kernels of all cases in one program."""
    wanted = []
    for case in cases:
        (want,) = case.graph.ops[0].evaluate(case.graph, [case.rows])
        for kernel in case.kernels:
            params = program.params(kernel)
            block, out = program.block(case.rows.nbytes, case.rows), program.block(want.nbytes)
            scratch = [] if kernel.needs.scratch is None else [program.block(kernel.needs.scratch)]
            arguments = ", ".join(map(str, [params, block, out, kernel.entry.units, *scratch]))
            program.say(f"mote_{kernel.name}({arguments});")
            program.write(out, want.nbytes)
            wanted.append((kernel.family, kernel.name, want, case))
    got = program.run()
    for family, name, want, case in wanted:
        found = np.frombuffer(got[: want.nbytes], want.dtype).reshape(want.shape)
        got = got[want.nbytes :]
        assert np.array_equal(found.view(np.uint32), want.view(np.uint32)), (family, name, case.seed, case.dtype)
    assert not got


TYPES = (DType.FLOAT32, DType.INT16, DType.INT8, DType.UINT8, DType.INT32)
FORMS = ("vote", "sum", "column", "row")


def cases(count: int) -> list[Case]:
    single = Described(2, [[Leaf(1, (1.0,))], [Leaf(0, (1.0,))], [Leaf(1, (1.0,))]], (0.0, 0.0))
    found = [Case(grow(single, DType.INT16).trees, DType.INT16, 0)]
    for seed in range(count):
        form, dtype = FORMS[seed % 4], TYPES[seed % 5]
        found.append(Case(grow(described(seed, form), dtype).trees, dtype, seed))
    return found


def test_kernels_give_what_the_reference_gives() -> None:
    check(cases(20 if FUZZ else 5), Program())


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus"])
def test_kernels_give_the_same_on_cores(core: str) -> None:
    check(cases(5), Program(emulated(core)))


def test_large_forests_have_larger_elements() -> None:
    """Many slots, many leaves and long distances, and what is too much for bytes."""
    long = grow(described(1, "vote", trees=1, depth=9, features=20), DType.FLOAT32).trees
    wide = grow(described(4, "sum", trees=22, depth=5, features=400), DType.INT16).trees
    found = [Case(long, DType.FLOAT32, 1), Case(wide, DType.INT16, 4)]
    names = {k.name.split("_")[4] for case in found for k in case.kernels if k.family == "forest_ranked"}
    assert names == {"u8", "u16"}
    check(found, Program())


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("width", [BYTES, HALVES, WORDS], ids=["bytes", "halves", "words"])
@pytest.mark.parametrize("dtype", TYPES)
def test_tables_of_every_width_lead_to_the_same_leaves(width: Width, dtype: DType) -> None:
    for seed in range(2):
        trees = grow(described(seed, "row", trees=3, depth=7), dtype).trees
        found = table_of(trees, slots_of(trees, width, dtype), width, np.arange(len(trees.values)))
        assert isinstance(found, ForestTable)
        rows = rows_for(trees, dtype, np.random.default_rng(seed))
        for row, want in zip(rows, trees.reached(rows), strict=True):
            codes = [slot_code(slot, row[slot.key[0]], slot.key[1]) for slot in found.slots.slots]
            assert np.array_equal(found.walk(np.array(codes, np.int64)), want)


@pytest.mark.parametrize("width", [BYTES, HALVES], ids=["bytes", "halves"])
@pytest.mark.parametrize("dtype", TYPES)
def test_codes_decide_what_thresholds_decide_for_every_number(width: Width, dtype: DType) -> None:
    """Codes never fall where numbers grow. So it is enough that at every threshold of every node the number has a code
    that is not above the node's, and the next number one that is."""
    for seed in range(3):
        trees = grow(described(seed, "row", trees=6, depth=7, features=3), dtype).trees
        slots, keys = slots_of(trees, width, dtype), keys_of(trees.threshold)
        for number, slot in enumerate(slots.slots):
            every = np.arange(-(1 << 15), 1 << 15) if dtype != DType.FLOAT32 else np.sort(np.r_[keys, keys + 1])
            assert np.all(np.diff(slot.codes(every)) >= 0)
            (nodes,) = np.nonzero(slots.slot == number)
            assert np.all(trees.feature[nodes] == slot.key[0])
            assert np.all(slot.codes(keys[nodes]) <= slots.code[nodes])
            assert np.all(slot.codes(keys[nodes] + 1) > slots.code[nodes])


def test_keys_compare_as_numbers_do() -> None:
    rng = np.random.default_rng(0)
    numbers = np.concatenate([rng.normal(size=99), [0.0, 1e-45, -1e-45, np.inf, -np.inf, 3e38]]).astype(np.float32)
    numbers = np.sort(np.concatenate([numbers, -numbers]))
    keys = keys_of(numbers)
    assert np.all((np.diff(keys) > 0) == (np.diff(numbers.view(np.uint32).astype(np.int64)) != 0))
    assert keys_of(np.array([-0.0, 0.0], np.float32)).tolist() == [-1, 0]


def slot_code(slot: object, value: np.generic, low: bool) -> int:
    if value != value:
        return 0 if low else len(slot.thresholds)  # type: ignore[attr-defined]
    return int(slot.codes(keys_of(np.array([value])))[0])  # type: ignore[attr-defined]


def test_parameters_of_images_that_are_admitted_break_nothing(tmp_path: Path) -> None:
    """Tables of every form and width, and mutants of them, under the sanitizers: see `rooms.py`."""
    collection = Collection(each=1)
    for seed, (form, dtype) in enumerate(
        (("vote", DType.FLOAT32), ("sum", DType.INT16), ("column", DType.INT8), ("row", DType.FLOAT32))
    ):
        collection.add(Case(grow(described(seed, form, trees=3, depth=4), dtype).trees, dtype, seed).graph)
    wide = grow(described(4, "row", trees=4, depth=5, features=300, outputs=9), DType.INT16).trees
    collection.add(Case(wide, DType.INT16, 4).graph)
    cases = [case for case in collection.cases if not case.packed.price.written]
    assert {case.packed.family for case in cases} == {"forest", "forest_ranked"}
    rooms = Rooms(cases, tmp_path)
    findings = rooms.run(MUTANTS)
    assert not findings, "\n".join(map(str, findings))
    assert min(rooms.admitted.values()) > MUTANTS / 50, rooms.admitted
