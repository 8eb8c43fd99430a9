"""How far Mote's float32 functions are from the true values, for every float of the ranges in which that is a question.

    PYTHONPATH=src:models python benchmarks/math_errors.py [FUNCTION...]

Elsewhere results are what everybody sees (an infinity, zero, the argument itself), and every 1,009th float is tried.
Functions of two arguments are tried with 2^32 / 61 pairs. The tests try fewer of all. All of it with products and sums
fused as well, where the computer's processor can do that, and with what cores without a floating-point unit compute in
integers. Takes some minutes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mote.compiler.kernels import library

SOURCE = Path(__file__).parents[1] / "tests" / "numerics" / "math_errors.c"
SIGN = 0x80000000
ALL = 0xFFFFFFFF
ROUNDED = "-ffp-contract=off"
BUILDS = {
    "rounded": (ROUNDED,),
    "fused": ("-ffp-contract=fast", "-mfma"),
    "integers": (ROUNDED, "-DMOTE_SOFT_FLOAT=1"),
    "short products": (ROUNDED, "-DMOTE_SOFT_FLOAT=1", "-DMOTE_SHORT_PRODUCTS=1"),
}
"""Compiler flags: with products and sums rounded or fused, and of cores without a floating-point unit, whose products
have 64 bits or 32."""
BOUNDS = {
    "exp": 1.0,
    "expm1": 2.0,
    "log": 1.0,
    "tanh": 3.0,
    "logistic": 3.0,
    "erfc": 6.0,
    "sin": 3.0,
    "cos": 3.0,
    "sqrt": 0.5,
    "floor": 0.0,
    "ceil": 0.0,
    "rint": 0.0,
    "double_exp": 0.5001,
    "double_floor": 0.5,
    "pow": 1.0,
    "atan2": 2.0,
    "fmod": 0.0,
}
"""What is promised, in ulp. Functions in double precision are rounded to float32 to be compared."""
RANGES = {
    "exp": [(0x32000000, 0x42D20000), (0x32000000 + SIGN, 0x42D20000 + SIGN)],
    "expm1": [(0x32000000, 0x42D20000), (0x32000000 + SIGN, 0x41A00000 + SIGN)],
    "log": [(1, 0x7F800000)],
    "tanh": [(0x39000000, 0x41200000)],
    "logistic": [(0x32000000, 0x42D20000), (0x32000000 + SIGN, 0x42D20000 + SIGN)],
    "erfc": [(0x32000000, 0x41280000), (0x32000000 + SIGN, 0x40A00000 + SIGN)],
    "sin": [(0x39000000, 0x7F800000)],
    "cos": [(0x39000000, 0x7F800000)],
    "sqrt": [(1, 0x01800000), (0x3F000000, 0x40800000)],
    "floor": [(0x3E800000 + SIGN, 0x4B800000 + SIGN), (0x3E800000, 0x4B800000)],
    "ceil": [(0x3E800000 + SIGN, 0x4B800000 + SIGN), (0x3E800000, 0x4B800000)],
    "rint": [(0x3E800000 + SIGN, 0x4B800000 + SIGN), (0x3E800000, 0x4B800000)],
}
"""The bits of the first and the last float. Roots go by the significand and whether the exponent is even; odd functions
are computed from the size of their argument."""
SAMPLE, PAIRS = 1009, 61


def build(how: str, folder: Path) -> Path:
    """The program that compares."""
    program = folder / "math_errors"
    paths = [f"-I{path}" for path in library.FOLDERS]
    flags = ["-std=c99", "-D_DEFAULT_SOURCE", "-O2", *BUILDS[how]]
    subprocess.run(["gcc", *flags, *paths, str(SOURCE), "-o", str(program), "-lm"], check=True)
    return program


def errors(program: Path, stride: int, first: int = 0, last: int = ALL, *names: str) -> dict[str, float]:
    """The largest error of each function."""
    command = [str(program), *map(str, (stride, first, last)), *names]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines}


def fuses() -> bool:
    """Whether the computer's processor can fuse products and sums."""
    known = Path("/proc/cpuinfo")
    return known.is_file() and " fma " in known.read_text(encoding="utf-8")


def main() -> None:
    chosen = sys.argv[1:] or list(BOUNDS)
    with TemporaryDirectory() as folder:
        for how in BUILDS:
            if how == "fused" and not fuses():
                continue
            program = build(how, Path(folder))
            for name in chosen:
                found = [errors(program, SAMPLE if name in RANGES else PAIRS, 0, ALL, name)[name]]
                found += [errors(program, 1, *bits, name)[name] for bits in RANGES.get(name, ())]
                print(f"{name:12} {how:14} {max(found):.4f} ulp, promised {BOUNDS[name]}", flush=True)
                assert max(found) <= BOUNDS[name]


if __name__ == "__main__":
    main()
