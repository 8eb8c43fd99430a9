"""Shared by the front ends of ONNX, PyTorch and Keras: values of a model become tensors and operators of Mote, in the
order of elements that its kernels want, with as few of them moved as possible.

`builder` has the Builder and its values; a file for each family of operators has functions that take the builder, then
values, and give values.
"""

from mote.frontends.build.builder import Builder, Value

__all__ = ["Builder", "Value"]
