"""The table of layers in docs/models/keras.md: what the reader knows, and tests/frontends/keras compare with Keras.

PYTHONPATH=models:. python benchmarks/keras_layers.py           # print it
PYTHONPATH=models:. python benchmarks/keras_layers.py --write   # write the page
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from generated_table import Page
from mote.frontends.keras import activations
from mote.frontends.keras.layers import (
    attention,
    core,
    encoding,
    hgq,
    merging,
    normalization,
    operations,
    qkeras,
    recurrent,
    reshaping,
    slices,
    tensorflow,
    windows,
)
from mote.frontends.keras.quantizers import PLACES

PAGE = Path(__file__).parents[1] / "docs" / "models" / "keras.md"
BEGIN, END = "<!-- the layers: benchmarks/keras_layers.py -->\n", "<!-- end of the layers -->\n"
FAMILIES: Mapping[str, Sequence[str]] = {
    "Core": [name for name in core.LAYERS if name not in (*core.NOISE, *core.AUGMENTING, *core.KERAS2)],
    "Nothing in an inference": [*core.NOISE, *core.AUGMENTING],
    "Convolutions and pooling": list(windows.LAYERS),
    "Normalization": list(normalization.LAYERS),
    "Shapes and images": list(reshaping.LAYERS),
    "Several inputs": list(merging.LAYERS),
    "Categories": list(encoding.LAYERS),
    "Attention": [name for name in attention.LAYERS if name != "GroupedQueryAttention"],
    "Sequences": list(recurrent.LAYERS),
    "Functions of `keras.ops`, and operators of Python": list(operations.OPERATIONS),
    "Code that is a slice": list(slices.LAYERS),
    "QKeras": list(qkeras.LAYERS),
    "Quantizers of QKeras": list(PLACES),
    "HGQ": list(hgq.LAYERS),
    "Keras 2 only": [*core.KERAS2, *tensorflow.LAYERS],
    "Functions of TensorFlow (TFOpLambda)": [f"tf.{name}" for name in tensorflow.FUNCTIONS],
    "Operators of TensorFlow (TensorFlowOpLayer)": list(tensorflow.OPERATORS),
    "Activations": list(activations.FUNCTIONS),
}
LIMITS = {
    "Core": "no LoRA; masks of Masking and Embedding (mask_zero) are passed on as in Keras 3, but not to Softmax",
    "Nothing in an inference": "refused where they are called with training=True",
    "Convolutions and pooling": "channels last and first; padding valid, same and, along time, causal. Where backends "
    "of Keras differ (transposed convolutions that cut off unevenly, averages over uneven padding), as TensorFlow and "
    "JAX",
    "Normalization": "any axes",
    "Shapes and images": "nearest and bilinear; CenterCrop only where it crops; no aspect ratios in Resizing",
    "Several inputs": "Dot of at most three axes",
    "Categories": "as numbers, one_hot, multi_hot or count; boundaries and categories that the file holds",
    "Attention": "of sequences [batch, steps, channels]; causal masks, sliding windows, masks that are tensors, and "
    "masks of sequences",
    "Sequences": f"gates of {', '.join(recurrent.GATES)}; cells LSTM, GRU, simple and stacks of them; states zero, "
    "given or kept (stateful); masks of sequences; ConvLSTM begins with zero, has no mask, and is unrolled",
    "Functions of `keras.ops`, and operators of Python": "x[...] with numbers, slices, ... and None",
    "Code that is a slice": "x[...] with numbers, slices, ... and None, of Python 3.6 to 3.12",
    "QKeras": "no recurrent layers",
    "HGQ": "quantizers kbi and kif, which wrap around or saturate; no recurrent, attention, spiking and table layers",
    "Quantizers of QKeras": "a fixed alpha for activations, any for weights; quantized_po2 and quantized_relu_po2 for "
    "weights only; stochastic ones as in an inference",
    "Keras 2 only": "x[...] with numbers, slices, ... and None (SlicingOpLambda)",
    "Functions of TensorFlow (TFOpLambda)": "in tf, tf.math, tf.nn and tf.linalg; shapes, axes and bounds that are "
    "constant",
    "Operators of TensorFlow (TensorFlowOpLayer)": "shapes and axes that are constant",
    "Activations": "by name, or as a layer; hard_sigmoid with the slope 0.2 in files of Keras 2",
}


def table() -> str:
    """The families, the layers of each, and limits."""
    lines = ["| | what is read | limits |", "| --- | --- | --- |"]
    lines += [f"| {family} | {', '.join(sorted(names))} | {LIMITS[family]} |" for family, names in FAMILIES.items()]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table that follows from the reader."""
    return Page(PAGE, BEGIN, END).with_table(table())


if __name__ == "__main__":
    Page(PAGE, BEGIN, END).run(table(), __doc__)
