"""`mote.Interpreter`: runs an image or a model file on the host, with the API of LiteRT's interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mote.hardware.targets as targets
from mote.base.errors import MoteError, naming
from mote.base.files import read_file
from mote.bench.execute import host_runtime
from mote.bench.execute.host_runtime import RuntimeStatus
from mote.bench.execute.interpreter_training import InterpreterTraining
from mote.compiler.emit.image import format
from mote.compiler.emit.image.detection import is_image
from mote.compiler.emit.image.kernels import ANY, KernelRecord
from mote.compiler.emit.image.manifest import read_manifest
from mote.compiler.emit.image.metadata import TURNED
from mote.compiler.emit.image.reader import ImageContents, read
from mote.compiler.emit.image.stock_kernels import stock
from mote.compiler.packer import pack
from mote.compiler.settings import Settings, make_settings
from mote.compiler.subject import given_model
from mote.frontends import Format, Source
from mote.frontends.reading import parsed_shapes
from mote.frontends.tflite.file.details import FileSignature, FileTensor, signatures, tensors
from mote.frontends.tflite.reader import subgraph_of
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

_DTYPES = {number: dtype for dtype, number in format.DTYPES.items()}
SIGNATURE = "serving_default"
"""Signature name of models whose format has no signatures."""
IGNORED = (
    *("experimental_op_resolver_type", "experimental_disable_delegate_clustering"),
    *("experimental_default_delegate_latest_features", "experimental_compress_quantization_zero_points"),
    *("experimental_disable_delegate_node_fusion", "experimental_force_delegate_node_profiling"),
)
"""Ignored arguments of LiteRT's interpreter, which choose among its kernels and delegates."""
REFUSED = {
    "experimental_delegates": (
        "Mote computes everything with the kernels of the device",
        "omit it, or run the model with LiteRT",
    ),
    "experimental_preserve_all_tensors": (
        "only inputs and outputs can be read: the memory of other tensors is reused",
        "omit it; `mote.verify` compares every tensor with LiteRT",
    ),
}
"""Unsupported arguments of LiteRT's interpreter, with reason and remedy."""


class InterpreterError(MoteError, ValueError, RuntimeError):
    """Error for calls where LiteRT's interpreter raises a ValueError or RuntimeError; derives from both, so that code
    written for LiteRT can catch it."""


class Interpreter:
    """Runs a model with the API of LiteRT's interpreter: details, indices, signatures and outputs equal LiteRT's on the
    same file. In addition it can run single steps, push rows, save and restore states, and train; tensors other than
    inputs and outputs are described but cannot be read. Not thread-safe; several interpreters can run in parallel."""

    def __init__(
        self,
        model_path: Any = None,
        model_content: bytes | None = None,
        *,
        example_inputs: Any = None,
        runtime: str | Path | None = None,
        num_threads: int | None = None,
        **options: Any,
    ) -> None:
        """`model_path` or `model_content` is a `.mote` image, or a model as for `mote.compile`, which is packed for the
        host with `options` of `mote.pack`. `runtime`: folder of the runtime that an image was packed for, if not the
        stock one. `num_threads` and arguments that choose among LiteRT's kernels and delegates are ignored;
        `experimental_delegates` and `experimental_preserve_all_tensors` are errors. Without a `signature` that of the
        first subgraph is loaded; `get_signature_runner` runs others."""
        model = _given(model_path, model_content)
        options = _compatible(options)
        self._file: bytes | None = None
        self._runners: dict[str, Interpreter] = {}
        self._settings: Settings | None = None
        self._resized: dict[str, tuple[int, ...]] = {}
        self._where = where = "model" if isinstance(model, bytes) else str(model)
        data = _image(model)
        if data is not None:
            if options:
                raise MoteError(
                    f"an image is packed already: {', '.join(options)} cannot be chosen any more",
                    where=where,
                    remedy="omit the options, or give the model file",
                )
            kernels = _kernels(data, runtime, where)
            self._load(data, kernels)
        else:
            self._settings = make_settings(**options)
            source = given_model(model, self._settings, example_inputs)
            if source.format is Format.TFLITE and not source.signature:
                self._settings = replace(self._settings, signature=_first_signature(source.data))
            self._pack(source)

    def _pack(self, model: Source) -> None:
        made = pack(model, self._settings, runtime=ANY)
        self._where, self._model = made.path, made.model
        self._load(made.data, made.records)
        if self._model.format is Format.TFLITE:
            self._file = self._model.data
            self._subgraph = subgraph_of(self._model)
            self._name_as_file(made.plan.graph, self._subgraph)

    def _name_as_file(self, graph: Graph, subgraph: int) -> None:
        """Restores the file's tensor indices and dynamic shapes of inputs and outputs."""
        recorded = tensors(self._model.data, subgraph)
        self._recorded = {tensor.index: _recorded_details(tensor) for tensor in recorded}
        for details, t in zip((*self._inputs, *self._outputs), (*graph.inputs, *graph.outputs), strict=True):
            details["index"] = t
            if 0 <= t < len(recorded) and len(recorded[t].signature) == len(details["shape"]):
                details["shape_signature"] = np.array(recorded[t].signature, np.int32)
        self._positions = _positions(self._inputs, self._outputs)

    @classmethod
    def of(cls, data: bytes, kernels: Sequence[KernelRecord], where: str, target: str = "host") -> Interpreter:
        """An interpreter for an image with known kernels, compiled for the host; the target `native` uses all
        instructions of this CPU."""
        interpreter = cls.__new__(cls)
        interpreter._settings, interpreter._resized, interpreter._where = None, {}, where
        interpreter._file, interpreter._runners = None, {}
        interpreter._load(data, kernels, target)
        return interpreter

    def _load(self, data: bytes, kernels: Sequence[KernelRecord], target: str = "host") -> None:
        self._c = host_runtime.runtime()
        self._image = _words(data)
        self._bytes = len(data)
        self._kernels = host_runtime.table(kernels, target)
        address = self._image.ctypes.data
        needs, problem = host_runtime.ArenaNeeds(), host_runtime.Problem()
        self._check(self._c.mote_needs(address, self._bytes, needs))
        self._check(self._c.mote_image_crc(address, self._bytes))
        self._arenas = [np.zeros(-(-size // 8), np.uint64) for size in needs.arena]
        self._state = np.zeros(-(-needs.state // 8), np.uint64)
        memory = host_runtime.HostMemory(
            (ctypes.c_void_p * host_runtime.MEMORIES)(*(a.ctypes.data for a in self._arenas)),
            (ctypes.c_size_t * host_runtime.MEMORIES)(*(a.nbytes for a in self._arenas)),
            self._state.ctypes.data,
            self._state.nbytes,
        )
        self._it = ctypes.create_string_buffer(self._c.mote_host_bytes() + 8)
        status = self._c.mote_init(self._it, self._kernels.table, address, self._bytes, memory, problem)
        if status != RuntimeStatus.OK:
            what, name = (text.decode("utf-8", "replace") for text in (problem.what or b"", problem.name or b""))
            raise MoteError(f"{what} ({name})" if name else what, where=self._where)
        inputs = [self._details(self._c.mote_input_info, i) for i in range(self._c.mote_input_count(self._it))]
        outputs = [self._details(self._c.mote_output_info, i) for i in range(self._c.mote_output_count(self._it))]
        self._inputs, self._outputs = inputs, outputs
        for index, details in enumerate((*inputs, *outputs)):
            details["index"] = index
        self._positions, self._recorded = _positions(inputs, outputs), {}
        self._values = [np.zeros(details["shape"], details["dtype"]) for details in (*inputs, *outputs)]
        self._shown = list(self._values)
        self._contents = read(data)
        for i in turned_ports(self._contents):
            self._shown[i] = np.moveaxis(self._values[i], -1, 1)
            shape = np.array(self._shown[i].shape, np.int32)
            (*inputs, *outputs)[i].update(shape=shape, shape_signature=shape)
        self.waiting = False

    def _details(self, ask: Callable[..., int], number: int) -> dict[str, Any]:
        """Details of an input or output in LiteRT's format."""
        info = host_runtime.TensorInfo()
        self._check(ask(self._it, number, info))
        scale, zero = float(info.scale), int(info.zero_point)
        quantized = scale != 0
        shape = np.array(info.shape[: info.rank], np.int32)
        return {
            "name": info.name.decode("utf-8", "replace"),
            "index": 0,
            "shape": shape,
            "shape_signature": shape,
            "dtype": _DTYPES[info.dtype].numpy.type,
            "quantization": (scale, zero) if quantized else (0.0, 0),
            "quantization_parameters": {
                "scales": np.array([scale] if quantized else [], np.float32),
                "zero_points": np.array([zero] if quantized else [], np.int32),
                "quantized_dimension": 0,
                "block_size": 0,
            },
            "sparsity_parameters": {},
            "row_bytes": int(info.row_bytes),
            "labels": info.labels.decode("utf-8", "replace").splitlines() if info.labels else [],
        }

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int], strict: bool = False) -> None:
        """Sets the shape of an input; `allocate_tensors` recompiles the model for it. With `strict` only dimensions
        that are -1 in `shape_signature` may change."""
        position = self._position(input_index, len(self._inputs))
        details = self._inputs[position]
        name = details["name"]
        if self._settings is None:
            raise MoteError(
                "an image has the shapes that it was packed for",
                where=self._where,
                remedy="give the model file, or pack it with --shape",
            )
        shape = tuple(map(int, tensor_size))
        said = details["shape_signature"]
        if strict and (len(shape) != len(said) or any(n not in (-1, m) for n, m in zip(said, shape, strict=True))):
            raise InterpreterError(
                f"only dimensions that are -1 in {said.tolist()} can change to {list(shape)}",
                where=f"input '{name}'",
                remedy="omit strict=True",
            )
        if shape != self._shown[position].shape:
            self._resized[name] = shape
        else:
            self._resized.pop(name, None)

    def allocate_tensors(self) -> None:
        """Recompiles the model for shapes set by `resize_tensor_input`, if any, and resets states."""
        if self._resized and self._settings is not None:
            shapes = {**self._settings.shapes, **self._resized}
            self._settings = replace(self._settings, shapes=parsed_shapes("shapes", shapes))
            self._resized = {}
            self._pack(self._model)

    def get_input_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, type, quantization, labels and bytes per row of each input."""
        return [dict(details) for details in self._inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, type, quantization, labels and bytes per row of each output."""
        return [dict(details) for details in self._outputs]

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Details of all tensors of a `.tflite` file, or of inputs and outputs for images and other formats. Only
        inputs and outputs can be read."""
        ports = self.get_input_details() + self.get_output_details()
        if not self._recorded:
            return ports
        every = {index: dict(details) for index, details in self._recorded.items()}
        return list((every | {details["index"]: details for details in ports}).values())

    def set_tensor(self, tensor_index: int, value: Array) -> None:
        """Sets an input, which keeps its value for later inferences."""
        position = self._position(tensor_index, len(self._inputs))
        given, wanted = np.asarray(value), self._shown[position]
        if given.dtype != wanted.dtype or given.shape != wanted.shape:
            shown = (f"{a.dtype} {'x'.join(map(str, a.shape)) or 'scalar'}" for a in (given, wanted))
            name = self._inputs[position]["name"]
            raise InterpreterError("is {}, the model takes {}".format(*shown), where=f"input '{name}'")
        wanted[...] = given

    def get_tensor(self, tensor_index: int) -> Array:
        """A copy of an output of the last inference, or of an input."""
        return self._shown[self._position(tensor_index, len(self._values))].copy()

    def tensor(self, tensor_index: int) -> Callable[[], Array]:
        """A function that returns a writable view of an input, or a view of an output."""
        position = self._position(tensor_index, len(self._values))
        return lambda: self._shown[position]

    def _position(self, index: int, count: int) -> int:
        """Position of a tensor among inputs and outputs, limited to the first `count`."""
        position = self._positions.get(int(index), count)
        if position >= count:
            kind = "input" if count == len(self._inputs) else "input or output"
            raise InterpreterError(
                f"there is no {kind} with the index {index}",
                where=self._where,
                remedy="take the index from get_input_details() or get_output_details()",
            )
        return position

    def invoke(self) -> None:
        """Runs one inference. `waiting` is set while a stream warms up and outputs are not valid. An input by rows is
        pushed row by row."""
        if self._resized:
            raise MoteError(
                f"the input '{next(iter(self._resized))}' was given another shape",
                where=self._where,
                remedy="call allocate_tensors() before invoke()",
            )
        if self._pushed:
            self.push_rows(self._values[0])
            return
        self._give()
        self._take(self._c.mote_invoke(self._it))

    def step(self) -> bool:
        """Runs one step of an inference; returns whether steps are left. The first step reads the inputs."""
        if not self._begun and not self._pushed:
            self._give()
        status = self._c.mote_step(self._it)
        self._begun = status == RuntimeStatus.BUSY
        if not self._begun:
            self._take(status)
        return self._begun

    def push_rows(self, rows: Array) -> bool:
        """Pushes the next rows of the input; returns whether an inference has finished and outputs are valid."""
        details = self._inputs[0]
        given = np.ascontiguousarray(rows, details["dtype"])
        if not self._pushed or given.nbytes % details["row_bytes"]:
            raise MoteError(
                f"{given.nbytes} bytes are no number of rows of {details['row_bytes']} bytes"
                if self._pushed
                else "is given whole, not row by row",
                where=f"input '{details['name']}'",
                remedy="" if self._pushed else "use set_tensor and invoke, or pack the model with --input rows",
            )
        self._take(self._c.mote_push(self._it, given.ctypes.data, given.nbytes // details["row_bytes"]))
        return not self.waiting

    @property
    def _pushed(self) -> bool:
        return len(self._inputs) == 1 and self._c.mote_input(self._it, 0) is None

    _begun = False
    _subgraph = 0
    """Index of the loaded subgraph of the file."""

    def _give(self) -> None:
        for i, value in enumerate(self._values[: len(self._inputs)]):
            ctypes.memmove(self._c.mote_input(self._it, i), value.ctypes.data, value.nbytes)

    def _take(self, status: int) -> None:
        """Handles the status code of an inference."""
        self.waiting = status == RuntimeStatus.WAITING
        if not self.waiting:
            self._check(status)
            for i, value in enumerate(self._values[len(self._inputs) :]):
                ctypes.memmove(value.ctypes.data, self._c.mote_output(self._it, i), value.nbytes)

    def reset_all_variables(self) -> None:
        """Resets all states."""
        self._begun = False
        self._check(self._c.mote_reset(self._it))

    def save(self) -> bytes:
        """Saves the model's states."""
        state = ctypes.create_string_buffer(self._c.mote_state_bytes(self._it))
        self._check(self._c.mote_save(self._it, state, len(state)))
        return state.raw

    def restore(self, state: bytes) -> None:
        """Restores states from `save`."""
        kept = _words(state)
        self._check(self._c.mote_restore(self._it, kept.ctypes.data, len(state)))

    @property
    def training(self) -> InterpreterTraining:
        """Training interface of a model packed with training (`mote pack --train`, or the option `train`)."""
        turned = len(self._inputs) in turned_ports(self._contents)
        return InterpreterTraining(self._c, lambda: self._it, self._contents, self._where, self.invoke, turned)

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """Input and output names of each signature of a `.tflite` file (possibly none); images and other formats have
        one signature."""
        known = self._whole() if self._file is None else signatures(self._file)
        return {key: {"inputs": list(x.inputs), "outputs": list(x.outputs)} for key, x in known.items()}

    def get_signature_runner(self, signature_key: str | None = None) -> SignatureRunner:
        """A signature as a callable from inputs by name to outputs by name; the key may be omitted if there is one
        signature. Inputs of other shapes recompile the model. A model without signatures has one of all inputs and
        outputs."""
        known = (signatures(self._file) if self._file is not None else {}) or self._whole()
        if signature_key is None and len(known) == 1:
            signature_key = next(iter(known))
        if signature_key not in known:
            said = "a signature must be chosen" if signature_key is None else f"there is no signature '{signature_key}'"
            names = f"the signatures are: {', '.join(known)}"
            raise InterpreterError(said, where=self._where, remedy=names)
        return SignatureRunner(self._of_signature(known[signature_key]), known[signature_key])

    def _whole(self) -> dict[str, FileSignature]:
        """All inputs and outputs by name, as a signature."""
        ports = ({details["name"]: details["index"] for details in side} for side in (self._inputs, self._outputs))
        return {SIGNATURE: FileSignature(SIGNATURE, self._subgraph, *ports)}

    def _of_signature(self, signature: FileSignature) -> Interpreter:
        """The interpreter of a signature: this one, or one for another subgraph of the file."""
        if self._file is None or signature.subgraph == self._subgraph:
            return self
        if signature.key not in self._runners:
            assert self._settings is not None
            other = Interpreter.__new__(Interpreter)
            other._settings = replace(self._settings, signature=signature.key, shapes={})
            other._resized, other._runners, other._file = {}, {}, self._file
            other._pack(replace(self._model, shapes=()))
            self._runners[signature.key] = other
        other = self._runners[signature.key]
        if self._keeps and other._keeps:
            raise MoteError(
                f"the signature '{signature.key}' keeps variables, which it may share with others",
                where=self._where,
                remedy=f"run it alone: Interpreter(model, signature='{signature.key}')",
            )
        return other

    @property
    def _keeps(self) -> bool:
        """Whether the model is stateful."""
        return bool(self._contents.features & format.Feature.STATES)

    def _check(self, status: int) -> None:
        if status != RuntimeStatus.OK:
            raise MoteError(self._c.mote_status_text(status).decode(), where=self._where)


class SignatureRunner:
    """A signature of a model, callable with inputs by name."""

    def __init__(self, interpreter: Interpreter, signature: FileSignature) -> None:
        self._interpreter, self._signature = interpreter, signature

    def __call__(self, **values: Array) -> dict[str, Array]:
        """Runs an inference; all inputs are keyword arguments named as in the signature."""
        inputs, interpreter = self._signature.inputs, self._interpreter
        wrong = [name for name in inputs if name not in values] + [name for name in values if name not in inputs]
        if wrong:
            said = f"the input '{wrong[0]}' was not given" if wrong[0] in inputs else f"there is no input '{wrong[0]}'"
            raise InterpreterError(
                said, where=f"signature '{self._signature.key}'", remedy=f"give {', '.join(inputs) or 'nothing'}"
            )
        for name, details in self.get_input_details().items():
            shape = np.shape(values[name])
            if shape != tuple(details["shape"]):
                interpreter.resize_tensor_input(inputs[name], shape)
        interpreter.allocate_tensors()
        for name, index in inputs.items():
            interpreter.set_tensor(index, values[name])
        interpreter.invoke()
        return {name: interpreter.get_tensor(index) for name, index in self._signature.outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """Details of each input, by its name in the signature."""
        return self._details(self._signature.inputs, self._interpreter.get_input_details())

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """Details of each output, by its name in the signature."""
        return self._details(self._signature.outputs, self._interpreter.get_output_details())

    @staticmethod
    def _details(names: Mapping[str, int], listed: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        by_index = {details["index"]: details for details in listed}
        return {name: by_index[index] for name, index in names.items()}


def _compatible(options: dict[str, Any]) -> dict[str, Any]:
    """Options without ignored LiteRT arguments; raises an error for unsupported ones."""
    for name, (reason, remedy) in REFUSED.items():
        if options.get(name):
            raise MoteError(reason, where=f"option {name}", remedy=remedy)
    return {name: value for name, value in options.items() if name not in (*IGNORED, *REFUSED)}


def _first_signature(data: bytes) -> str:
    """The signature of the subgraph that LiteRT runs by default, if a file has several; else empty."""
    keys = [key for key, signature in signatures(data).items() if signature.subgraph == 0]
    return keys[0] if keys and len(signatures(data)) > 1 else ""


def _positions(inputs: Sequence[dict[str, Any]], outputs: Sequence[dict[str, Any]]) -> dict[int, int]:
    """Position of each tensor index among inputs and outputs; a tensor that is both is an input."""
    places: dict[int, int] = {}
    for position, details in enumerate((*inputs, *outputs)):
        places.setdefault(details["index"], position)
    return places


def _recorded_details(tensor: FileTensor) -> dict[str, Any]:
    """Details of a tensor of a file in LiteRT's format."""
    shape = np.array(tensor.shape, np.int32)
    dtype = DType(tensor.dtype) if tensor.dtype in tuple(DType) else DType.UNKNOWN
    one = tensor.scales.size == 1
    return {
        "name": tensor.name,
        "index": tensor.index,
        "shape": shape,
        "shape_signature": np.array(tensor.signature or tensor.shape, np.int32),
        "dtype": dtype.numpy.type if dtype.stored else np.void,
        "quantization": (float(tensor.scales[0]), int(tensor.zero_points[0])) if one else (0.0, 0),
        "quantization_parameters": {
            "scales": tensor.scales,
            "zero_points": tensor.zero_points,
            "quantized_dimension": tensor.axis,
            "block_size": 0,
        },
        "sparsity_parameters": {},
    }


def _given(path: Any, content: bytes | None) -> Any:
    """The model argument that was passed; exactly one is allowed."""
    if (path is None) == (content is None):
        raise MoteError("give either the path of a model or its bytes", where="Interpreter")
    return path if content is None else bytes(content)


def _image(model: Any) -> bytes | None:
    """Bytes of an image if the argument is one, else None."""
    if not isinstance(model, str | Path | bytes):
        return None
    data = model if isinstance(model, bytes) else read_file(model)
    return data if is_image(data) else None


def _kernels(data: bytes, runtime: str | Path | None, where: str) -> list[KernelRecord]:
    """Kernels of the runtime that an image was packed for."""
    with naming(where):
        wanted = {kernel.id: kernel.name for kernel in read(data).kernels}
        return (stock(targets.load("host")) if runtime is None else read_manifest(runtime)).needed(wanted)


def turned_ports(image: ImageContents) -> list[int]:
    """Indices of ports that are channels-last in the image but not in the model."""
    told, count = image.about.get(TURNED, ()), len(image.inputs) + len(image.outputs)
    ports = (*image.inputs, *image.outputs)
    return [i for i in told if isinstance(i, int) and 0 <= i < count and len(ports[i].shape) > 2]


def _words(data: bytes) -> Array:
    """Copies bytes to 8-byte aligned memory."""
    words = np.zeros(-(-len(data) // 8), np.uint64)
    words.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    return words
