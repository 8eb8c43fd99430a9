"""Graph construction shared by the ONNX, PyTorch and Keras front ends: values of a model become tensors and operators
of Mote, in the layout that its kernels take, with as few transposes as possible. `builder` has the Builder and its
values; a file for each family of operators has functions that take the builder, then values, and return values."""

from mote.frontends.build.builder import Builder, Value

__all__ = ["Builder", "Value"]
