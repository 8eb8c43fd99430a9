"""`mote.register`, `mote.register_kernel`, `mote.register_generator` and `mote.register_step`: user-defined operators,
kernels and preprocessing steps in C."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from runpy import run_path
from traceback import extract_tb
from typing import Any

from mote.base.errors import MoteError
from mote.compiler.kernels import catalogue, library
from mote.compiler.kernels.contract import Kernel
from mote.compiler.kernels.memo import SHARED
from mote.compiler.offload import backends
from mote.compiler.offload.contract import Generator
from mote.frontends.features.pipeline import Takes, takes
from mote.frontends.features.signal import Signal
from mote.frontends.features.steps import STEPS
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.control.custom import DEFINITIONS, Definition, Use

NAMES = "a file of kernels is called mote_NAME.h, and defines the type mote_NAME_t and the function mote_NAME"


def register(
    code: str,
    *,
    header: str | Path,
    shape: Callable[[Use], Shape],
    reference: Callable[..., Array],
    parameters: Callable[[Use], Mapping[str, Any]] = lambda use: {},
    scratch: Callable[[Use], int] | None = None,
    elementwise: bool = False,
    by_rows: bool = False,
    refuses: Callable[[Use], str | None] = lambda use: None,
) -> None:
    """Define the operator that models call by a custom code; a second definition takes the place of the first.

    `header`: a C file `mote_NAME.h` with a struct `mote_NAME_t` of parameters and the function `mote_NAME(const
    mote_NAME_t *p, inputs..., output)`, with a pointer to its scratch at the end where there is `scratch`;
    `elementwise` functions take `int32_t`, how many elements to compute, after the output, and are called for any run
    of them; those that are `by_rows` so many rows, each made from the same row of the inputs. `shape(use)` gives the
    shape of the output, `reference(use, *inputs)` its values in NumPy, with None for omitted inputs; `parameters(use)`
    the fields of the struct: numbers, and arrays that become constants in flash; `scratch(use)` the bytes of scratch;
    `refuses(use)` why a use cannot be compiled, or None.
    """
    function = _own_header(header)
    DEFINITIONS[code] = Definition(code, function, shape, reference, parameters, scratch, elementwise, refuses, by_rows)
    SHARED.clear()


def register_step(name: str, function: Callable[..., Signal]) -> None:
    """Add a preprocessing step: `function(signal, ...)` returns the signal behind it, and takes the parameters that
    `--preprocess NAME(...)` gives, with types and defaults. `signal.custom(CODE, ...)` adds an operator that `register`
    defined: its NumPy reference and its C are what the step computes in Python and on the device."""
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise MoteError(f"'{name}' is no name of a step", remedy="use small letters, digits and -")
    if takes(function) is not Takes.SIGNAL:
        raise MoteError(
            f"the function of step '{name}' takes no Signal",
            remedy="annotate its first parameter: mote.frontends.features.signal.Signal",
        )
    STEPS[name] = function
    SHARED.clear()


def register_kernel(kernel: Kernel, *, header: str | Path) -> None:
    """Add a kernel to the catalogue (docs/develop/adding-a-kernel.md has the contract). It is
    chosen where it costs least (`Packed.cost`), where its `Packed.beats` names the others, or where
    `--kernel LAYER=NAME` asks for it. A second kernel of the same name takes the place of the first."""
    _own_header(header)
    catalogue.register(kernel)
    SHARED.clear()


def register_generator(generator: Generator) -> None:
    """Make an external generator known, which `--backend NAME` (`backend=["NAME"]`) then asks for the regions of a
    model that it computes (see docs/develop/external-generators.md for the contract). A second one of the same name
    takes the place of the first."""
    backends.register(generator)
    SHARED.clear()


def load_plugins(paths: list[str]) -> None:
    """Runs Python files that register operators and kernels."""
    for path in paths:
        try:
            run_path(path)
        except MoteError:
            raise
        except OSError as error:
            raise MoteError(f"cannot be read: {error.strerror}", where=path) from None
        except Exception as error:
            lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == path]
            raise MoteError(f"{type(error).__name__}: {error}", where=":".join([path, *map(str, lines[-1:])])) from None


def _own_header(header: str | Path) -> str:
    """Adds a user's C header to the library; returns the name of its function, without the prefix."""
    path = Path(header)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MoteError(f"cannot be read ({error})", where=str(path), remedy="give the path of a C file") from None
    name = path.name.removeprefix("mote_").removesuffix(".h")
    if not re.fullmatch(r"mote_[a-z][a-z0-9_]*\.h", path.name) or library.is_own(path.name):
        why = "has the name of a file of Mote's" if library.is_own(path.name) else "has no name of a file of kernels"
        raise MoteError(why, where=str(path), remedy=NAMES)
    for needed in (f"mote_{name}_t", f"mote_{name}"):
        if not re.search(rf"\b{needed}\b", text):
            raise MoteError(f"does not define {needed}", where=str(path), remedy=NAMES)
    library.add(path.name, text)
    return name
