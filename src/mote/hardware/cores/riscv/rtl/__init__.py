"""Cores in RTL from Python packages: the files that Verilator compiles for each, and Mote's simulated board around
them."""

from pathlib import Path

from mote.hardware.cores.record import Rtl

_HERE = Path(__file__).parent
_PRIM = "vendor/lowrisc_ip/ip/prim/rtl"

RTL = {
    "ibex": Rtl(
        title="Ibex, configuration small",
        package="pythondata-cpu-ibex",
        module="pythondata_cpu_ibex",
        root="system_verilog",
        top=_HERE / "ibex.sv",
        sources=(
            *(f"{_PRIM}/prim_{name}_pkg.sv" for name in ("util", "cipher", "mubi", "count", "ram_1p", "secded")),
            "rtl/ibex_pkg.sv",
        ),
        folders=("rtl", _PRIM, "vendor/lowrisc_ip/dv/sv/dv_utils"),
        defines=("RVFI",),
    ),
    "cv32e40p": Rtl(
        title="CV32E40P, without its extensions",
        package="pythondata-cpu-cv32e40p",
        module="pythondata_cpu_cv32e40p",
        root="system_verilog",
        top=_HERE / "cv32e40p.sv",
        sources=(
            *(f"rtl/include/cv32e40p_{name}.sv" for name in ("apu_core_pkg", "fpu_pkg", "pkg")),
            "rtl/cv32e40p_register_file_ff.sv",
        ),
        folders=("rtl/include", "rtl"),
    ),
    "picorv32": Rtl(
        title="PicoRV32, with its fast multiplier and barrel shifter",
        package="pythondata-cpu-picorv32",
        module="pythondata_cpu_picorv32",
        root="verilog",
        top=_HERE / "picorv32.sv",
        sources=("picorv32.v",),
        defines=("RISCV_FORMAL",),
    ),
}
"""RTL cores by `rtl` of targets."""
