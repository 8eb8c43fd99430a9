"""CMake: a program for this computer, or firmware with a port written by the user."""

from __future__ import annotations

from mote.compiler.emit.licence import SPDX
from mote.compiler.package.cmake import NATIVELY, for_gcc, listed, quoted
from mote.compiler.package.dependencies import in_cmake
from mote.compiler.package.description import Files
from mote.compiler.package.make import WARNINGS
from mote.compiler.package.templates import filled
from mote.deploy.agent.packages.description import PORT, AgentPackage, check_sentence, port_text, rtt_files

TEMPLATE = f"port/{PORT}"


def files(package: AgentPackage) -> Files:
    """Files: C in `src`, the program's port, and a port template for other systems."""
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
    told = " ".join((library.optimization.level, *library.needed, *for_gcc(library)))
    native = NATIVELY.format(name="model", option="MOTE_NATIVE") if library.target.is_native else ""
    include = " ".join(("src", *map(quoted, library.includes)))
    return filled(
        "agent_CMakeLists.txt",
        {
            "SPDX": SPDX,
            "TITLE": package.title,
            "MEASURED": library.measured,
            "NAME": library.name,
            "MODEL": listed(package.in_src(package.model_sources), library.external),
            "AGENT": listed(package.in_src(package.sources)),
            "INCLUDE": include,
            "LIBRARIES": in_cmake(library, "model", foreign_targets=False),
            "TOLD": told,
            "NATIVE": native,
            "WARNINGS": WARNINGS,
            "MATH": "\ntarget_link_libraries(agent PRIVATE m)" if library.math else "",
        },
    )


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
