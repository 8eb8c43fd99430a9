"""CMSIS packs: a package description (PDSC) with the library as a component, and a csolution example."""

from __future__ import annotations

import re
from html import escape

from mote.base.errors import MoteError
from mote.compiler.emit.c.programs.example import HOSTED
from mote.compiler.emit.licence import SPDX
from mote.compiler.offload.foreign import PackComponent
from mote.compiler.package.description import LICENCE_FILE, Files, Package
from mote.compiler.package.libraries.layout import self_contained
from mote.compiler.package.readme import readme
from mote.compiler.package.templates import filled
from mote.hardware.targets import Target

SCHEMA = "1.7.36"
"""Version of the PDSC schema that is used."""
CORES = {
    "cortex-m0": ("Cortex-M0", "ARMCM0"),
    "cortex-m0plus": ("Cortex-M0+", "ARMCM0P"),
    "cortex-m3": ("Cortex-M3", "ARMCM3"),
    "cortex-m4": ("Cortex-M4", "ARMCM4"),
    "cortex-m7": ("Cortex-M7", "ARMCM7"),
    "cortex-m23": ("Cortex-M23", "ARMCM23"),
    "cortex-m33": ("Cortex-M33", "ARMCM33"),
    "cortex-m55": ("Cortex-M55", "ARMCM55"),
    "cortex-m85": ("Cortex-M85", "ARMCM85"),
}
"""By core: its name in PDSC conditions, and a generic device of the pack ARM::Cortex_DFP with it."""
PORTABLE = "cortex-m3"
"""The core of the example if the C is portable."""
OPTIONAL_DSP = ("cortex-m33",)
"""Cores that may lack DSP instructions."""
FPU = """\
    <condition id="FPU">
      <description>Floating-point unit</description>
      <accept Dfpu="SP_FPU"/>
      <accept Dfpu="DP_FPU"/>
    </condition>
"""
CONDITION = """\
{fpu}    <condition id="core">
      <description>{what}</description>{require}
    </condition>
"""
VENDOR = "Mote"
EXAMPLE = "examples/{name}"
_UNNAMEABLE = re.compile(r"[^A-Za-z0-9_-]+")


def files(package: Package) -> Files:
    """The pack as a folder: the description (PDSC), the library in `src`, and an example."""
    check_core(package.target)
    self_contained(package, "cmsis-pack", lambda library: library.pack)
    example = EXAMPLE.format(name=package.name)
    return {
        f"{vendor(package)}.{package.name}.pdsc": description(package),
        **{f"src/{path}": text for path, text in package.files.items()},
        f"{example}/{package.name}.csolution.yml": solution(package),
        f"{example}/{package.name}.cproject.yml": _project(package),
        f"{example}/main.c": package.example.program(HOSTED),
        **{f"{example}/{path}": text for path, text in package.example_files.items()},
        f"{example}/README.md": f"# {package.name}\n\nThe example of the pack prints over semihosting:\n\n"
        f"```\n{chr(10).join(package.example.lines)}\n```\n",
        "README.md": readme(package, _use(package)),
    }


def check_core(target: Target) -> None:
    """Refuses a target whose core is not in CMSIS packs, unless the C is portable."""
    if target.cpu not in CORES and not target.is_host:
        raise MoteError(
            f"a CMSIS pack is for Arm's Cortex-M cores, and {target.name} has none",
            where="option package",
            remedy="choose a target with such a core, or host for portable C",
        )


def vendor(package: Package) -> str:
    """The vendor of the pack: the author, with characters replaced that file names cannot have."""
    about = package.metadata
    given = "" if about.author == type(about).author else about.author
    return _UNNAMEABLE.sub("_", given).strip("_") or VENDOR


def pack_name(package: Package) -> str:
    """The file name of the pack that CMSIS tools require."""
    return f"{vendor(package)}.{package.name}.{package.metadata.version}.pack"


def description(package: Package, example: str = "Prints classes over semihosting") -> str:
    """The package description (PDSC); `example`: a line of text about the example."""
    about, name = package.metadata, package.name
    conditions = _conditions(package)
    condition = ' condition="core"' if conditions else ""
    conditions = f"\n  <conditions>\n{conditions}  </conditions>\n" if conditions else ""
    contact = f"\n  <supportContact>{escape(about.email)}</supportContact>" if about.email else ""
    listed = [("header", path) for path in package.headers] + [("source", path) for path in package.sources]
    lines = "\n".join(f'        <file category="{kind}" name="src/{escape(path)}"/>' for kind, path in listed)
    return filled(
        "pack.pdsc",
        {
            "SPDX": SPDX,
            "SCHEMA": SCHEMA,
            "VENDOR": vendor(package),
            "NAME": name,
            "SUMMARY": escape(package.summary),
            "URL": escape(about.url),
            "CONTACT": contact,
            "LICENSE_FILE": LICENCE_FILE,
            "LICENSE": escape(about.license),
            "VERSION": about.version,
            "REQUIREMENTS": _requirements(package),
            "CONDITIONS": conditions,
            "CONDITION": condition,
            "MACRO": name.upper(),
            "FILES": lines,
            "FOLDER": EXAMPLE.format(name=name),
            "EXAMPLE": escape(example),
        },
    )


def _requirements(package: Package) -> str:
    """The required packs, in the package description (PDSC)."""
    packs = "".join(
        f'      <package vendor="{c.vendor}" name="{c.pack}" version="{c.version}"/>\n'
        for c in required_components(package)
    )
    return f"\n  <requirements>\n    <packages>\n{packs}    </packages>\n  </requirements>\n" if packs else ""


def required_components(package: Package) -> list[PackComponent]:
    """The components of other packs whose functions the library calls."""
    return [d.library.pack for d in package.dependencies if d.library.pack is not None]


def _conditions(package: Package) -> str:
    """The PDSC condition `core` with the core, features and components that the library requires; empty if it requires
    none."""
    target = package.target
    others = "".join(
        f'\n      <require Cclass="{c.cclass}" Cgroup="{c.cgroup}"/>' for c in required_components(package)
    )
    if target.is_host:
        return CONDITION.format(fpu="", what="What the code calls", require=others) if others else ""
    wanted = [f'Dcore="{CORES[target.cpu][0]}"']
    wanted += ['Ddsp="DSP"'] if "dsp" in target.features and target.cpu in OPTIONAL_DSP else []
    wanted += ['Dmve="FP_MVE"'] if "mve" in target.features else []
    fpu = "fpu" in target.features
    require = '\n      <require condition="FPU"/>' if fpu else ""
    require = f"\n      <require {' '.join(wanted)}/>{require}{others}"
    return CONDITION.format(fpu=FPU if fpu else "", what="The core that the code is for", require=require)


def solution(package: Package) -> str:
    """The csolution file of the example."""
    device = CORES.get(package.target.cpu, CORES[PORTABLE])[1]
    return f"""\
# {SPDX}
solution:
  created-for: CMSIS-Toolbox@2.6.0
  compiler: GCC
  packs:
    - pack: ARM::CMSIS@>=6.0.0
    - pack: ARM::Cortex_DFP@>=1.0.0
{_packs(package)}    - pack: {vendor(package)}::{package.name}@{package.metadata.version}
  target-types:
    - type: Generic
      device: {device}
  build-types:
    - type: Release
      optimize: balanced
      debug: off
  projects:
    - project: {package.name}.cproject.yml
"""


def _packs(package: Package) -> str:
    """The required packs, in a csolution file."""
    return "".join(f"    - pack: {c.vendor}::{c.pack}@>={c.version}\n" for c in required_components(package))


def components(package: Package) -> str:
    """The components of an example project: those of the core, of required libraries, and the library itself."""
    names = [
        "ARM::CMSIS:CORE",
        "Device:Startup&C Startup",
        *(f"{c.vendor}::{c.cclass}:{c.cgroup}" for c in required_components(package)),
        f"{vendor(package)}::Machine Learning:Mote:{package.name}",
    ]
    return "\n".join(f"    - component: {name}" for name in names)


def _project(package: Package) -> str:
    needed = "".join(f"\n        - {flag}" for flag in package.flags)
    flags = f"\n      C:{needed}" if needed else ""
    return f"""\
# {SPDX}
project:
  packs:
    - pack: {vendor(package)}::{package.name}@{package.metadata.version}
  groups:
    - group: Example
      files:
        - file: main.c
  components:
{components(package)}
  misc:
    - for-compiler: GCC{flags}
      Link:
        - --specs=rdimon.specs
"""


def _use(package: Package) -> str:
    must = f"\n\nCompile with `{' '.join(package.needed)}`: sums in kernels may wrap." if package.needed else ""
    return f"""\
## Use

Install the pack, or this folder while you work on it:

```sh
cpackget add {pack_name(package)}
cpackget add {vendor(package)}.{package.name}.pdsc
```

Then select the component `Machine Learning:Mote:{package.name}` in your IDE, or in a `cproject.yml`:
`- component: {vendor(package)}::Machine Learning:Mote:{package.name}`. The example is built by
`cbuild examples/{package.name}/{package.name}.csolution.yml --packs`.{must}"""
