"""Instructions, memory and code of the Winograd kernels, layer by layer.

PYTHONPATH=.:models python tests/compiler/kernels/winograd_bench.py
"""

from __future__ import annotations

from tests.compiler.kernels.c_harness import Program
from tests.compiler.kernels.test_winograd import Layer, called, layer_and_kernel

LAYERS = {
    "2x2": [(32, 3, 16), (32, 16, 16), (16, 32, 32), (8, 64, 64)],
    "4x4": [(32, 3, 16), (32, 16, 16), (16, 32, 32), (8, 64, 64)],
    "stride2": [(32, 16, 32), (16, 32, 64)],
}


def main() -> None:
    print("form     outputs  layer                  instructions   per MAC  scratch    flash  code")
    for form, shapes in LAYERS.items():
        for size, channels, outputs in shapes:
            for zero, kind in ((-128, "relu"), (-5, "linear")):
                c = Layer((size, size), channels, outputs, 1 + (form == "stride2"), weights="small", zeros=(3, zero))
                g, op, kernel = layer_and_kernel(c, form)
                assert kernel is not None
                program = Program("cortex-m4")
                called(program, c, form, by_rows=False, timed=True)
                (count,) = program.measure()
                code = sum(n for name, n in program.sizes.items() if "winograd" in name)
                layer = f"{size}x{size} {channels}->{outputs}"
                print(
                    f"{form:8} {kind:8} {layer:20} {count:14,} {count / op.macs(g):9.3f} {kernel.needs.scratch:8,} "
                    f"{kernel.constants:8,} {code:5}"
                )


if __name__ == "__main__":
    main()
