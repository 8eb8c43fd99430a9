"""`mote doctor`: which of the tools that Mote can use are here, and how to get the others."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from dataclasses import dataclass

from mote.cores import ARCHITECTURES
from mote.extras import TORCH_REMEDY, installing, version_of
from mote.toolchain import simavr
from mote.toolchain.compilers import ZIG_REMEDY, first_line
from mote.toolchain.firmware.flash import FLASH_TOOLS, drives
from mote.toolchain.rtl import find_verilator


@dataclass(frozen=True)
class Finding:
    """One tool: what it is for, where it is, or how to get it."""

    name: str
    purpose: str
    found: bool
    detail: str
    remedy: str


_PROGRAMS = (
    *(
        (program, f"{what} {core.title}", remedy)
        for core in ARCHITECTURES.values()
        for program, what, remedy in (
            (core.gcc, "compile for", core.gcc_install),
            (core.qemu, "emulate", f"apt install {core.qemu_packages}"),
        )
        if program
    ),
    ("cc", "compile for this computer", "apt install gcc"),
    ("clang", "a second compiler for this computer", "apt install clang"),
)


def _wheels() -> Sequence[tuple[str, str, str, str]]:
    """Packages: name, module, what for, how to install it."""
    return (
        (
            "ziglang",
            "ziglang",
            "compile for all targets, without root",
            ZIG_REMEDY,
        ),
        ("unicorn", "unicorn", "emulate all cores but Cortex-M55, without root", "pip install unicorn"),
        *(
            (rtl.package, rtl.module, f"cycles of {rtl.title}, from its RTL", installing("rtl"))
            for core in ARCHITECTURES.values()
            for rtl in core.rtl.values()
        ),
        ("capstone", "capstone", "disassemble, for the cycles of `mote profile`", "pip install capstone"),
        (
            "ai-edge-litert",
            "ai_edge_litert",
            "the reference that results are compared with",
            "pip install ai-edge-litert",
        ),
        ("tflite-micro", "tflite_micro", "TFLite Micro, for comparison", "pip install --pre tflite-micro"),
        ("onnx", "onnx", "read ONNX models", installing("onnx")),
        ("onnxruntime", "onnxruntime", "the reference of ONNX models", installing("onnx")),
        ("torch", "torch", "read PyTorch models, and their reference", TORCH_REMEDY),
        ("torchao", "torchao", "models that PyTorch has quantized", installing("torch")),
        ("h5py", "h5py", "read Keras models", installing("keras")),
        ("keras", "keras", "the reference of Keras models", "pip install keras, and torch, jax or tensorflow"),
        ("scikit-learn", "sklearn", "models of scikit-learn, which are objects", "pip install scikit-learn"),
        ("xgboost", "xgboost", "the reference of XGBoost models", "pip install xgboost"),
        ("lightgbm", "lightgbm", "the reference of LightGBM models", "pip install lightgbm"),
    )


def doctor() -> list[Finding]:
    """Every tool that Mote can use, found or not."""
    programs = [_program(*row) for row in _PROGRAMS]
    header = simavr.header()
    library = Finding("libsimavr", "emulate AVR", header is not None, str(header or ""), simavr.REMEDY)
    return [*programs, _verilator(), library, *(_wheel(*row) for row in _wheels()), *_flash_tools()]


def _program(name: str, purpose: str, remedy: str) -> Finding:
    path = shutil.which(name)
    detail = f"{path}: {first_line((path, '--version'))}" if path else ""
    return Finding(name, purpose, path is not None, detail, remedy)


def _verilator() -> Finding:
    tool = find_verilator()
    detail = f"{tool.program}: {tool.version}" if tool else ""
    return Finding(
        "verilator", "simulate cores in RTL, for `mote profile`", tool is not None, detail, installing("rtl")
    )


def _flash_tools() -> list[Finding]:
    """The tools of `mote flash`."""
    findings = []
    for tool in FLASH_TOOLS.values():
        path = tool.program
        mounted = ", ".join(map(str, drives())) if not tool.programs else ""
        detail = f"{path}: {first_line((path, tool.version))}" if path else mounted
        findings.append(Finding(tool.name, tool.purpose, bool(detail), detail, tool.remedy))
    return findings


def _wheel(name: str, module: str, purpose: str, remedy: str) -> Finding:
    spec = importlib.util.find_spec(module)
    if spec is None:
        return Finding(name, purpose, False, "", remedy)
    number = version_of(name) or "version unknown"
    where = (spec.submodule_search_locations or [spec.origin or ""])[0]
    return Finding(name, purpose, True, f"{where}: {number}", remedy)
