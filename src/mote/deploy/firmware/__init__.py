"""Firmware as files: libraries and ELF files by the compiler, and from them bin, hex and uf2."""
