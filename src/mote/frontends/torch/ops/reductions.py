"""Reductions along axes, arg max, cumulative sums and top-k."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise, moves, reductions
from mote.frontends.build.builder import Value
from mote.frontends.build.reductions import Reduce
from mote.frontends.torch.node import Node, Parser
from mote.ir.graph.types import DType


def _axes(node: Node, x: Value) -> Sequence[int] | None:
    """The axes; an empty list means all."""
    return node.integers("dim") or None if x.rank else None


def _keep(node: Node) -> bool:
    return bool(node.given("keepdim"))


def _reduction(reduce: Reduce) -> Parser:
    """A reduction in the type of its result."""

    def parse(node: Node) -> Value:
        x = node.operand("self", node.dtype)
        return reduce(node.b, x, _axes(node, x), _keep(node))

    return parse


def _variance(node: Node) -> Value:
    b, x = node.b, node.value("self")
    axes = range(x.rank) if (given := _axes(node, x)) is None else x.axes(given)
    count = math.prod(x.shape[a] for a in axes)
    lost = 1.0 if node.given("correction") is None else node.real("correction")
    if count - lost <= 0:
        raise UnsupportedNodeError(f"the variance of {count} elements with a correction of {lost:g} is NaN")
    centered = elementwise.sub(b, x, reductions.mean(b, x, axes, True))
    total = reductions.mean(b, elementwise.mul(b, centered, centered), axes, _keep(node))
    return elementwise.scaled(b, total, count / (count - lost))


def _variance_and_mean(node: Node) -> Sequence[Value | None]:
    x = node.value("self")
    mean = reductions.mean(node.b, x, _axes(node, x), _keep(node)) if node.reads(1) else None
    return [_variance(node) if node.reads(0) else None, mean]


def _median(node: Node) -> Sequence[Value | None]:
    """The median, the lower one of two."""
    b, x, axis = node.b, node.value("self"), node.integer("dim")
    middle = (x.shape[x.axis(axis)] + 1) // 2
    values, places = _sorted(node, middle, axis, False)
    middles = [None if part is None else moves.slice_(b, part, axis, middle - 1, 1) for part in (values, places)]
    return [part if part is None or _keep(node) else moves.squeeze(b, part, [axis]) for part in middles]


def _extreme(reduce: Reduce, largest: bool) -> Parser:
    """The minimum or maximum along an axis, and its index."""

    def parse(node: Node) -> Sequence[Value | None]:
        b, x, axis = node.b, node.value("self"), node.integer("dim")
        find = reductions.arg_max if largest else reductions.arg_min
        value = reduce(b, x, [axis], _keep(node)) if node.reads(0) else None
        place = find(b, x, axis, keep=_keep(node), dtype=DType.INT64) if node.reads(1) else None
        return [value, place]

    return parse


def _argument(largest: bool) -> Parser:
    def parse(node: Node) -> Value:
        b, x = node.b, node.value("self")
        find = reductions.arg_max if largest else reductions.arg_min
        if not node.has("dim"):
            index = find(b, moves.reshape(b, x, (-1,)), 0, keep=False, dtype=DType.INT64)
            return moves.reshape(b, index, node.shape)
        return find(b, x, node.integer("dim"), keep=_keep(node), dtype=DType.INT64)

    return parse


def _vector_norm(node: Node) -> Value:
    b, x, order = node.b, node.value("self"), node.real("ord")
    kinds: Mapping[float, Reduce] = {1: reductions.l1, 2: reductions.l2}
    if order in kinds:
        return kinds[order](b, x, _axes(node, x), _keep(node))
    if math.isinf(order):
        reduce = reductions.maximum if order > 0 else reductions.minimum
        return reduce(b, elementwise.abs_(b, x), _axes(node, x), _keep(node))
    power = elementwise.power(b, elementwise.abs_(b, x), elementwise.scalar(b, order))
    return elementwise.power(
        b, reductions.sum_(b, power, _axes(node, x), _keep(node)), elementwise.scalar(b, 1 / order)
    )


def _cumsum(node: Node) -> Value:
    x = node.operand("self", node.dtype)
    return reductions.cumulative_sum(node.b, x, node.integer("dim")) if x.rank else x


def _top_k(node: Node) -> Sequence[Value | None]:
    return _sorted(node, node.integer("k"), node.integer("dim"), node.flag("largest"))


def _sort(node: Node) -> Sequence[Value | None]:
    x, axis = node.value("self"), node.integer("dim")
    return _sorted(node, x.shape[x.axis(axis)], axis, node.flag("descending"))


def _sorted(node: Node, count: int, axis: int, largest: bool) -> list[Value | None]:
    values, places = reductions.top_k(node.b, node.value("self"), count, axis, largest=largest)
    return [values, elementwise.cast(node.b, places, DType.INT64) if node.reads(1) else None]


def _truth(reduce: Reduce) -> Parser:
    def parse(node: Node) -> Value:
        x = node.operand("self", DType.BOOL)
        return reduce(node.b, x, _axes(node, x), _keep(node))

    return parse


def _overloads(name: str, parser: Parser, *kinds: str) -> dict[str, Parser]:
    return {f"aten.{name}.{kind}": parser for kind in kinds}


PARSERS: Mapping[str, Parser] = {
    **_overloads("mean", _reduction(reductions.mean), "default", "dim"),
    **_overloads("sum", _reduction(reductions.sum_), "dim_IntList"),
    **_overloads("prod", _reduction(reductions.product), "default", "dim_int"),
    **_overloads("amax", _reduction(reductions.maximum), "default"),
    **_overloads("amin", _reduction(reductions.minimum), "default"),
    **_overloads("max", _reduction(reductions.maximum), "default"),
    **_overloads("min", _reduction(reductions.minimum), "default"),
    **_overloads("logsumexp", _reduction(reductions.log_sum_exp), "default"),
    **_overloads("any", _truth(reductions.any_), "default", "dim", "dims"),
    **_overloads("var", _variance, "correction"),
    "aten.var_mean.correction": _variance_and_mean,
    "aten.median.dim": _median,
    "aten.max.dim": _extreme(reductions.maximum, True),
    "aten.min.dim": _extreme(reductions.minimum, False),
    "aten.argmax.default": _argument(True),
    "aten.argmin.default": _argument(False),
    "aten.linalg_vector_norm.default": _vector_norm,
    "aten.cumsum.default": _cumsum,
    "aten.topk.default": _top_k,
    "aten.sort.default": _sort,
    "aten.sort.stable": _sort,
}
