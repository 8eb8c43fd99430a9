"""Decision forests, as tables that a loop interprets (`mote_forest.h`) or as generated branches
(`mote_forest_code.h`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from mote.compiler.kernels.contract import (
    OTHER,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    Signature,
    View,
)
from mote.compiler.kernels.pack.forest import (
    BYTES,
    HALVES,
    WORDS,
    ForestTable,
    Slots,
    plain_slots,
    plain_type,
    slots_of,
    table_of,
)
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.forest import FEATURE_TYPES, SUM_TYPES, Forest, Trees

TYPES = {
    DType.FLOAT32: ("f32", "float"),
    DType.INT8: ("s8", "int8_t"),
    DType.UINT8: ("u8", "uint8_t"),
    DType.INT16: ("s16", "int16_t"),
    DType.INT32: ("s32", "int32_t"),
}
ALL = Signature(frozenset(FEATURE_TYPES), frozenset(SUM_TYPES))
CODE, SEARCH, FEATURE = 14, 9, 18
"""Estimated cycles to set up a feature code, of each step of its binary search, and of a feature whose code needs no
search."""
LOOP, TREE = 12, 14
"""Estimated cycles per node and per tree, for forests as tables."""
BRANCH, RESULT = 4.5, 5
"""Estimated cycles per node and per tree, for forests as generated code."""
KEY = 3
"""Extra cycles per node for float32 features."""
MAYBE_NONE = "features that may be NaN need codes"
DEEPEST = 100
"""Maximum depth of trees in generated code: C compilers need not support more than 127 nested blocks."""
MOST_NODES = 20_000
"""Maximum number of nodes in generated code."""
NODE_BYTES, LEAF_BYTES = 10, 4
"""Estimated code bytes per node and per leaf of generated code."""
LANES = 4
"""Maximum number of 32-bit words that packed vote counters may take."""


@dataclass(frozen=True, eq=False)
class Leaves:
    """The leaf values of a forest in one of the formats of `mote_forest.h`."""

    form: str
    """Format: vote, sum, column, some or row."""
    number: Ints
    """For each leaf of the trees: index of its value in this format."""
    params: Params
    columns: Ints
    """For each tree: the output that it adds to; empty unless each tree has a single output."""
    added: float = 0.0
    """Average number of values that a leaf adds, for formats with several."""

    @property
    def count(self) -> int:
        return int(self.number.max(initial=-1)) + 1


def _leaves(view: View) -> Leaves:
    trees = view.the(Forest).trees
    none: Params = {"added": 0, "kinds": 0}
    nothing = np.zeros(0, np.int64)
    if trees.width == 1 and trees.values.dtype == np.int32 and np.all(trees.values == 1):
        return Leaves("vote", trees.columns, none, nothing)
    if trees.width == 1 and all(len(np.unique(trees.columns[leaves])) == 1 for leaves in trees.leaves):
        values, number = np.unique(trees.values[:, 0], return_inverse=True)
        columns = np.array([trees.columns[leaves[0]] for leaves in trees.leaves], np.int64)
        params: Params = {"added": len(columns), "kinds": len(values), "values": values}
        several = trees.outputs > 1
        params |= {"columns": columns.astype(_column_type(trees).numpy)} if several else {}
        return Leaves("column" if several else "sum", number.reshape(-1), params, columns)
    rows = np.zeros((len(trees.values), trees.outputs), trees.values.dtype)
    np.put_along_axis(rows, trees.columns[:, None] + np.arange(trees.width, dtype=np.int64), trees.values, axis=1)
    values, number = np.unique(rows, axis=0, return_inverse=True)
    some = _sparse_leaves(values, number.reshape(-1), trees)
    if some is not None and sum(p.nbytes for p in some.params.values() if isinstance(p, np.ndarray)) < values.nbytes:
        return some
    params = {"added": 0, "kinds": values.size, "values": values.reshape(-1)}
    return Leaves("row", number.reshape(-1), params, nothing, trees.outputs)


def _sparse_leaves(rows: Array, number: Ints, trees: Trees) -> Leaves | None:
    """Sparse format without zero leaf values; None if their number exceeds 16-bit indices."""
    leaf, column = np.nonzero(rows)
    values, which = np.unique(rows[leaf, column], return_inverse=True)
    if max(len(leaf), len(values)) >= 1 << 16 or not len(leaf):
        return None
    starts = np.concatenate([[0], np.cumsum(np.count_nonzero(rows, axis=1))])
    params: Params = {
        "added": len(leaf),
        "kinds": len(values),
        "values": values,
        "columns": column.astype(_column_type(trees).numpy),
        "starts": starts.astype(np.uint16),
        "which": which.reshape(-1).astype(np.uint16),
    }
    return Leaves("some", number, params, np.zeros(0, np.int64), len(leaf) / len(rows))


def _column_type(trees: Trees) -> DType:
    return DType.UINT8 if trees.outputs <= 1 << 8 else DType.UINT16


def _types(view: View) -> tuple[str, str]:
    """C types of output indices and of sums."""
    trees = view.the(Forest).trees
    return f"{_column_type(trees)}_t", TYPES[view.output.dtype][1]


def _direct_table(view: View) -> Packed | Refusal:
    """Packs the table kernel that compares features directly."""
    trees, leaves, x = view.the(Forest).trees, view.once(_leaves), view.input.dtype
    if x == DType.FLOAT32 and not trees.numbers:
        return Refusal(MAYBE_NONE)
    slots = plain_slots(trees, x)
    table = table_of(trees, slots, BYTES, leaves.number)
    if isinstance(table, Refusal):
        return table
    kind = plain_type(slots.code, x)[0]
    name = f"forest_{leaves.form}_{TYPES[x][0]}_{kind.lower()}_{TYPES[view.output.dtype][0]}"
    types = (TYPES[x][1], "uint8_t", "uint16_t", *_types(view))
    key, at = _comparison(x)[0], f"MOTE_FOREST_{kind}_AT"
    arguments = (name, *types, key, at, slots.bytes, 8, f"MOTE_FOREST_{leaves.form.upper()}")
    level = LOOP + (KEY if x == DType.FLOAT32 else 0)
    return _table_kernel(view, table, Instance("MOTE_FOREST", arguments), {}, 0.0, level)


def _ranked_table(view: View) -> Packed | Refusal:
    """Packs the table kernel that first replaces features by codes; elements are as narrow as the forest allows."""
    trees, leaves, x, y = view.the(Forest).trees, view.once(_leaves), view.input.dtype, view.output.dtype
    table: ForestTable | Refusal = Refusal("it has no trees")
    for width in (BYTES, HALVES, WORDS):
        table = table_of(trees, slots_of(trees, width, x), width, leaves.number)
        if isinstance(table, ForestTable):
            break
    if isinstance(table, Refusal):
        return table
    width, slots = table.width, table.slots
    name = f"forest_ranked_{leaves.form}_{TYPES[x][0]}_u{width.bits}_{TYPES[y][0]}"
    types = (TYPES[x][1], TYPES[_threshold_type(x)][1], f"uint{width.bits}_t", f"uint{width.wide}_t", *_types(view))
    add = f"MOTE_FOREST_{leaves.form.upper()}"
    arguments = (name, *types, *_comparison(x), f"{width.most}u", width.bits % 32, add)
    params: Params = {
        "slots": slots.count,
        "listed": len(slots.thresholds),
        "slot": _array(slots.described, width.number),
        "thresholds": _array(slots.thresholds, _threshold_type(x).numpy),
    }
    packed = _table_kernel(view, table, Instance("MOTE_FOREST_RANKED", arguments), params, _coding_cost(slots), LOOP)
    return replace(packed, needs=replace(packed.needs, scratch=max(slots.count, 1) * width.code.itemsize))


def _table_kernel(view: View, table: ForestTable, made: Instance, params: Params, first: float, level: float) -> Packed:
    """Packs a table kernel. `first`: estimated cycles to compute codes; `level`: estimated cycles per node."""
    op, leaves, width = view.the(Forest), view.once(_leaves), table.width
    trees = op.trees
    params = {
        "features": trees.features,
        "outputs": trees.outputs,
        "near": table.near,
        "far": table.far,
        "more": table.more,
        "trees": len(trees.roots),
        "leaves": leaves.count,
        "size": len(table.elements),
        "nodes": _array(table.elements, width.code),
        "sizes": _array(table.sizes, width.number),
        "base": trees.base,
        "of": leaves.params,
        **params,
    }
    each = (TREE + _adding_cost(leaves)) * len(trees.roots)
    rows = op.rows(view.graph)
    cost = rows * (first + level * _visited_nodes(trees) + each)
    return Packed(
        str(made.arguments[0]), params, Entry(Call.FLAT, rows), price=Price(cost=float(cost)), instances=(made,)
    )


def _comparison(features: DType) -> tuple[str, str]:
    """C functions or macros that map a feature to a comparable integer and that test for NaN."""
    suffix = "f32" if features == DType.FLOAT32 else "s32"
    return f"mote_forest_key_{suffix}", f"MOTE_FOREST_NONE_{suffix.upper()}"


def _threshold_type(features: DType) -> DType:
    """The type in which thresholds are stored."""
    return DType.INT32 if features == DType.FLOAT32 else features


def _array(values: Array, dtype: np.dtype[np.generic]) -> Array:
    """A constant array; a single zero if it would be empty."""
    return values.astype(dtype) if values.size else np.zeros(1, dtype)


def _visited_nodes(trees: Trees) -> float:
    """Expected number of nodes visited in all trees, if both branches of a node are equally likely."""
    expected = np.zeros(trees.nodes)
    for i in reversed(range(trees.nodes)):
        expected[i] = 1 + sum(expected[r] for r in (trees.yes[i], trees.no[i]) if r >= 0) / 2
    return float(sum(expected[root] for root in trees.roots if root >= 0))


def _coding_cost(slots: Slots) -> float:
    """Estimated cycles to compute the codes of all slots."""
    return sum(CODE + SEARCH * np.log2(len(s.thresholds) + 1) if s.spread else FEATURE for s in slots.slots)


def _adding_cost(leaves: Leaves) -> float:
    """Estimated cycles to add a leaf's values to the sums."""
    return 8.0 * leaves.added


Condition = Callable[[int], str]
"""Returns the C condition of a node."""


@dataclass(frozen=True, eq=False)
class GeneratedCode:
    """A forest as generated C code, with its numbers of nodes and leaves, from which code size is estimated."""

    text: str
    nodes: int
    leaves: int

    @property
    def nbytes(self) -> int:
        return NODE_BYTES * self.nodes + LEAF_BYTES * self.leaves


def _generated_code(view: View, condition: Condition) -> GeneratedCode | Refusal:
    """Generates the code of all trees; the leaf format decides whether sums are kept in local variables."""
    trees, leaves = view.the(Forest).trees, view.once(_leaves)
    if max(map(trees.depth, range(len(trees.roots))), default=0) > DEEPEST:
        return Refusal(f"it has trees of more than {DEEPEST} levels")
    if trees.nodes > MOST_NODES:
        return Refusal(f"its code would be of more than {MOST_NODES} nodes")
    style = STYLES[leaves.form](trees, leaves)
    lines = style.begin()
    for tree, root in enumerate(trees.roots.tolist()):
        lines += [*_branches(trees, root, tree, condition, style.leaf), *style.after(tree)]
    lines += style.end()
    reached = sum(len(leaves_of_tree) for leaves_of_tree in trees.leaves)
    return GeneratedCode("\n".join(lines), trees.nodes, reached)


def _branches(trees: Trees, root: int, tree: int, condition: Condition, leaf: Callable[[int], str]) -> list[str]:
    """Generates a tree as nested branches. Subtrees that several nodes lead to are written once and reached by goto, as
    are all leaves, which follow the branches."""
    readers = Counter(r for node in trees.walk(root) if node >= 0 for r in (int(trees.yes[node]), int(trees.no[node])))
    lines: list[str] = []
    leaves: dict[str, str] = {}
    seen: set[int] = set()
    ahead: list[int | str] = [root]
    while ahead:
        what = ahead.pop()
        if isinstance(what, str):
            lines.append(what)
        elif what < 0 and root >= 0:
            label = leaves.setdefault(leaf(~what), f"leaf{tree}_{len(leaves)}")
            lines.append(f"goto {label};")
        elif what < 0:
            lines.append(leaf(~what))
        elif what in seen:
            lines.append(f"goto tree{tree}_{what};")
        else:
            seen.add(what)
            label = f"tree{tree}_{what}: " if readers[what] > 1 else ""
            lines.append(f"{label}if ({condition(what)}) {{")
            ahead += ["}", int(trees.no[what]), "} else {", int(trees.yes[what])]
    lines += [f"{label}: {text} goto behind{tree};" for text, label in leaves.items()]
    return [*lines, f"behind{tree}:;"] if leaves else lines


class Style:
    """Code generator for one leaf format; `leaf` returns the statement for a leaf of the trees."""

    def __init__(self, trees: Trees, leaves: Leaves) -> None:
        self.trees, self.leaves = trees, leaves
        self.base = [_literal(value) for value in trees.base]

    def begin(self) -> list[str]:
        return [f"out[{k}] = {value};" for k, value in enumerate(self.base)]

    def after(self, tree: int) -> list[str]:
        return []

    def end(self) -> list[str]:
        return []

    def leaf(self, leaf: int) -> str:
        raise NotImplementedError


class Votes(Style):
    """Votes for classes: counted in packed local variables if there are few classes, otherwise in the output."""

    def __init__(self, trees: Trees, leaves: Leaves) -> None:
        super().__init__(trees, leaves)
        self.bits = 8 if len(trees.roots) < 1 << 8 else 16
        self.each = 32 // self.bits
        self.words = -(-trees.outputs // self.each)
        self.packed = self.words <= LANES and len(trees.roots) < 1 << 16

    def begin(self) -> list[str]:
        return [f"uint32_t votes{w} = 0;" for w in range(self.words)] if self.packed else super().begin()

    def leaf(self, leaf: int) -> str:
        label = int(self.leaves.number[leaf])
        if not self.packed:
            return f"out[{label}]++;"
        return f"votes{label // self.each} += {1 << self.bits * (label % self.each)}u;"

    def end(self) -> list[str]:
        if not self.packed:
            return []
        mask = (1 << self.bits) - 1
        lines = []
        for k, value in enumerate(self.base):
            word, shift = f"votes{k // self.each}", self.bits * (k % self.each)
            shifted = f"{word} >> {shift}" if shift else word
            votes = shifted if shift == 32 - self.bits else f"{f'({shifted})' if shift else word} & {mask}u"
            lines.append(f"out[{k}] = (int32_t)({votes}){'' if value == '0' else f' + {value}'};")
        return lines


class Sums(Style):
    """One value per leaf: summed in a local variable if there is a single output, otherwise in the output."""

    @property
    def ctype(self) -> str:
        return "float" if self.trees.values.dtype == np.float32 else "int32_t"

    def begin(self) -> list[str]:
        first = [f"{self.ctype} sum = {self.base[0]};"] if self.trees.outputs == 1 else super().begin()
        return [*first, f"{self.ctype} leaf;"]

    def leaf(self, leaf: int) -> str:
        return f"leaf = {_literal(self.trees.values[leaf, 0])};"

    def after(self, tree: int) -> list[str]:
        return ["sum += leaf;" if self.trees.outputs == 1 else f"out[{self.leaves.columns[tree]}] += leaf;"]

    def end(self) -> list[str]:
        return ["out[0] = sum;"] if self.trees.outputs == 1 else []


class Several(Style):
    """Several values per leaf: the generated code finds the leaf's index, and a macro adds the values."""

    def begin(self) -> list[str]:
        return [*super().begin(), "uint32_t leaf;"]

    def leaf(self, leaf: int) -> str:
        return f"leaf = {self.leaves.number[leaf]};"

    def after(self, tree: int) -> list[str]:
        return [f"MOTE_FOREST_{self.leaves.form.upper()}(&p->of, out, {self.trees.outputs}, {tree}, leaf)"]


STYLES: Mapping[str, type[Style]] = {"vote": Votes, "sum": Sums, "column": Sums, "some": Several, "row": Several}


def _literal(value: np.generic) -> str:
    """A C literal that reads back as exactly this number."""
    if isinstance(value, np.floating):
        digits = f"{np.float32(value):.9g}"
        return f"{digits}f" if "." in digits or "e" in digits else f"{digits}.0f"
    return _integer(int(value))


def _integer(value: int) -> str:
    return str(value) if value > -(1 << 31) else f"({value + 1} - 1)"


def _leaf_params(leaves: Leaves) -> Params:
    """Leaf parameters for generated code; empty for formats whose values are literals in the code."""
    return leaves.params if STYLES[leaves.form] is Several else {"added": 0, "kinds": 0}


def _direct_code(view: View) -> Packed | Refusal:
    """Packs generated code that compares features directly."""
    op, leaves, x = view.the(Forest), view.once(_leaves), view.input.dtype
    trees = op.trees
    keys = trees.threshold

    def condition(node: int) -> str:
        signed = x in (DType.INT8, DType.INT16)
        element = f"{'mote_forest_' + TYPES[x][0]}(x, {trees.feature[node]})" if signed else f"x[{trees.feature[node]}]"
        if x != DType.FLOAT32:
            return f"{element} <= {_integer(int(keys[node]))}"
        bits = int(keys[node : node + 1].view(np.uint32)[0])
        if not trees.numbers:
            none = "_or_none" if trees.missing[node] else ""
            return f"mote_forest_{'below' if bits >> 31 else 'low'}{none}({element}, {bits:#x}u)"
        if bits < 1 << 31:
            return f"mote_forest_signed({element}) <= {bits}"
        return f"mote_forest_bits({element}) >= {bits:#x}u"

    code = _generated_code(view, condition)
    if isinstance(code, Refusal):
        return code
    name = f"forest_{crc32(code.text.encode()):08x}_{TYPES[x][0]}"
    arguments = (name, TYPES[x][1], *_types(view), trees.features, trees.outputs, code.text)
    wide = 1.0 if x != DType.FLOAT32 else 1.4 if trees.numbers else 1.7
    cost = BRANCH * wide * _visited_nodes(trees) + (RESULT + _adding_cost(leaves)) * len(trees.roots)
    return Packed(
        name,
        {"of": _leaf_params(leaves)},
        Entry(Call.FLAT, op.rows(view.graph)),
        price=Price(cost=op.rows(view.graph) * cost, written=round(code.nbytes * wide)),
        instances=(Instance("MOTE_FOREST_CODE", arguments),),
    )


def _ranked_code(view: View) -> Packed | Refusal:
    """Packs generated code that first replaces features by 8-bit codes."""
    op, leaves, x = view.the(Forest), view.once(_leaves), view.input.dtype
    trees = op.trees
    slots = slots_of(trees, BYTES, x)
    if max(int(slots.thresholds.size), 2 * trees.features + 1) >= 1 << BYTES.wide:
        return Refusal(f"it has more features or thresholds than {BYTES.wide} bits can count")
    code = _generated_code(view, lambda node: f"x[{slots.slot[node]}] <= {slots.code[node]}")
    if isinstance(code, Refusal):
        return code
    name = f"forest_coded_{crc32(code.text.encode()):08x}_{TYPES[x][0]}"
    arguments = (
        name,
        TYPES[x][1],
        TYPES[_threshold_type(x)][1],
        "uint8_t",
        *_types(view),
        *_comparison(x),
        f"{BYTES.most}u",
        trees.features,
        trees.outputs,
        len(slots.slots),
        code.text,
    )
    cost = _coding_cost(slots) + BRANCH * _visited_nodes(trees) + (RESULT + _adding_cost(leaves)) * len(trees.roots)
    params: Params = {
        "slot": _array(slots.described, BYTES.number),
        "thresholds": _array(slots.thresholds, _threshold_type(x).numpy),
        "of": _leaf_params(leaves),
    }
    return Packed(
        name,
        params,
        Entry(Call.FLAT, op.rows(view.graph)),
        Needs(scratch=max(len(slots.slots), 1)),
        Price(cost=op.rows(view.graph) * cost, written=code.nbytes),
        instances=(Instance("MOTE_FOREST_CODED", arguments),),
    )


KERNELS = (
    Kernel("forest_code", (Forest,), ALL, _direct_code, header="forest_code", costs=OTHER),
    Kernel("forest_coded", (Forest,), ALL, _ranked_code, header="forest_code", costs=OTHER),
    Kernel("forest", (Forest,), ALL, _direct_table, header="forest", costs=OTHER),
    Kernel("forest_ranked", (Forest,), ALL, _ranked_table, header="forest", costs=OTHER),
)
