"""The C runtime and its kernels on the host, called through ctypes. Each kernel is compiled once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache

from mote.bench.execute.npu_jobs import FILES, MOST_FAST, hooked
from mote.compiler.emit.image.entries import Limits, entry_files, entry_name
from mote.compiler.emit.image.kernels import KernelRecord, merged
from mote.compiler.emit.image.sources import runtime_files
from mote.deploy.update.sources import mac_files
from mote.hardware.toolchain import host

LIMITS = Limits(taps=4096, pointers=8192, words=512)
"""Runtime limits for the host, whose stack fits the tallest windows."""
_SHIM = """\
#include "mote_hmac.h"
#include "mote_train.h"

size_t mote_host_bytes(void);
size_t mote_host_bytes(void) { return sizeof(mote_interpreter_t); }

mote_status mote_host_export(const mote_interpreter_t *it, void *record, size_t bytes, const uint8_t *key,
                             uint32_t key_bytes);
mote_status mote_host_export(const mote_interpreter_t *it, void *record, size_t bytes, const uint8_t *key,
                             uint32_t key_bytes) {
    mote_hmac_t hmac;
    const mote_mac_t mac = mote_hmac(&hmac, key, key_bytes);
    return mote_export_weights(it, record, bytes, &mac);
}

mote_status mote_host_import(mote_interpreter_t *it, const void *record, size_t bytes, const uint8_t *key,
                             uint32_t key_bytes);
mote_status mote_host_import(mote_interpreter_t *it, const void *record, size_t bytes, const uint8_t *key,
                             uint32_t key_bytes) {
    mote_hmac_t hmac;
    const mote_mac_t mac = mote_hmac(&hmac, key, key_bytes);
    return mote_import_weights(it, record, bytes, &mac);
}
"""
MEMORIES = 4


class RuntimeStatus(IntEnum):
    """`mote_status` values that Python distinguishes; others are only shown as text."""

    OK = 0
    BUSY = 4
    WAITING = 5
    BAD_STATE = 7


class ArenaNeeds(ctypes.Structure):
    """`mote_needs_t`."""

    _fields_ = (("arena", ctypes.c_uint32 * MEMORIES), ("state", ctypes.c_uint32))


class HostMemory(ctypes.Structure):
    """`mote_memory_t`."""

    _fields_ = (
        ("arena", ctypes.c_void_p * MEMORIES),
        ("arena_bytes", ctypes.c_size_t * MEMORIES),
        ("state", ctypes.c_void_p),
        ("state_bytes", ctypes.c_size_t),
    )


class Problem(ctypes.Structure):
    """`mote_problem_t`."""

    _fields_ = (("what", ctypes.c_char_p), ("name", ctypes.c_char_p), ("op", ctypes.c_uint32))


class TensorInfo(ctypes.Structure):
    """`mote_tensor_t`."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("labels", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_uint32)),
        ("bytes", ctypes.c_uint32),
        ("row_bytes", ctypes.c_uint32),
        ("scale", ctypes.c_float),
        ("zero_point", ctypes.c_int32),
        ("dtype", ctypes.c_uint8),
        ("rank", ctypes.c_uint8),
    )


class Kernels(ctypes.Structure):
    """`mote_kernels_t`."""

    _fields_ = (("entries", ctypes.POINTER(ctypes.c_void_p)), ("count", ctypes.c_uint32))


_P, _SIZE, _STATUS = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_RECORD_AND_KEY = (_P, _P, _SIZE, _P, ctypes.c_uint32)
_FUNCTIONS = {
    "mote_host_bytes": (_SIZE,),
    "mote_needs": (_STATUS, _P, _SIZE, ctypes.POINTER(ArenaNeeds)),
    "mote_init": (
        _STATUS,
        *(_P, ctypes.POINTER(Kernels), _P, _SIZE, ctypes.POINTER(HostMemory), ctypes.POINTER(Problem)),
    ),
    "mote_image_crc": (_STATUS, _P, _SIZE),
    "mote_input_count": (_SIZE, _P),
    "mote_output_count": (_SIZE, _P),
    "mote_input_info": (_STATUS, _P, _SIZE, ctypes.POINTER(TensorInfo)),
    "mote_output_info": (_STATUS, _P, _SIZE, ctypes.POINTER(TensorInfo)),
    "mote_input": (_P, _P, _SIZE),
    "mote_output": (_P, _P, _SIZE),
    "mote_invoke": (_STATUS, _P),
    "mote_step": (_STATUS, _P),
    "mote_push": (_STATUS, _P, _P, _SIZE),
    "mote_push_row": (_STATUS, _P, _P),
    "mote_reset": (_STATUS, _P),
    "mote_state_bytes": (_SIZE, _P),
    "mote_save": (_STATUS, _P, _P, _SIZE),
    "mote_restore": (_STATUS, _P, _P, _SIZE),
    "mote_status_text": (ctypes.c_char_p, _STATUS),
    "mote_train_begin": (_STATUS, _P, ctypes.c_float),
    "mote_set_labels": (_STATUS, _P, _P, _SIZE),
    "mote_set_target": (_STATUS, _P, _P, _SIZE),
    "mote_forget_roles": (None, _P, ctypes.c_uint32),
    "mote_train_end": (_STATUS, _P),
    "mote_loss": (ctypes.c_float, _P),
    "mote_learned_samples": (ctypes.c_int32, _P),
    "mote_weights_bytes": (ctypes.c_uint32, _P),
    "mote_host_export": (_STATUS, *_RECORD_AND_KEY),
    "mote_host_import": (_STATUS, *_RECORD_AND_KEY),
}
"""Return and argument types of the functions in `mote_runtime.h`, `mote_train.h`, `mote_interpreter.h` and `_SHIM`."""


@cache
def runtime() -> ctypes.CDLL:
    """The runtime library."""
    files = {**entry_files([], LIMITS), **runtime_files(), **mac_files(), "mote_host.c": _SHIM}
    sources = [name for name in files if name.endswith(".c") and name != "mote_kernels.c"]
    library = host.load(files, sources)
    for name, (returns, *takes) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = returns, takes
    return library


@dataclass(frozen=True)
class KernelTable:
    """A kernel table for `mote_init`."""

    table: Kernels
    _entries: object
    """Reference that keeps the table's entries alive."""


def table(records: Iterable[KernelRecord], target: str = "host") -> KernelTable:
    """The kernel table sorted by id; with the target `native` kernels use all instructions of this CPU."""
    addresses = [_entry(record, target) for record in merged(records)]
    entries = (ctypes.c_void_p * len(addresses))(*addresses)
    return KernelTable(Kernels(ctypes.cast(entries, ctypes.POINTER(ctypes.c_void_p)), len(addresses)), entries)


@cache
def _entry(record: KernelRecord, target: str) -> int:
    """Address of a kernel's function, compiled on first use."""
    files = entry_files([record], replace(LIMITS, fast=MOST_FAST) if record.fails else LIMITS)
    files |= FILES if record.fails else {}
    del files["mote_kernels.c"], files["mote_kernels.h"]
    headers = {name: text for name, text in runtime_files().items() if name == "mote_kernel.h"}
    sources = [name for name in files if name.endswith(".c")]
    library = host.load({**files, **headers}, sources, target=target)
    if record.fails:
        hooked(library)
    return ctypes.addressof(ctypes.c_char.in_dll(library, entry_name(record)))
