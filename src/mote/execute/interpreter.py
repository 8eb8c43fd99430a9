"""`mote.Interpreter`: runs an image or a model file on the host, with the API of LiteRT's interpreter."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import mote.targets as targets
from mote.compiler.options import parsed
from mote.compiler.packer import pack
from mote.compiler.settings import Settings, make_settings
from mote.emit.image import format
from mote.emit.image.kernels import ANY, KernelRecord
from mote.emit.image.manifest import read_manifest
from mote.emit.image.metadata import TURNED
from mote.emit.image.reader import ImageContents, is_image, read
from mote.emit.image.stock_kernels import stock
from mote.errors import MoteError, naming
from mote.execute import host_runtime
from mote.files import read_file
from mote.graph.tensor import Array

OK, BUSY, WAITING = 0, 4, 5
"""Statuses of `mote_runtime.h` that are not errors."""
_DTYPES = {number: dtype for dtype, number in format.DTYPES.items()}
SIGNATURE = "serving_default"


class Interpreter:
    """Runs a model. Unlike LiteRT's interpreter, it exposes inputs and outputs only, and can step models, push rows,
    save and restore states. An interpreter is not thread-safe; several can run in parallel."""

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
        """`model_path` or `model_content` is a `.mote` image, or a model as `mote.compile` takes it, which is packed
        for the host with `options` of `mote.pack`. `runtime`: the folder of the runtime that an image was packed for,
        where that is not the stock one. `num_threads` is accepted for compatibility with LiteRT and ignored."""
        model = _given(model_path, model_content)
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
            self._settings = replace(make_settings(**options), fixed=ANY)
            self._pack(model, example_inputs)

    def _pack(self, model: Any, example_inputs: Any = None) -> None:
        made = pack(model, self._settings, example_inputs=example_inputs)
        self._where, self._model = made.path, made.model
        self._load(made.data, made.records)

    @classmethod
    def of(cls, data: bytes, kernels: Sequence[KernelRecord], where: str, target: str = "host") -> Interpreter:
        """An interpreter for an image with known kernels, compiled for the host, or with the target `native` for all
        instructions that this computer has."""
        interpreter = cls.__new__(cls)
        interpreter._settings, interpreter._resized, interpreter._where = None, {}, where
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
        if status != OK:
            what, name = (text.decode("utf-8", "replace") for text in (problem.what or b"", problem.name or b""))
            raise MoteError(f"{what} ({name})" if name else what, where=self._where)
        inputs = [self._details(self._c.mote_input_info, i) for i in range(self._c.mote_input_count(self._it))]
        outputs = [self._details(self._c.mote_output_info, i) for i in range(self._c.mote_output_count(self._it))]
        self._inputs, self._outputs = inputs, outputs
        for index, details in enumerate((*inputs, *outputs)):
            details["index"] = index
        self._values = [np.zeros(details["shape"], details["dtype"]) for details in (*inputs, *outputs)]
        self._shown = list(self._values)
        for i in turned_ports(read(data)):
            self._shown[i] = np.moveaxis(self._values[i], -1, 1)
            shape = np.array(self._shown[i].shape, np.int32)
            (*inputs, *outputs)[i].update(shape=shape, shape_signature=shape)
        self.waiting = False

    def _details(self, ask: Callable[..., int], number: int) -> dict[str, Any]:
        """An input or output, in LiteRT's format."""
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
            },
            "sparsity_parameters": {},
            "row_bytes": int(info.row_bytes),
            "labels": info.labels.decode("utf-8", "replace").splitlines() if info.labels else [],
        }

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int], strict: bool = False) -> None:
        """Give an input another shape; `allocate_tensors` compiles the model for it. `strict` is accepted for
        compatibility with LiteRT and ignored."""
        name = self._tensor(input_index, len(self._inputs))["name"]
        if self._settings is None:
            raise MoteError(
                "an image has the shapes that it was packed for",
                where=self._where,
                remedy="give the model file, or pack it with --shape",
            )
        shape = tuple(map(int, tensor_size))
        if shape != self._shown[input_index].shape:
            self._resized[name] = shape
        else:
            self._resized.pop(name, None)

    def allocate_tensors(self) -> None:
        """Compiles the model for shapes set by `resize_tensor_input`, if any; states are reset then."""
        if self._resized and self._settings is not None:
            shapes = {**self._settings.shapes, **self._resized}
            self._settings = replace(self._settings, shapes=parsed({"shapes": shapes})["shapes"])
            self._resized = {}
            self._pack(self._model)

    def get_input_details(self) -> list[dict[str, Any]]:
        return [dict(details) for details in self._inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        return [dict(details) for details in self._outputs]

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Details of inputs and outputs; other tensors have no fixed memory."""
        return self.get_input_details() + self.get_output_details()

    def set_tensor(self, tensor_index: int, value: Array) -> None:
        """Sets an input, which keeps its value for later inferences."""
        details = self._tensor(tensor_index, len(self._inputs))
        given, wanted = np.asarray(value), self._shown[tensor_index]
        if given.dtype != wanted.dtype or given.shape != wanted.shape:
            shown = (f"{a.dtype} {'x'.join(map(str, a.shape)) or 'scalar'}" for a in (given, wanted))
            raise MoteError("is {}, the model takes {}".format(*shown), where=f"input '{details['name']}'")
        wanted[...] = given

    def get_tensor(self, tensor_index: int) -> Array:
        """A copy of an output of the last inference, or of an input."""
        self._tensor(tensor_index, len(self._values))
        return self._shown[tensor_index].copy()

    def tensor(self, tensor_index: int) -> Callable[[], Array]:
        """A function that returns a writable view of an input, or a view of an output."""
        self._tensor(tensor_index, len(self._values))
        return lambda: self._shown[tensor_index]

    def _tensor(self, index: int, count: int) -> dict[str, Any]:
        if not 0 <= index < count:
            raise MoteError(
                f"there is no {'input' if count == len(self._inputs) else 'tensor'} with the index {index}",
                where=self._where,
                remedy="take the index from get_input_details() or get_output_details()",
            )
        return [*self._inputs, *self._outputs][index]

    def invoke(self) -> None:
        """Runs one inference. `waiting` is set while a stream is warming up and outputs are not valid. A row-wise input
        is pushed row by row."""
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
        """Runs one step of an inference; returns whether there is more to do. The first step reads the inputs."""
        if not self._begun and not self._pushed:
            self._give()
        status = self._c.mote_step(self._it)
        self._begun = status == BUSY
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

    def _give(self) -> None:
        for i, value in enumerate(self._values[: len(self._inputs)]):
            ctypes.memmove(self._c.mote_input(self._it, i), value.ctypes.data, value.nbytes)

    def _take(self, status: int) -> None:
        """Handles the status of an inference."""
        self.waiting = status == WAITING
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

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        """The only signature of an image: all inputs and outputs by name."""
        names = ([details["name"] for details in ports] for ports in (self._inputs, self._outputs))
        return {SIGNATURE: dict(zip(("inputs", "outputs"), names, strict=True))}

    def get_signature_runner(self, signature_key: str | None = None) -> Callable[..., dict[str, Array]]:
        """A function from inputs by name to outputs by name."""
        if signature_key not in (None, SIGNATURE):
            raise MoteError(f"there is no signature '{signature_key}'", where=self._where, remedy=f"use '{SIGNATURE}'")
        places = {details["name"]: details["index"] for details in self._inputs}

        def run(**values: Array) -> dict[str, Array]:
            for name, index in places.items():
                if name not in values:
                    raise MoteError(f"the input '{name}' was not given", where=self._where)
                self.set_tensor(index, values[name])
            self.invoke()
            return {details["name"]: self.get_tensor(details["index"]) for details in self._outputs}

        return run

    def _check(self, status: int) -> None:
        if status != OK:
            raise MoteError(self._c.mote_status_text(status).decode(), where=self._where)


def _given(path: Any, content: bytes | None) -> Any:
    """The model argument that was given."""
    if (path is None) == (content is None):
        raise MoteError("give either the path of a model or its bytes", where="Interpreter")
    return path if content is None else bytes(content)


def _image(model: Any) -> bytes | None:
    """The bytes of an image, if the argument is one."""
    if not isinstance(model, str | Path | bytes):
        return None
    data = model if isinstance(model, bytes) else read_file(model)
    return data if is_image(data) else None


def _kernels(data: bytes, runtime: str | Path | None, where: str) -> list[KernelRecord]:
    """The kernels of an image: those of the runtime that it was packed for."""
    with naming(where):
        wanted = {kernel.id: kernel.name for kernel in read(data).kernels}
        return (stock(targets.load("host")) if runtime is None else read_manifest(runtime)).needed(wanted)


def turned_ports(image: ImageContents) -> list[int]:
    """Indices of ports that are channels-last in the image but not in the model."""
    told, count = image.about.get(TURNED, ()), len(image.inputs) + len(image.outputs)
    ports = (*image.inputs, *image.outputs)
    return [i for i in told if isinstance(i, int) and 0 <= i < count and len(ports[i].shape) > 2]


def _words(data: bytes) -> Array:
    """Bytes at an 8-byte aligned address."""
    words = np.zeros(-(-len(data) // 8), np.uint64)
    words.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    return words
