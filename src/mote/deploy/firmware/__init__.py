"""Builds firmware files: libraries and ELF files by a compiler, and bin, hex and uf2 from those."""
