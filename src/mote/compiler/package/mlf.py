"""Model Library Format (version 7): microTVM's layout of a compiled model."""

from __future__ import annotations

import json
from collections.abc import Iterable

from mote.base.errors import MoteError
from mote.compiler.emit.c.model.interface import Interface
from mote.compiler.emit.c.model.ports import CPort
from mote.compiler.emit.c.programs.example import EXAMPLE
from mote.compiler.offload.foreign import ForeignLibrary
from mote.compiler.package.dependencies import folders
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.layout import self_contained
from mote.compiler.package.readme import readme
from mote.hardware.targets import Target
from mote.hardware.targets.flags import NATIVE, STANDARD, UNFUSED

VERSION = 7
CODE = "codegen/host"
CPU = 1
"""Number of the device type CPU in DLPack."""
EXPORTED = "1970-01-01 00:00:00Z"
"""Export time in every archive: constant, so that equal models give equal archives."""
KEYS = {"arm": "arm_cpu,cpu", "riscv": "riscv_cpu,cpu"}


def files(package: Package) -> Files:
    """The library in `codegen/host`, with metadata and the example."""
    if len(package.interfaces) > 1:
        raise MoteError(
            "the sizes of several models that share kernels cannot be stated apart in the Model Library Format",
            where="option package",
            remedy="compile the models one by one",
        )
    self_contained(package, "mlf", lambda library: True)
    beside = {f"{EXAMPLE.rpartition('/')[0]}/{file}": text for file, text in package.example_files.items()}
    return {
        "metadata.json": json.dumps(metadata(package), indent=2, sort_keys=True) + "\n",
        **{_placed(path): text for path, text in package.files.items()},
        EXAMPLE: package.example.program(),
        **beside,
        "README.md": readme(package, _use(package)),
    }


def metadata(package: Package) -> dict[str, object]:
    """The contents of `metadata.json`: memory sizes of the model, its inputs and outputs, and its target."""
    module = {
        "model_name": package.name,
        "export_datetime": EXPORTED,
        "memory": {
            "functions": {"main": [_main(i, package) for i in package.interfaces], "operator_functions": []},
            "sids": [],
        },
        "target": [_target(package.target)],
        "executors": ["aot"] if package.interfaces else [],
        "style": "full-model",
        "external_dependencies": [_dependency(dependency.library) for dependency in package.dependencies],
    }
    return {"version": VERSION, "modules": {package.name: module}}


def _dependency(library: ForeignLibrary) -> dict[str, object]:
    """An entry for a library whose functions the model calls."""
    return {
        "short_name": library.name,
        "url": library.url,
        "url_type": "git",
        "version_spec": f"=={library.version}" if library.version else "",
    }


def _main(interface: Interface, package: Package) -> dict[str, object]:
    ports = (*interface.inputs, *interface.outputs)
    return {
        "device": CPU,
        "workspace_size_bytes": interface.arena_bytes,
        "constants_size_bytes": package.constants,
        "io_size_bytes": sum(port.tensor.nbytes for port in ports),
        "inputs": _ports(interface.inputs),
        "outputs": _ports(interface.outputs),
    }


def _ports(ports: Iterable[CPort]) -> dict[str, object]:
    return {
        port.tensor.name: {"dtype": port.tensor.dtype.value, "size": port.tensor.nbytes, "function": port.function}
        for port in ports
    }


def _target(target: Target) -> str:
    """The target as a TVM target string."""
    return "c" if target.is_host else f"c -keys={KEYS.get(target.arch, 'cpu')} -mcpu={target.cpu}"


def _placed(path: str) -> str:
    """The path of a library file in the archive: sources and headers are in different folders."""
    folder = {".c": "src", ".h": "include", ".hpp": "include"}.get(f".{path.rpartition('.')[2]}")
    return f"{CODE}/{folder}/{path}" if folder else f"runtime/{path}"


def _use(package: Package) -> str:
    flags = " ".join([STANDARD, *package.flags, *((NATIVE[0], UNFUSED) if package.target.is_native else ())])
    theirs = [f"-I{path}" for dependency in package.dependencies for path in folders(dependency, '"${}"')]
    theirs += [f'"${d.library.variable}"/{source}' for d in package.dependencies for source in d.sources]
    needed = "".join(
        f"\n\n`{d.library.variable}` is the folder of {d.library.name}, {d.library.url}: the model calls its functions."
        for d in package.dependencies
    )
    return f"""\
## Use

The archive follows version {VERSION} of the Model Library Format. `metadata.json` has the sizes of memory, the inputs
and outputs. Compile what is in `{CODE}/src` with the headers in `{CODE}/include`:

```sh
cc {flags} -I{CODE}/include {" ".join((f"{CODE}/src/*.c", *theirs, EXAMPLE))} -o example/example
```{needed}"""
