"""Models of several random layers of one kind, as the tests of that kind make them."""

from __future__ import annotations

import test_arithmetic
import test_conv
import test_pool
import test_resize
import test_softmax
import test_transpose_conv
import test_unary
from hypothesis import strategies as st


def batch(configs: st.SearchStrategy[object], count: int) -> st.SearchStrategy[list[object]]:
    return st.lists(configs, min_size=count, max_size=count)


FAMILIES = {
    "conv": test_conv.batches("CONV_2D").map(test_conv.model),
    "depthwise": test_conv.batches("DEPTHWISE_CONV_2D").map(test_conv.model),
    "fully connected": test_conv.batches("FULLY_CONNECTED").map(test_conv.model),
    "transpose conv": batch(test_transpose_conv.configs(), 6).map(test_transpose_conv.model),
    "pool": batch(test_pool.configs(), 8).map(test_pool.model),
    "resize": batch(test_resize.configs(), 8).map(test_resize.model),
    "arithmetic": batch(test_arithmetic.configs(), 12).map(lambda layers: test_arithmetic.model(*layers)),
    "softmax": batch(test_softmax.configs(), 12).map(lambda layers: test_softmax.model(*layers)),
    "unary": batch(test_unary.configs(), 12).map(lambda layers: test_unary.model(*layers)),
}
