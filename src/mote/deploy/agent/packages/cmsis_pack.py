"""CMSIS pack: the agent as a component, and a csolution project that talks over a debug probe."""

from __future__ import annotations

from mote.compiler.emit.licence import SPDX
from mote.compiler.package import cmsis_pack
from mote.compiler.package.description import Files, Package
from mote.compiler.package.libraries.layout import self_contained
from mote.deploy.agent.firmware import AgentOptions
from mote.deploy.agent.packages.description import NAME, PORT, AgentPackage, check_sentence, port_text, rtt_files
from mote.hardware.targets import Target

FOLDER = f"examples/{NAME}"
TEMPLATE = f"{FOLDER}/{PORT}"


def check(target: Target, options: AgentOptions) -> None:
    """Raises an error for cores without devices in packs."""
    cmsis_pack.check_core(target)


def files(package: AgentPackage) -> Files:
    """Files of the pack."""
    pack = package.as_library
    self_contained(pack, "cmsis-pack", lambda library: library.pack)
    page = _readme(package, pack)
    return {
        f"{cmsis_pack.vendor(pack)}.{NAME}.pdsc": cmsis_pack.description(pack, "The agent over a debug probe"),
        **{f"src/{path}": text for path, text in package.files.items()},
        f"{FOLDER}/{NAME}.csolution.yml": cmsis_pack.solution(pack),
        f"{FOLDER}/{NAME}.cproject.yml": _project(pack),
        TEMPLATE: port_text("template", PORT),
        **{f"{FOLDER}/{path}": text for path, text in rtt_files().items()},
        f"{FOLDER}/README.md": page,
        "README.md": page,
    }


def pack_name(package: AgentPackage) -> str:
    """File name that tools require of the pack."""
    return cmsis_pack.pack_name(package.as_library)


def _project(pack: Package) -> str:
    flags = "".join(f"\n        - {flag}" for flag in pack.flags)
    needed = f"\n      C:{flags}" if flags else ""
    vendor = cmsis_pack.vendor(pack)
    return f"""\
# {SPDX}
project:
  packs:
    - pack: {vendor}::{NAME}@{pack.metadata.version}
  define:
    - MOTE_PORT_RTT
  groups:
    - group: Port
      files:
        - file: {PORT}
        - file: mote_rtt.c
  components:
{cmsis_pack.components(pack)}
  misc:
    - for-compiler: GCC{needed}
      Link:
        - --specs=nosys.specs
"""


def _readme(package: AgentPackage, pack: Package) -> str:
    return f"""\
# {package.title}

```sh
cpackget add {cmsis_pack.pack_name(pack)}
cbuild {FOLDER}/{NAME}.csolution.yml --packs
```

The project talks over a debug probe (mote_rtt.h). Choose your device in the csolution file; for a UART fill in
`{PORT}` and remove the definition of `MOTE_PORT_RTT`.

{check_sentence(["tcp:127.0.0.1:9090"], "Over the RTT server of a debugger:")}"""
