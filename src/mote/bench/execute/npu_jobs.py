"""Runs Ethos-U jobs of images on this computer by the functional model."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.compiler.emit.image.npu.kernels import DRIVER
from mote.compiler.offload.ethos_u.artifact import HEAD
from mote.compiler.offload.ethos_u.job import FAST
from mote.compiler.offload.ethos_u.simulated import simulate
from mote.hardware.npu.sources import check_files

MOST_FAST = 1 << 24
"""Maximum bytes of fast memory for a job on this host."""
_EITHER = """\
#include "mote_npu_check.h"

typedef mote_npu_status mote_npu_check_t(const void *, uint32_t, const uint32_t *, uint32_t, uint32_t *);
mote_npu_check_t mote_npu_check_for_u55, mote_npu_check_for_u85;

mote_npu_status mote_npu_check(const void *payload, uint32_t bytes, const uint32_t sizes[MOTE_NPU_REGIONS],
                               uint32_t writable, uint32_t *at) {
    const mote_npu_status status = mote_npu_check_for_u55(payload, bytes, sizes, writable, at);
    return status == MOTE_NPU_CORE ? mote_npu_check_for_u85(payload, bytes, sizes, writable, at) : status;
}
"""


def _checkers() -> dict[str, str]:
    """Command stream checkers for all Ethos-U families, since the host runs images for all targets."""
    files = {"mote_npu_either.c": _EITHER}
    for core in ("u55", "u85"):
        for name, text in check_files(f"ethos-{core}").items():
            renamed = f"#define mote_npu_check mote_npu_check_for_{core}\n" if name.endswith(".c") else ""
            files[name] = f"{renamed}{text}"
    return files


FILES = {
    **_checkers(),
    DRIVER: """\
#include "mote_settings.h"

#include "mote_npu_job.h"

typedef int mote_npu_hook_t(const uint32_t *job, const void *const *base);
static mote_npu_hook_t *hook;

void mote_npu_hook(mote_npu_hook_t *function);
void mote_npu_hook(mote_npu_hook_t *function) { hook = function; }

int mote_npu_invoke(const uint32_t *job, const void *const *base) { return hook(job, base); }
""",
}
"""C files that replace a library's driver calls and single-family checker."""
_Hook = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_uint32), ctypes.POINTER(ctypes.c_void_p))


def hooked(library: ctypes.CDLL) -> None:
    """Installs the functional model as the driver of a library."""
    library.mote_npu_hook(_HOOK)


def _invoke(job: Any, base: Any) -> int:
    """Computes a job that the runtime has checked; returns 1 if the functional model rejects it."""
    head = [int(job[i]) for i in range(HEAD)]
    areas = [_area(base[i], 0 if i == FAST else head[2 + i]) for i in range(head[1])]
    try:
        simulate([_area(ctypes.cast(job, ctypes.c_void_p).value, 4 * HEAD + head[0]), *areas])
    except MoteError:
        return 1
    return 0


def _area(address: int | None, size: int) -> NDArray[np.uint8]:
    if not size or address is None:
        return np.zeros(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


_HOOK = _Hook(_invoke)
"""Callback passed to libraries, which must outlive them."""
