"""Arduino: a library with the agent and a sketch over `Serial`; PlatformIO: a project with both."""

from __future__ import annotations

import json
from dataclasses import replace

from mote.compiler.emit.licence import SPDX
from mote.compiler.package.description import Files
from mote.compiler.package.libraries.arduino import BAUD, properties, sketch, with_pragmas
from mote.compiler.package.libraries.layout import KEYWORDS, self_contained
from mote.compiler.package.libraries.platformio import BOARDS, NATIVE, board_environment, built
from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.agent.packages.description import NAME, PORT, AgentPackage, check_sentence, port_text, without_scratch
from mote.hardware.targets import Target

ARDUINO_HEADER, ARDUINO_PORT = "mote_agent_arduino.h", "mote_port.cpp"
SKETCH = f"examples/{NAME}/{NAME}.ino"
PROGRAM, PROJECT = "src/main.cpp", "platformio.ini"
SETUP = (
    sketch(
        "mote_agent_begin(Serial);"
        " /* with a second argument: the pin that changes with every step, for an energy meter */",
        " mote_agent_poll(); ",
    )
    + "\n"
)


def check(target: Target, options: AgentOptions) -> None:
    """Raises an error for code in RAM on cores that cannot execute data memory."""
    if target.arch not in ("arm", "host"):
        without_scratch(options, "Arduino", f"its core for {target.name} has none for that")


def files(package: AgentPackage) -> Files:
    """Files of the library and its sketch."""
    return {
        **{f"src/{path}": text for path, text in _sources(package, "arduino").items()},
        SKETCH: f"// {SPDX}\n// {package.title}.\n#include <{ARDUINO_HEADER}>\n\n{SETUP}",
        "library.properties": properties(
            replace(package.as_library, headers=(ARDUINO_HEADER,)),
            f"Answers mote run --board over Serial at {BAUD} baud.",
        ),
        "README.md": _readme(package),
    }


def platformio_files(package: AgentPackage) -> Files:
    """Files of a PlatformIO project for a board with Arduino's framework and for this computer."""
    library = f"lib/{NAME}"
    return {
        **{f"{library}/src/{path}": text for path, text in _sources(package, "platformio").items()},
        f"{library}/library.json": _manifest(package),
        f"{library}/src/mote_port_posix.c": f"#if !defined(ARDUINO)\n{port_text('posix', PORT)}#endif\n",
        PROGRAM: f'// {SPDX}\n#if defined(ARDUINO)\n#include "{ARDUINO_HEADER}"\n\n{SETUP}#endif\n',
        PROJECT: _project(package),
        "README.md": _platformio_readme(package),
    }


def _sources(package: AgentPackage, ecosystem: str) -> dict[str, str]:
    """C and C++ files with required compiler settings inside the text, since Arduino libraries have no flags."""
    self_contained(package.library, ecosystem)
    needed = with_pragmas(package.as_library, package.model_sources)
    own = {name: port_text("arduino", name) for name in (ARDUINO_HEADER, ARDUINO_PORT)}
    return {**package.files, **needed, **own}


def _manifest(package: AgentPackage) -> str:
    about = package.library.metadata
    fields = {
        "name": NAME,
        "version": about.version,
        "description": package.title,
        "keywords": list(KEYWORDS),
        "license": about.license,
        "frameworks": ["*"],
        "platforms": ["*"],
        "build": built(package.library, libArchive=False),
    }
    return json.dumps(fields, indent=2) + "\n"


def _project(package: AgentPackage) -> str:
    lines = [f"; {package.title}.", f"[env:{NATIVE}]", f"platform = {NATIVE}"]
    lines += ["build_flags = -DMOTE_PORT_OWN_SCRATCH"]
    lines += board_environment(package.target)
    return "\n".join(lines) + "\n"


def _readme(package: AgentPackage) -> str:
    return f"""\
# {package.title}

Copy this folder into `libraries/` of your sketchbook. File > Examples > {NAME} is the sketch: upload it, and close the
serial monitor. `mote_agent_begin` takes any `Stream`. The counter is the core's where Arduino's core has one, and else
`micros()`.

{check_sentence([f"serial:/dev/ttyACM0@{BAUD}"], "Over the port that the IDE uploads to:")}"""


def _platformio_readme(package: AgentPackage) -> str:
    board = BOARDS.get(package.target.name, ("", "YOUR_BOARD"))[1]
    return f"""\
# {package.title}

```sh
pio run -e {board} -t upload
```

The environment `{NATIVE}` is a program for this computer: `.pio/build/{NATIVE}/program --tcp 7000`.

{check_sentence([f"serial:/dev/ttyACM0@{BAUD}"], "Over the port that PlatformIO uploads to:")}"""
