"""Models of several random layers of one kind, as the tests of that kind make them."""

from __future__ import annotations

from hypothesis import strategies as st

from mote.frontends.tflite.writer import Writer
from tests.ir.ops.elementwise import test_activations as test_unary
from tests.ir.ops.elementwise import test_arithmetic
from tests.ir.ops.elementwise import test_unary_math as test_functions
from tests.ir.ops.reductions import test_along_axis as test_along
from tests.ir.ops.reductions import test_normalize, test_reduce, test_softmax
from tests.ir.ops.windows import test_conv, test_pool, test_resize, test_transpose_conv


def batch(configs: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    return st.lists(configs, min_size=24, max_size=24)


def reductions(
    some: list[test_reduce.Config], along: list[test_along.Config], normal: list[test_normalize.Config]
) -> bytes:
    w = Writer("reductions")
    for i, c in enumerate(some):
        test_reduce.add(w, i, c, w.input(f"r{i}", c.shape, c.dtype, *c.input))
    for i, a in enumerate(along):
        test_along.add(w, 100 + i, a, w.input(f"a{i}", a.shape, a.dtype))
    for i, n in enumerate(normal):
        test_normalize.add(w, i, n)
    return w.finish()


FAMILIES = {
    "conv": test_conv.batches("CONV_2D").map(test_conv.model),
    "depthwise": test_conv.batches("DEPTHWISE_CONV_2D").map(test_conv.model),
    "fully connected": test_conv.batches("FULLY_CONNECTED").map(test_conv.model),
    "transpose conv": batch(test_transpose_conv.configs()).map(test_transpose_conv.model),
    "pool": batch(test_pool.configs()).map(test_pool.model),
    "resize": batch(test_resize.configs()).map(test_resize.model),
    "reductions": st.tuples(
        st.lists(test_reduce.configs(), min_size=12, max_size=12),
        st.lists(test_along.configs(), min_size=12, max_size=12),
        st.lists(test_normalize.configs(), min_size=6, max_size=6),
    ).map(lambda layers: reductions(*layers)),
    "arithmetic": batch(test_arithmetic.configs()).map(lambda layers: test_arithmetic.model(*layers)),
    "softmax": batch(test_softmax.configs()).map(lambda layers: test_softmax.model(*layers)),
    "functions": batch(test_functions.words() | test_functions.bytes_()).map(
        lambda layers: test_functions.model(layers, 2, 3, 4, 5)
    ),
    "unary": batch(test_unary.configs()).map(lambda layers: test_unary.model(*layers)),
}
