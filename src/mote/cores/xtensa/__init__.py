"""Xtensa: the LX7 of an ESP32-S3, whose compiler comes with ESP-IDF. No emulator of it is known to Mote."""

from mote.cores.record import Architecture

XTENSA = Architecture(
    name="xtensa",
    title="Xtensa LX7",
    gcc="xtensa-esp32s3-elf-gcc",
    gcc_remedy="install ESP-IDF, and source its export.sh",
    library="libc.a",
    options=("-mlongcalls", "-mno-longcalls"),
    features=("float32",),
)
