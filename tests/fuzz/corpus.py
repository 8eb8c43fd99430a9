"""Files that once made Mote fail, and what each must give. They are mutants of models in this repository.

    PYTHONPATH=models:. python -m tests.fuzz.corpus    # write those that are made here

A mutant that fails joins them: `python -m tests.fuzz --only NUMBER` writes its file, which gets a name and a line in
EXPECTED.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.document import Table, decode, encode
from tests.helpers.network import Net
from tests.ir.ops.recurrent import test_svdf

FOLDER = Path(__file__).parents[1] / "corpus"
EXACT = ""
"""What must be compiled, and give what LiteRT gives."""

EXPECTED: dict[str, str] = {
    "svdf-rank": "a bias of shape .* does not fit",
    "bias-size": "a bias of 2 elements does not fit 4 output channels",
    "bias-broadcast": "a bias of 1 elements does not fit 4 output channels",
    "weight-scales": "3 scales of the weights do not fit 4 output channels",
    "pool-window-huge": "a window of 2147483646 elements with a stride of 1 is too wide",
    "pool-window-wide": EXACT,
    "pool-stride-huge": "stride of 2147483647 is too wide",
    "conv-dilation-wide": EXACT,
    "add-scales-apart": EXACT,
    "input-elements": "has 1,073,741,824 elements, more than",
    "axes": "has 200 axes, more than 32",
    "output-infinite": EXACT,
    "transpose-axes": "the model is inconsistent: layer 0 TRANSPOSE 't1': output 2 has shape",
    "schema-version": EXACT,
    "pushed-unread": EXACT,
    "index-unread": EXACT,
    "variable-grows": r"variable 's' begins as int8 \(1, 1, 1, 1\), it is given int8 \(1, 3, 1, 1\)",
}
"""The files, and the reasons why they are refused."""


def small(build: Callable[[Net], int]) -> Table:
    net = Net()
    return decode(net.finish(build(net)))


def dense(net: Net) -> int:
    return net.fully_connected(net.input(1, 3), 4)


def pool(net: Net) -> int:
    window = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}
    return net.moved("MAX_POOL_2D", [net.input(1, 5, 5, 2)], (1, 5, 5, 2), padding="SAME", **window)


def conv(net: Net) -> int:
    return net.conv(net.input(1, 5, 5, 2), 3)


def transposed(net: Net) -> int:
    return net.moved("TRANSPOSE", [net.input(1, 2, 3, 4), net.ints(0, 2, 1, 3)], (1, 3, 2, 4))


def apart(net: Net) -> int:
    return net.op("ADD", [net.input(1, 4, quant=(0.05, 0)), net.input(1, 4, quant=(500.0, 0))], quant=(0.05, 0))


def _with(model: Table, *path: str | int, value: Any) -> bytes:
    """The model with one field changed."""
    at: Any = model
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return encode(model)


def _resized_bias(elements: int) -> bytes:
    model = small(dense)
    tensor = next(t for t in model["subgraphs"][0]["tensors"] if t["name"] == "bias")
    tensor["shape"] = [elements]
    tensor.pop("quantization")
    return _with(model, "buffers", tensor["buffer"], "data", value=bytes(4 * elements))


def _scales(count: int) -> bytes:
    model = small(dense)
    tensor = next(t for t in model["subgraphs"][0]["tensors"] if t["name"] == "weights")
    tensor["quantization"] = {"scale": [0.01] * count, "zero_point": [0] * count, "quantized_dimension": 1}
    return encode(model)


OPTIONS = ("subgraphs", 0, "operators", 0, "builtin_options")
SHAPE = ("subgraphs", 0, "tensors", 0, "shape")


def files() -> dict[str, bytes]:
    """The files that are made here."""
    svdf = decode(test_svdf.model(test_svdf.Config(inputs=3, units=2, rank=2, memory=2)))
    return {
        "svdf-rank": _with(svdf, *OPTIONS, "rank", value=1),
        "bias-size": _resized_bias(2),
        "bias-broadcast": _resized_bias(1),
        "weight-scales": _scales(3),
        "pool-window-huge": _with(small(pool), *OPTIONS, "filter_height", value=(1 << 31) - 2),
        "pool-window-wide": _with(small(pool), *OPTIONS, "filter_width", value=3001),
        "pool-stride-huge": _with(small(pool), *OPTIONS, "stride_h", value=(1 << 31) - 1),
        "conv-dilation-wide": _with(small(conv), *OPTIONS, "dilation_h_factor", value=65537),
        "add-scales-apart": encode(small(apart)),
        "input-elements": _with(small(pool), *SHAPE, value=[1, 1 << 15, 1 << 15, 1]),
        "axes": _with(small(pool), *SHAPE, value=[1] * 200),
        "transpose-axes": _with(small(transposed), "subgraphs", 0, "tensors", 2, "shape", value=[6, 4]),
        "schema-version": _with(small(dense), "version", value=1),
    }


if __name__ == "__main__":
    for name, data in files().items():
        (FOLDER / f"{name}.tflite").write_bytes(data)
