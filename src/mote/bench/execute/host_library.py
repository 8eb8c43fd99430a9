"""A compiled model as a shared library of the host: thousands of inferences per second, many per call."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import cached_property
from queue import SimpleQueue
from time import monotonic
from typing import Any

import numpy as np

import mote.hardware.targets as targets
from mote.base.errors import MoteError, naming
from mote.base.progress import Done, Say, nobody, silent
from mote.base.system import thread_pool
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.encryption import WeightCipher
from mote.compiler.emit.c.model.states import HEAD, saved_bytes
from mote.compiler.emit.c.programs import glue
from mote.compiler.firmware import not_run, simulation
from mote.compiler.kernels.library import added
from mote.compiler.line import emitted
from mote.compiler.settings import Settings
from mote.compiler.subject import CompilerInput
from mote.hardware.targets import NATIVE, VECTORS
from mote.hardware.toolchain import host
from mote.hardware.toolchain.builder import HARNESS
from mote.hardware.toolchain.devices import Answers, Simulation
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import to_model
from mote.ir.graph.tensor import Array

GLUE, BATCH, DECRYPT, DEVICE = "mote_glue.c", "mote_batch.c", "mote_decrypt.c", "mote_device.c"
"""Names of C files added to those of the model: harness glue, batch loop, decryption, device simulation."""
SAME_RESULTS = (
    *("io", "numerics", "shrink", "stream", "hop", "causal", "train", "train_data", "postprocess", "labels"),
)
"""Settings that determine what a model computes; all others only determine how."""
OFTEN = 0.25
"""Seconds between progress callbacks and checks for signals."""
WORTH_THREADS = 1.0
"""Estimated seconds of work above which several threads are used."""
PIECE = 64
"""Inferences of a running model between two callbacks."""
_LOOP = """\
#include <string.h>

#include "harness.h"

int mote_batch_begin(void);
int mote_batch(size_t rows, int fresh, const uint8_t *const *inputs, uint8_t *const *outputs);

int mote_batch_begin(void) { return harness_init(); }

/* Inferences one after another, whose inputs and outputs lie one behind another. Fresh: none remembers anything. */
int mote_batch(size_t rows, int fresh, const uint8_t *const *inputs, uint8_t *const *outputs)
{
    for (size_t row = 0; row < rows; row++) {
        int status = fresh ? harness_init() : 0;
        for (uint32_t i = 0; i < harness_input_count && status == 0; i++) {
            const size_t bytes = harness_input_bytes(i);
            memcpy(harness_input(i), inputs[i] + row * bytes, bytes);
        }
        status = status ? status : harness_run();
        if (status != 0)
            return status;
        for (uint32_t i = 0; i < harness_output_count; i++) {
            const size_t bytes = harness_output_bytes(i);
            memcpy(outputs[i] + row * bytes, harness_output(i), bytes);
        }
    }
    return 0;
}
"""

_DEVICE = """\
#include "mote_device.h"

typedef int (*answer_t)(const char *, void *const *, const uint32_t *, uint32_t);

static answer_t answer;

void mote_device_answer(answer_t function);
void mote_device_answer(answer_t function) { answer = function; }

int mote_device_call(const char *device, void *const *memory, const uint32_t *bytes, uint32_t count)
{
    return answer(device, memory, bytes, count);
}
"""
_ANSWER = ctypes.CFUNCTYPE(
    *(ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint32), ctypes.c_uint32)
)


def on_vectors(compiled: Compiled, say: Say = silent) -> Compiled:
    """The model recompiled with SIMD kernels of this CPU, whatever its target: integer results are bit-exact. Models
    with external code or encrypted weights stay as they are."""
    settings = compiled.settings
    if VECTORS in settings.target.features or settings.external or settings.encrypt or added():
        return compiled
    same = {name: getattr(settings, name) for name in SAME_RESULTS}
    here = Settings(targets.load(NATIVE), name=compiled.name, optimize="speed", **same)
    return emitted(CompilerInput(compiled.source, compiled.path, compiled.model), here, say)


@dataclass(frozen=True, eq=False)
class HostModel:
    """The generated C of a model for any core, compiled and loaded on the host; kernels for other instruction sets are
    replaced by equivalent portable ones."""

    compiled: Compiled

    @property
    def graph(self) -> Graph:
        return self.compiled.plan.graph

    def build(self) -> None:
        """Compiles the library now instead of on the first run."""
        self.begin(0)

    def started(self) -> RunningModel:
        """A running model at its initial states, which then persist between calls."""
        return RunningModel(self, self.begin(0))

    def run(self, cases: Sequence[Mapping[int, Array]], *, stream: bool = False, done: Done = nobody) -> list[Array]:
        """Runs inferences; returns all outputs in the model's layout [N, ...], without a leading axis of 1. Every
        inference starts from initial states, unless they form one `stream`: then outputs are valid from inference
        `graph.warm_up` on."""
        count, job = len(cases), self.job(cases, fresh=not stream and bool(self.graph.states))
        first = self.begin(0)
        began = monotonic()
        job.do(first, 0, min(1, count))
        pace = max(monotonic() - began, 1e-7)
        threads = 1 if stream or count * pace < WORTH_THREADS else cores()
        libraries = [first, *(self.begin(copy) for copy in range(1, threads))]
        _finish(job, libraries, max(1, int(OFTEN / pace)), lambda rows: done(rows, count))
        return self.answers(job)

    def job(self, cases: Sequence[Mapping[int, Array]], *, fresh: bool) -> HostJob:
        """A batch job: inputs of inferences and buffers for their outputs."""
        self._answers.failure = None
        inputs, outputs = ([self.graph.tensors[t] for t in ids] for ids in (self.graph.inputs, self.graph.outputs))
        given = [_stacked(t, [case[t.id] for case in cases]) for t in inputs]
        results = [np.zeros((len(cases), *t.shape), t.dtype.numpy) for t in outputs]
        return HostJob(given, results, fresh, self.compiled.path, self._answers)

    def answers(self, job: HostJob) -> list[Array]:
        """Outputs of a finished job, in the model's layout."""
        graph = self.graph
        return [as_in_model(graph.tensors[o], values) for o, values in zip(graph.outputs, job.results, strict=True)]

    def begin(self, copy: int = 0) -> ctypes.CDLL:
        """Loads a copy of the library (compiled on first use) with its own state, initialized for inference."""
        with naming(self.compiled.path):
            check_run(self.compiled)
            loaded = host.load(self.files, self.sources, copy, self._target, self.external, self.includes)
        if self.simulation.files:
            loaded.mote_device_answer(self._answer)
        if self._cipher is not None:
            loaded.mote_set_key(self._cipher.key, ctypes.c_size_t(len(self._cipher.key)))
        status = loaded.mote_batch_begin()
        self._answers.check()
        _check(status, self.compiled.path)
        return loaded

    @property
    def _target(self) -> str:
        return NATIVE if VECTORS in self.compiled.settings.target.features else "host"

    @property
    def _cipher(self) -> WeightCipher | None:
        return self.compiled.project.options.cipher

    @property
    def sources(self) -> list[str]:
        """The model's C files; the key of an encrypted model is passed at run time, since the library is cached."""
        drivers = [*self.simulation.sources, DEVICE] if self.simulation.files else []
        return [*self.compiled.project.sources, GLUE, BATCH, *([DECRYPT] if self._cipher else []), *drivers]

    @property
    def external(self) -> list[str]:
        """Paths of C files of external generators."""
        return [path for path in self.compiled.project.external if path not in self.simulation.replaced]

    @property
    def includes(self) -> tuple[str, ...]:
        """Include folders of external generators."""
        return self.compiled.project.includes

    @cached_property
    def simulation(self) -> Simulation:
        return simulation([(self.compiled.plan, self.compiled.project)])

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self.simulation.devices)

    @cached_property
    def _answer(self) -> Any:
        """Callback by which the library calls simulated accelerators."""

        def answer(name: bytes, addresses: Any, sizes: Any, count: int) -> int:
            areas = [(addresses[i], sizes[i]) for i in range(count)]
            before = [ctypes.string_at(address, size) for address, size in areas]
            memory = [bytearray(data) for data in before]
            status = self._answers.answer(name.decode(errors="replace"), memory)
            for (address, size), was, area in zip(areas, before, memory, strict=True):
                if area != was:
                    ctypes.memmove(address, bytes(area), size)
            return -1 if status is None else status

        return _ANSWER(answer)

    @cached_property
    def files(self) -> dict[str, str]:
        """Texts of the C files and everything they include, by name."""
        project = self.compiled.project
        return {
            **project.code,
            GLUE: glue.text(self.compiled.plan, project.options),
            BATCH: _LOOP,
            DECRYPT: glue.decryption([project.options], with_key=False),
            DEVICE: _DEVICE,
            **{name: (HARNESS / name).read_text(encoding="utf-8") for name in ("harness.h", "mote_device.h")},
            **self.simulation.files,
        }


@dataclass(frozen=True, eq=False)
class HostJob:
    """A batch of inferences: contiguous inputs and output buffers."""

    given: Sequence[Array]
    results: Sequence[Array]
    fresh: bool
    path: str
    answers: Answers

    @property
    def rows(self) -> int:
        return len(self.results[0])

    def do(self, library: ctypes.CDLL, row: int, rows: int) -> None:
        count = ctypes.c_size_t(rows)
        status = library.mote_batch(count, self.fresh, _from(self.given, row), _from(self.results, row))
        self.answers.check()
        _check(status, self.path)


@dataclass(frozen=True, eq=False)
class RunningModel:
    """A running model whose states persist between calls."""

    host: HostModel
    library: ctypes.CDLL

    def infer(self, cases: Sequence[Mapping[int, Array]], done: Done = nobody) -> list[Array]:
        """Runs inferences in order; outputs as of `HostModel.run`."""
        job, count = self.host.job(cases, fresh=False), len(cases)
        for row in range(0, count, PIECE):
            job.do(self.library, row, min(PIECE, count - row))
            done(min(row + PIECE, count), count)
        return self.host.answers(job)

    def states(self) -> dict[int, Array]:
        """States before the next inference, by tensor id."""
        plan, name = self.host.compiled.plan, self.host.compiled.project.options.name
        saved = ctypes.create_string_buffer(saved_bytes(plan))
        save = getattr(self.library, f"{name}_save")
        _check(save(saved, ctypes.c_size_t(len(saved))), self.host.compiled.path)
        return {s.before: _taken(saved.raw, HEAD + plan.place[s.before].offset, s.initial) for s in plan.graph.states}


def _taken(raw: bytes, offset: int, like: Array) -> Array:
    """Bytes as an array with the type and shape of another one."""
    return np.frombuffer(raw, like.dtype, like.size, offset).reshape(like.shape).copy()


def _finish(job: HostJob, libraries: Sequence[ctypes.CDLL], piece: int, done: Callable[[int], None]) -> None:
    """Runs the remaining inferences of a job chunk by chunk, on one or several threads; in order if there is a single
    library."""
    free: SimpleQueue[ctypes.CDLL] = SimpleQueue()
    for library in libraries:
        free.put(library)

    def work(row: int) -> int:
        library, rows = free.get(), min(piece, job.rows - row)
        try:
            job.do(library, row, rows)
        finally:
            free.put(library)
        return rows

    with thread_pool(len(libraries)) as pool:
        ready = 1
        try:
            for future in as_completed([pool.submit(work, row) for row in range(1, job.rows, piece)]):
                ready += future.result()
                done(ready)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _check(status: int, path: str) -> None:
    if status != 0:
        raise MoteError(
            f"the compiled model ended with the status {status} on this computer",
            where=path,
            remedy="`mote verify` says whether the generated code is right",
        )


def as_in_model(tensor: Tensor, values: Array) -> Array:
    """Outputs of many inferences in the model's layout, without a leading axis of 1."""
    if tensor.arrangement is not None:
        values = np.stack([to_model(tensor, value) for value in values])
    shape = values.shape[1:]
    return values.reshape(-1, *shape[1:]) if len(shape) > 1 and shape[0] == 1 else values


def _stacked(tensor: Tensor, values: Sequence[Array]) -> Array:
    """Inputs stacked contiguously in the layout of the generated code."""
    return np.ascontiguousarray(np.stack(values), tensor.dtype.numpy)


def _from(arrays: Sequence[Array], row: int) -> ctypes.Array[ctypes.c_void_p]:
    """Addresses of one row in several arrays."""
    addresses = [array.ctypes.data + row * array.strides[0] for array in arrays]
    return (ctypes.c_void_p * len(addresses))(*addresses)


def cores() -> int:
    """CPU cores available to the process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_run(compiled: Compiled) -> None:
    """Raises an error for a model with layers that cannot run on this host."""
    if layers := not_run(compiled.plan):
        raise MoteError(
            f"layer {', '.join(layers)} is not run here: only its generator says what it computes",
            remedy="`mote verify` compares that; omit --backend to run all layers on the core",
        )


def check_buildable(compiled: Compiled) -> None:
    """Raises an error if files of an external generator are missing here."""
    project = compiled.project
    if project.external or project.includes or project.simulated or not_run(compiled.plan):
        raise MoteError(
            "it needs files of an external generator that are not in the project",
            remedy="omit --backend, or use `mote verify` or `mote run`",
        )
