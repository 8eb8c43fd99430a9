"""The tests that come with ONNX, one operator each: models with inputs and the outputs that they must have.

There are those that Debian ships (package libonnx-testdata: older versions of operators) and those that the installed
`onnx` package makes. Where both have a test of a name with the same model, it counts once.

Inputs that are no data but say what an operator does (axes, shapes, weights of layers) are constants in every real
model. Here they are inputs, and are made constants before Mote reads the model: `PARAMETERS` says which.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, OptionalProto, SequenceProto, TensorProto, numpy_helper, version_converter
from onnx.backend.test import loader

Array = NDArray[Any]

DEBIAN = Path("/usr/share/libonnx-testdata/data")
FOLDERS = ("node", "simple", "pytorch-operator", "pytorch-converted")
TOLERANCES = (1e-3, 1e-7)
"""The relative and the absolute one of tests that do not say otherwise."""

OLDEST, NEWER = 9, 13
"""The oldest set of operators that Mote reads, and what older models are converted to."""
CHANGED = ("PRelu", "Scan")
"""Operators that meant something else then, which the package does not convert."""
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
PARAMETERS: dict[str, Sequence[int]] = {
    **{f"Reduce{name}": (1,) for name in _REDUCTIONS},
    **dict.fromkeys(("Reshape", "Expand", "Tile", "Squeeze", "Unsqueeze", "Split", "Trilu", "TopK"), (1,)),
    **dict.fromkeys(("CumSum", "CumProd", "CenterCropPad", "AffineGrid", "Compress", "Cast", "CastLike"), (1,)),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow", "ConstantOfShape"), (0,)),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), (1, 2, 3, 4, 7)),
    **dict.fromkeys(("Conv", "ConvTranspose"), (1, 2)),
    **dict.fromkeys(("Range", "Loop"), (0, 1, 2)),
    "Slice": (1, 2, 3, 4),
    "Pad": (1, 2, 3),
    "Resize": (1, 2, 3),
    "Upsample": (1,),
    "OneHot": (1, 2),
    "Col2Im": (1, 2),
    "NonMaxSuppression": (2, 3, 4),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "DFT": (1, 2),
    "STFT": (1, 2, 3),
    "MaxUnpool": (2,),
    "Dropout": (1, 2),
    "BatchNormalization": (1, 2, 3, 4),
    "InstanceNormalization": (1, 2),
    "GroupNormalization": (1, 2),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 3, 4, 5, 6, 7),
    "ConvInteger": (1, 2, 3),
    "MatMulInteger": (1, 2, 3),
    "DeformConv": (1, 3),
    "CausalConvWithState": (1, 2),
}
"""The positions of inputs that are constants, by operator."""


@dataclass(frozen=True, eq=False)
class Case:
    """A test: a model, inputs and outputs. What is no tensor is None."""

    name: str
    model: ModelProto
    sets: tuple[tuple[tuple[Array | None, ...], tuple[Array | None, ...]], ...]
    relative: float
    absolute: float
    opset: int
    operator: str
    """The operator that it is a test of; of several the one that the name tells."""

    @property
    def names(self) -> list[str]:
        """Those of the inputs. Old files name constants among them, too."""
        constants = {tensor.name for tensor in self.model.graph.initializer}
        return [value.name for value in self.model.graph.input if value.name not in constants]

    @property
    def frozen(self) -> list[str]:
        """The names of inputs that are made constants."""
        names = self.names
        return [names[p] for p in PARAMETERS.get(self.operator, ()) if p < len(names)]

    def data(self) -> bytes:
        """The file, with these as constants."""
        model = ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        given = dict(zip(self.names, self.sets[0][0], strict=False))
        constants = {name: given[name] for name in self.frozen if given.get(name) is not None}
        kept = [value for value in graph.input if value.name not in constants]
        del graph.input[:]
        graph.input.extend(kept)
        graph.initializer.extend(numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items())
        return model.SerializeToString()

    def shapes(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Of the inputs, which files leave open here and there."""
        given = zip(self.names, self.sets[0][0], strict=False)
        return tuple((name, x.shape) for name, x in given if x is not None and name not in self.frozen)

    def computed(self, inputs: Sequence[Array | None]) -> list[Array | None]:
        """The inputs that are left."""
        return [x for name, x in zip(self.names, inputs, strict=False) if name not in self.frozen]


def cases() -> list[Case]:
    """All tests, by name."""
    found = {}
    for case in (*debian(), *_package()):
        key = case.name, case.model.graph.SerializeToString(deterministic=True), case.opset
        found[key] = case
    return _told_apart(sorted(found.values(), key=lambda case: (case.name, case.opset)))


def _told_apart(those: Sequence[Case]) -> list[Case]:
    """Tests of one name also have the version of the operators in theirs."""
    names = [case.name for case in those]
    seen: dict[str, int] = {}
    made = []
    for case in those:
        name = case.name if names.count(case.name) == 1 else f"{case.name}, opset {case.opset}"
        seen[name] = seen.get(name, 0) + 1
        made.append(_renamed(case, name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return made


def _renamed(case: Case, name: str) -> Case:
    return Case(name, case.model, case.sets, case.relative, case.absolute, case.opset, case.operator)


def _case(name: str, model: ModelProto, sets: Any, tolerances: tuple[float, float]) -> Case:
    model = _converted(model)
    opset = _version(model)
    return Case(name, model, tuple(sets), *tolerances, opset, _operator(name, model))


def _operator(name: str, model: ModelProto) -> str:
    """The one node's operator, or of a body that took the place of one that one's: inner names begin with it."""
    kinds = [f"{n.domain}.{n.op_type}" if n.domain else n.op_type for n in model.graph.node]
    if "_expanded" in name:
        outputs = [o for n in model.graph.node for o in n.output]
        of = {found[1] for o in outputs if (found := re.match(r"(\w+?)_test_.*_expanded_function", o))}
        return of.pop() if len(of) == 1 else kinds[-1]
    told = [kind for kind in kinds if name.startswith(f"test_{kind.lower()}_")]
    return kinds[0] if len(set(kinds)) == 1 else told[0] if told else "several"


def _package() -> Iterator[Case]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for test in loader.load_model_tests(kind="node"):
            sets = [(tuple(map(_array, i)), tuple(map(_array, o))) for i, o in test.data_sets]
            yield _case(test.name, test.model, sets, (test.rtol, test.atol))


def _array(value: Any) -> Array | None:
    if isinstance(value, TensorProto):
        return np.asarray(numpy_helper.to_array(value))
    return np.asarray(value) if isinstance(value, np.ndarray | np.generic) else None


def debian(each: int = 1) -> Iterator[Case]:
    """The tests that Debian ships, or each so many of them."""
    for folder in FOLDERS:
        for path in sorted((DEBIAN / folder).glob("*/model.onnx"))[::each]:
            model = onnx.load(str(path))
            sets = [
                (tuple(_files(d, "input", _open(model))), tuple(_files(d, "output", model.graph.output)))
                for d in sorted(path.parent.glob("test_data_set_*"))
            ]
            if sets and not _cut_off(model):
                yield _case(path.parent.name, model, sets, TOLERANCES)


def _version(model: ModelProto) -> int:
    """Of ONNX's own set of operators; 0 where a model has none of these."""
    return max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)


def _converted(model: ModelProto) -> ModelProto:
    """With a set of operators that Mote reads: older ones are converted by the package, as users do it."""
    if not 0 < _version(model) < OLDEST or any(node.op_type in CHANGED for node in model.graph.node):
        return model
    try:
        return version_converter.convert_version(model, NEWER)
    except RuntimeError:
        return model


def _cut_off(model: ModelProto) -> bool:
    """Whether a test has bfloat16 numbers: in this version of ONNX they are integers, and cut off where the standard
    rounds. The package has newer versions of these tests."""
    values = (*model.graph.input, *model.graph.output)
    return any(value.type.tensor_type.elem_type == TensorProto.BFLOAT16 for value in values)


def _open(model: ModelProto) -> list[Any]:
    """The inputs that are no constants."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def _files(folder: Path, kind: str, values: Sequence[Any]) -> Iterator[Array | None]:
    for i, value in enumerate(values):
        path = folder / f"{kind}_{i}.pb"
        if not path.exists():
            yield None
            continue
        what = {"sequence_type": SequenceProto, "optional_type": OptionalProto}
        record = what.get(value.type.WhichOneof("value"), TensorProto)()
        record.ParseFromString(path.read_bytes())
        yield _array(record)
