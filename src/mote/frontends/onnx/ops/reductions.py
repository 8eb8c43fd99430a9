"""Reductions along axes, ArgMax and ArgMin."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mote.frontends.build import Value, reductions
from mote.frontends.onnx.node import Key, Node, Parser
from mote.ir.graph.types import DType


def _reduction(apply: reductions.Reduce) -> Parser:
    """Axes are an attribute in older opsets and an input in newer ones; without any, all are reduced, unless
    `noop_with_empty_axes`."""

    def parse(node: Node) -> Value:
        x = node.input()
        axes = node.numbers("axes", 1)
        if not axes and node.integer("noop_with_empty_axes", 0):
            return apply(node.b, x, [], True)
        return apply(node.b, x, axes or None, node.flag("keepdims", True))

    return parse


def _arg(apply: Callable[..., Value]) -> Parser:
    def parse(node: Node) -> Value:
        keep, last = node.flag("keepdims", True), node.flag("select_last_index", False)
        return apply(node.b, node.input(), node.integer("axis", 0), keep=keep, last=last, dtype=DType.INT64)

    return parse


_REDUCTIONS: Mapping[str, reductions.Reduce] = {
    "ReduceL1": reductions.l1,
    "ReduceL2": reductions.l2,
    "ReduceLogSum": reductions.log_sum,
    "ReduceLogSumExp": reductions.log_sum_exp,
    "ReduceMax": reductions.maximum,
    "ReduceMean": reductions.mean,
    "ReduceMin": reductions.minimum,
    "ReduceProd": reductions.product,
    "ReduceSum": reductions.sum_,
    "ReduceSumSquare": reductions.sum_square,
}

PARSERS: Mapping[Key, Parser] = {
    **{("", name): _reduction(apply) for name, apply in _REDUCTIONS.items()},
    ("", "ArgMax"): _arg(reductions.arg_max),
    ("", "ArgMin"): _arg(reductions.arg_min),
}
