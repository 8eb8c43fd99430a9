"""Zephyr: a module with a Kconfig option for the library, and a sample that prints the classes."""

from __future__ import annotations

import re
from dataclasses import replace

from mote.compiler.emit.c.programs.example import Console
from mote.compiler.emit.licence import SPDX
from mote.compiler.package.adapters.sources import CODE
from mote.compiler.package.cmake import for_gcc, quoted
from mote.compiler.package.dependencies import in_cmake
from mote.compiler.package.description import Files, Package
from mote.compiler.package.readme import readme
from mote.compiler.package.runtime_project import NAME as RUNTIME

CONSOLE = Console(
    "#include <zephyr/kernel.h>\n#include <zephyr/sys/printk.h>",
    'printk("%s", text);',
    "int main(void) { return example(); }",
)
SAMPLE = "samples/{name}"
BOARDS = {
    "cortex-m3": ("mps2/an385",),
    "cortex-m4": ("mps2/an386",),
    "cortex-m7": ("mps2/an500",),
    "cortex-m33": ("mps2/an521/cpu0",),
    "cortex-m55": ("mps3/corstone300/an547",),
    "rv32imc": ("qemu_riscv32",),
    "native": ("mps2/an385", "qemu_riscv32"),
}
"""By core: boards of Zephyr that QEMU emulates."""
ARCHITECTURES = {"arm": "arm", "riscv": "riscv", "xtensa": "xtensa"}
"""Zephyr's names of architectures."""
CURRENT = "${ZEPHYR_CURRENT_LIBRARY}"
"""CMake variable with the library that a module's CMakeLists.txt defines."""
STACK = 4096
"""Bytes of the main thread's stack in the sample, and default for a service's thread."""

SERVICE_FILE, PSA_FILE = "mote_service.c", "mote_verify_psa.c"
"""C files of adapters that have Kconfig options of their own."""
SERVICE = """
config MOTE_SERVICE
\tbool "A thread that serves a model"
\tdefault y
\tdepends on MULTITHREADING
\thelp
\t  mote_service.h: requests through a queue, results with time-outs.

if MOTE_SERVICE

config MOTE_SERVICE_SLOTS
\tint "Requests that wait or are served at the same time"
\tdefault 4
\trange 1 200

config MOTE_SERVICE_STACK_SIZE
\tint "Bytes of the thread's stack"
\tdefault {stack}
\thelp
\t  The stack that `mote run` prints, and 512 bytes for the service, the queue and saved registers.

endif # MOTE_SERVICE
"""
PSA = """
config MOTE_VERIFY_PSA
\tbool "Verify updates with PSA Crypto"
\thelp
\t  mote_verify_psa.h, for a crypto library that has PSA_ALG_PURE_EDDSA.
"""
SERVICE_CMAKE = """
  if(CONFIG_MOTE_SERVICE)
    zephyr_library_sources({files})
    zephyr_compile_definitions(
      MOTE_SERVICE_SLOTS=${{CONFIG_MOTE_SERVICE_SLOTS}}
      MOTE_SERVICE_STACK_BYTES=${{CONFIG_MOTE_SERVICE_STACK_SIZE}}
    )
  endif()"""
SOURCE_OPTIONS = {
    "mote_zephyr_dmic.c": "AUDIO_DMIC",
    "mote_zephyr_sensor.c": "SENSOR",
    "mote_zephyr_video.c": "VIDEO",
}
"""By adapter file: the Kconfig symbol of the Zephyr driver that it needs to be compiled."""
PSA_CMAKE = """
  if(CONFIG_MOTE_VERIFY_PSA)
    zephyr_library_sources({files})
  endif()"""


def files(package: Package) -> Files:
    """The library in `src`, the module's files in `zephyr`, and a sample."""
    sample = SAMPLE.format(name=package.name)
    return {
        **{f"src/{path}": text for path, text in package.files.items()},
        "zephyr/module.yml": _module(package),
        "zephyr/Kconfig": _kconfig(package),
        "zephyr/CMakeLists.txt": _cmake(package),
        f"{sample}/CMakeLists.txt": _sample_cmake(package),
        f"{sample}/prj.conf": _configuration(package),
        f"{sample}/sample.yaml": _sample_yaml(package),
        f"{sample}/src/main.c": package.example.program(CONSOLE),
        **{f"{sample}/src/{path}": text for path, text in package.example_files.items()},
        "README.md": readme(package, _use(package)),
    }


def _library(package: Package) -> str:
    """The name of the module and its library, distinct from those of other modules."""
    return package.name if package.name == RUNTIME else f"mote_{package.name}"


def option(package: Package) -> str:
    """The Kconfig symbol that enables the library."""
    return RUNTIME.upper() if package.name == RUNTIME else f"MOTE_MODEL_{package.name.upper()}"


def _module(package: Package) -> str:
    return f"""\
# {SPDX}
# The folder around this one is a Zephyr module: name it in EXTRA_ZEPHYR_MODULES, or in the manifest of west.
name: {_library(package)}
build:
  cmake: zephyr
  kconfig: zephyr/Kconfig
samples:
  - samples
"""


def _kconfig(package: Package) -> str:
    symbol = option(package)
    needs = "\timply FPU\n" if "fpu" in package.target.features or "float32" in package.target.features else ""
    needs += "\tselect REQUIRES_FULL_LIBC\n" if package.math else ""
    needs += "".join(f"\tselect {each}\n" for dependency in package.dependencies for each in dependency.options)
    service = SERVICE.format(stack=_service_stack(package))
    parts = [text for path, text in ((SERVICE_FILE, service), (PSA_FILE, PSA)) if path in package.files]
    return f"""\
# {SPDX}

menuconfig {symbol}
\tbool "{package.name}"
{needs}\thelp
\t  {package.summary}.

if {symbol}

config {symbol}_OPTIMIZED
\tbool "Compile with {package.optimization.level}, as Mote measures"
\tdefault y
\tdepends on !NO_OPTIMIZATIONS
\thelp
\t  Without it the library is compiled with the level of the application.
{"".join(parts)}
endif # {symbol}
"""


def _service_stack(package: Package) -> int:
    """Bytes of stack of a service's thread: measured for a compiled model, or a default."""
    stated = re.search(r"#define MOTE_SERVICE_STACK_BYTES (\d+)", package.files.get("mote_serviced.h", ""))
    return int(stated[1]) if stated else STACK


def _cmake(package: Package) -> str:
    symbol = option(package)
    added = sorted(path for path in package.files if path.endswith(".c") and path not in package.sources)
    verifier = [path for path in added if path == PSA_FILE]
    optional = [path for path in added if path in SOURCE_OPTIONS]
    service = [path for path in added if path not in (PSA_FILE, *CODE)] if SERVICE_FILE in added else []
    own = [*package.sources, *(path for path in added if path not in (*verifier, *service, *optional))]
    listed = "\n    ".join((*map(_placed, own), *map(quoted, package.external)))
    include = " ".join(("${SOURCES}", *map(quoted, package.includes)))
    parts = [
        text.format(files=" ".join(map(_placed, paths)))
        for paths, text in ((service, SERVICE_CMAKE), (verifier, PSA_CMAKE))
        if paths
    ] + [f"\n  zephyr_library_sources_ifdef(CONFIG_{SOURCE_OPTIONS[path]} {_placed(path)})" for path in optional]
    needed = (
        f"\n  # Sums in kernels may wrap.\n  zephyr_library_compile_options({' '.join(package.needed)})"
        if package.needed
        else ""
    )
    only_gcc = " ".join(for_gcc(package))
    return f"""\
# {SPDX}
# {package.measured}
if(CONFIG_{symbol})
  set(SOURCES ${{CMAKE_CURRENT_LIST_DIR}}/../src)
  zephyr_include_directories({include})
  zephyr_library_named({_library(package)})
  zephyr_library_sources(
    {listed}
  ){needed}{"".join(f"{chr(10)}  {line}" for line in libraries_outside_zephyr(package, CURRENT).splitlines())}
  if(CONFIG_{symbol}_OPTIMIZED)
    zephyr_library_compile_options({" ".join(filter(None, (package.optimization.level, only_gcc)))})
  endif(){"".join(parts)}
endif()
"""


def libraries_outside_zephyr(package: Package, target: str) -> str:
    """CMake code that adds the sources of libraries that Zephyr does not have to a target."""
    others = tuple(dependency for dependency in package.dependencies if not dependency.options)
    return in_cmake(replace(package, dependencies=others), target, foreign_targets=False)


def _placed(path: str) -> str:
    """The path of a library's C file in CMake."""
    return f"${{SOURCES}}/{path}"


def _sample_cmake(package: Package) -> str:
    return f"""\
# {SPDX}
cmake_minimum_required(VERSION 3.20.0)
list(APPEND EXTRA_ZEPHYR_MODULES ${{CMAKE_CURRENT_LIST_DIR}}/../..)
find_package(Zephyr REQUIRED HINTS $ENV{{ZEPHYR_BASE}})
project({package.name}_sample C)
target_sources(app PRIVATE src/main.c)
"""


def _configuration(package: Package) -> str:
    return f"""\
# {SPDX}
CONFIG_{option(package)}=y
CONFIG_PRINTK=y
CONFIG_MAIN_STACK_SIZE={STACK}
"""


def _sample_yaml(package: Package) -> str:
    target = package.target
    lines = "\n".join(f"      - {_yaml(_pattern(line))}" for line in package.example.lines)
    allowed = f"  arch_allow: {ARCHITECTURES[target.arch]}\n" if target.arch in ARCHITECTURES else ""
    boards = "".join(f"\n      - {board}" for board in BOARDS.get(target.cpu, ()))
    platforms = f"\n    integration_platforms:{boards}" if boards else " {}"
    return f"""\
# {SPDX}
sample:
  name: {_yaml(package.name)}
  description: {_yaml(package.summary)}
common:
  tags: mote
{allowed}  harness: console
  harness_config:
    type: multi_line
    ordered: true
    regex:
{lines}
tests:
  sample.mote.{package.name}:{platforms}
"""


def _yaml(text: str) -> str:
    """A YAML string in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def _pattern(line: str) -> str:
    """A regular expression that matches exactly this line."""
    return re.sub(r"[\\^$.|?*+()\[\]{}]", r"\\\g<0>", line)


def _use(package: Package) -> str:
    name, symbol = package.name, option(package)
    board = BOARDS.get(package.target.cpu, ("YOUR_BOARD",))[0]
    return f"""\
## Use

This folder is a Zephyr module. The sample finds it by itself:

```sh
west build -b {board} samples/{name}
west build -t run
```

An application of yours names it, and has `CONFIG_{symbol}=y` in its `prj.conf`:

```sh
west build -b {board} app -- -DEXTRA_ZEPHYR_MODULES=$PWD
```

Or the manifest of your west workspace has it as a project. `CONFIG_{symbol}_OPTIMIZED` compiles the library with
`{package.optimization.level}`, whatever the level of the application."""
