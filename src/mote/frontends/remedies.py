"""Remedies where a layer cannot be compiled, by the reason."""

from __future__ import annotations

from collections.abc import Iterable

from mote.base.errors import CALIBRATE, LayerProblem
from mote.base.text import printable
from mote.frontends.calibration import doubtful
from mote.ir.graph import Tensor
from mote.ir.graph.tensor import Shape

REPLACE = "replace or remove them before conversion (docs/models/operators.md lists what is supported)"
CONVERT = f"{REPLACE}, or convert the model to int8 or float32"
DEFINE = "define these operators in a Python file that you give with --plugin, or replace them before conversion"
STRINGS = (
    "turn strings into numbers in the application, and export the model without the layers that do it: C code takes and"
    " returns numbers only"
)
RUN_TIME_SIZES = (
    "give the model fixed sizes: --shape NAME=1,3,96,96, or --set NAME=VALUE where an input says them; where the"
    " size follows from values, multiply by a mask or select with Where in its place"
)
FIXED_LOOPS = "export the model with a fixed number of iterations, or with the loop unrolled (`unroll=True` in Keras)"
ROW_LOOPS = "compute all rows at once with operators of whole tensors, or unroll the loop in Python"
BRANCHES = (
    "give both branches results of one type and shape, or select between them (Where, torch.where), or export the model"
    " with the branch that is needed"
)
IN_TORCH = (
    "where the class is defined, with Keras's backend torch, compile what it exports:"
    " mote.compile(torch.export.export(model.eval(), example_inputs))"
)
OWN_CLASSES = f"build the layer of Keras's own layers and functions (keras.layers, keras.ops), or {IN_TORCH}"
QUANTIZED_LAYERS = (
    "build that part of quantized layers that docs/models/keras.md lists, or of Keras's own layers between quantized"
    " activations, train it, and save the model again"
)
OTHER_SIZES = "give sizes that the module can be run with (--shape NAME=1,3,96,96), or export the module again"
SEQUENCES = (
    "export the model with tensors of fixed sizes in place of lists of tensors and of values that may be missing"
)
RANDOM = "give random numbers to the model as an input, or export it in evaluation mode, without layers of noise"
TRAINED = "export the trained network alone, in evaluation mode; Mote learns on the device with --train"
IMAGES = "export the model from the decoded image on: files are decoded in the application"


def remedy_of(problem: LayerProblem, tensors: Iterable[Tensor]) -> str:
    """The remedy for a layer that reads and writes these tensors: calibration where scales are odd, the one of its
    reason, another type where the reason names the layer's."""
    known = list(tensors)
    if doubtful(known):
        return CALIBRATE
    if problem.remedy:
        return problem.remedy
    return CONVERT if any(str(t.dtype) in problem.reason for t in known) else REPLACE


def batch_of_one(name: str, axis: str, shape: Shape) -> str:
    """The remedy where the dynamic first axis of an input is no batch."""
    named = f" '{printable(axis)}'" if axis else ""
    sizes = ",".join(["N", *map(str, shape[1:])])
    return (
        f"the dynamic first axis{named} of input '{printable(name)}' was taken for a batch of 1; where it is another"
        f" one, such as time, give its size: --shape {printable(name)}={sizes}, with a number for N"
    )
