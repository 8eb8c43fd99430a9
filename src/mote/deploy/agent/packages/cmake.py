"""CMake: a program for this computer, or firmware with a port of yours."""

from __future__ import annotations

from mote.compiler.emit.licence import SPDX
from mote.compiler.package.cmake import NATIVELY, quoted
from mote.compiler.package.dependencies import in_cmake
from mote.compiler.package.description import Files
from mote.compiler.package.make import WARNINGS
from mote.deploy.agent.packages.description import PORT, AgentPackage, check_sentence, port_text, rtt_files

TEMPLATE = f"port/{PORT}"


def files(package: AgentPackage) -> Files:
    """The C in `src`, the program's port, and a template of a port for other systems."""
    return {
        **{f"src/{path}": text for path, text in package.files.items()},
        f"posix/{PORT}": port_text("posix", PORT),
        TEMPLATE: port_text("template", PORT),
        **{f"port/{path}": text for path, text in rtt_files().items()},
        "CMakeLists.txt": _cmake(package),
        "README.md": _readme(package),
    }


def _cmake(package: AgentPackage) -> str:
    library = package.library
    model = "\n  ".join((*(f"src/{path}" for path in package.model_sources), *map(quoted, library.external)))
    agent = "\n  ".join(f"src/{path}" for path in package.sources)
    told = " ".join(
        (library.optimization.level, *library.needed, *(f"$<$<C_COMPILER_ID:GNU>:{flag}>" for flag in library.only_gcc))
    )
    native = NATIVELY.format(name="model", option="MOTE_NATIVE") if library.target.is_native else ""
    include = " ".join(("src", *map(quoted, library.includes)))
    return f"""\
# {SPDX}
# {package.title}.
# On this computer it is a program: `agent --tcp 7000`. For a part, name the compiler and its flags as for any project
# of CMake, and fill in {TEMPLATE}; -DMOTE_PORT_RTT=ON is a line over a debug probe.
# {library.measured}
cmake_minimum_required(VERSION 3.13)
project({library.name}_agent C)

if(CMAKE_CROSSCOMPILING)
  set(PORT port/{PORT} port/mote_rtt.c)
else()
  set(PORT posix/{PORT})
endif()
option(MOTE_PORT_RTT "A line over a debug probe" OFF)

add_library(model OBJECT
  {model})
add_executable(agent
  {agent}
  ${{PORT}}
  $<TARGET_OBJECTS:model>)
foreach(part model agent)
  target_include_directories({"${part}"} PRIVATE {include} port)
  set_target_properties({"${part}"} PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON)
endforeach()
{in_cmake(library, "model", foreign_targets=False)}if(NOT CMAKE_CROSSCOMPILING)
  target_compile_definitions(agent PRIVATE MOTE_PORT_OWN_SCRATCH)
elseif(MOTE_PORT_RTT)
  target_compile_definitions(agent PRIVATE MOTE_PORT_RTT)
endif()
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang" AND NOT MSVC)
  target_compile_options(model PRIVATE {told})
{native}\
  target_compile_options(agent PRIVATE -Os {WARNINGS})
endif()
{"target_link_libraries(agent PRIVATE m)" + chr(10) if library.math else ""}"""


def _readme(package: AgentPackage) -> str:
    return f"""\
# {package.title}

```sh
cmake -S . -B build && cmake --build build
./build/agent --tcp 7000
```

The program serves one host at a time. `--pty` opens a pseudo-terminal instead, `--stdio` uses its own input and
output. For a part, fill in `{TEMPLATE}` (a byte in, bytes out, a counter) and build with its compiler:

```sh
cmake -S . -B firmware -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DMOTE_PORT_RTT=ON
```

{check_sentence(["tcp:127.0.0.1:7000"], "The agent says which target, model and counter it has:")}"""
