"""Builds a compiled model as a WebAssembly module, so that a browser runs the same C as a device."""

from __future__ import annotations

from mote.base.errors import MoteError, naming
from mote.bench.execute.host_library import HostModel, check_buildable
from mote.compiler.compiled import Compiled
from mote.hardware.toolchain.compilers import Compiler
from mote.hardware.toolchain.wasm import wasm_module

EXPORTS = ("harness_init", "harness_input", "harness_output", "harness_run")
"""Exported functions of the glue (`harness.h`): status 0 is success; inputs and outputs are addresses in the module's
memory."""


def web_module(compiled: Compiled, compiler: Compiler | None = None) -> bytes:
    """The generated C of a model for any core as a 32-bit WebAssembly module, with portable kernels, so that integers
    are bit-exact with the device. Encrypted models are rejected, since a page would need the key."""
    with naming(compiled.path):
        if compiled.project.options.cipher is not None:
            raise MoteError("its weights are encrypted, and a page that runs it would show the key")
        check_buildable(compiled)
        model = HostModel(compiled)
        return wasm_module(model.files, model.sources, EXPORTS, compiler)
