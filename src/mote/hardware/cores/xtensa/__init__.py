"""Xtensa: the LX7 of the ESP32-S3 and the LX6 of the ESP32. Their compilers come with ESP-IDF; no emulator is
supported."""

from mote.hardware.cores.record import Architecture

XTENSA = Architecture(
    name="xtensa",
    title="Xtensa LX6 and LX7",
    zig=False,
    gcc="xtensa-esp32s3-elf-gcc",
    gcc_remedy="install ESP-IDF, and source its export.sh",
    library="libc.a",
    options=("-mlongcalls", "-mno-longcalls"),
    features=("float32",),
)
