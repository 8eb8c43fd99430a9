"""The programs of `c_harness` on an emulated Cortex-M4, with the instructions that marked calls take."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from c_harness import KERNELS, Program

from mote.codegen.c import printed

GCC, QEMU = "arm-none-eabi-gcc", "qemu-system-arm"
FLAGS = ["-mcpu=cortex-m4", "-mthumb", "-O2", "-std=gnu99", "-ffreestanding", "-Wall", "-Werror", "-Wno-unused"]
TICKS = 3.2
"""Of the board's timer in an instruction, with -icount shift=7."""

START = """\
#include <stddef.h>
#include <stdint.h>
#define TIMER ((volatile uint32_t *)0x40000000)
#define stdout 0
static uint32_t spoken;

static uint32_t semihost(uint32_t what, const void *how) {
    register uint32_t r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = how;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void fwrite(const void *p, uint32_t size, uint32_t n, int unused) {
    const uint32_t how[3] = {spoken, (uint32_t)p, n};
    semihost(5, how);
}

static uint32_t pool[1 << 18];
static uint32_t *free_words = pool;
extern const uint8_t given[];
static const uint8_t *next_given = given;

/* A block between bytes that must stay as they are. */
static uint8_t *guards[1 << 14];
static int32_t guarded;

static void *block(size_t n) {
    uint32_t *p = free_words;
    free_words = p + n / 4 + 1;
    guards[guarded++] = (uint8_t *)p + n;
    *guards[guarded - 1] = 0x5a;
    return p;
}

static void *read_block(size_t n) {
    uint8_t *p = block(n);
    for (size_t i = 0; i < n; i++) {
        p[i] = *next_given++;
    }
    return p;
}

void *memset(void *p, int c, size_t n) {
    for (uint8_t *to = p; n > 0; n--) {
        *to++ = (uint8_t)c;
    }
    return p;
}

void *memcpy(void *p, const void *q, size_t n) {
    const uint8_t *from = q;
    for (uint8_t *to = p; n > 0; n--) {
        *to++ = *from++;
    }
    return p;
}

__attribute__((noinline)) static uint32_t ticks(void) { return TIMER[1]; }
static void mark(uint32_t before, uint32_t after) {
    const uint32_t spent = before - after;
    fwrite(&spent, 1, 4, 0);
}

int main(void);
void start(void) {
    const uint32_t name[3] = {(uint32_t)"out", 5, 3};
    uint32_t code[2] = {0x20026, 0};
    TIMER[0] = 0, TIMER[2] = 0xffffffff, TIMER[1] = 0xffffffff, TIMER[0] = 1;
    spoken = semihost(1, name);
    main();
    for (int32_t i = 0; i < guarded; i++) {
        code[1] |= *guards[i] != 0x5a;
    }
    semihost(2, &spoken);
    semihost(0x20, code);
}
static void trap(void) {
    const uint32_t code[2] = {0x20026, 99};
    semihost(0x20, code);
}
__attribute__((section(".vectors"), used)) static const void *vectors[16] = {
    (void *)0x20400000, start, trap, trap, trap, trap, trap};
"""

MAIN = '__attribute__((optimize("O0"))) int main(void) {'
"""Kernels are compiled as always, but once each, however often they are called."""

LINK = """\
ENTRY(start)
MEMORY { ROM (rx) : ORIGIN = 0, LENGTH = 4M  RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > ROM
    .data : { *(.data*) } > RAM
    .bss (NOLOAD) : { *(.bss*) *(COMMON) } > RAM
}
"""


def needs_m4() -> None:
    if not shutil.which(GCC) or not shutil.which(QEMU):
        pytest.skip("no cross compiler or emulator for Cortex-M4")


@dataclass
class M4Program(Program):
    """`time` counts the instructions of calls; the counts come before the output."""

    timed: int = 0
    compiler: list[str] = field(default_factory=lambda: [GCC, *FLAGS])
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of code of each function."""

    def time(self, call: str) -> None:
        self.timed += 1
        self.say("{ const uint32_t before = ticks();", call, "mark(before, ticks()); }")

    def run(self) -> bytes:
        given = ",".join(map(str, b"".join(self.given))) or "0"
        text = "\n".join(
            [
                START,
                f"#define MOTE_MAX_TAPS {self.taps}",
                *(f'#include "{file}"' for file in self.includes),
                *self.instances,
                printed(self.constants.definitions),
                *self.globals,
                f"const uint8_t given[] = {{{given}}};",
                MAIN,
                *self.body,
                "    return 0;\n}\n",
            ]
        )
        with TemporaryDirectory() as folder:
            source, binary, script = (Path(folder) / name for name in ("main.c", "main.elf", "main.ld"))
            source.write_text(text)
            script.write_text(LINK)
            link = ["-nostdlib", f"-T{script}", "-Wl,--no-warn-rwx-segments", "-lgcc"]
            subprocess.run([*self.compiler, *KERNELS, str(source), "-o", str(binary), *link], check=True)
            self.sizes = symbol_sizes(binary)
            machine = ["-M", "mps2-an386", "-icount", "shift=7", "-display", "none", "-monitor", "none"]
            quiet = ["-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel", str(binary)]
            subprocess.run([QEMU, *machine, *quiet], check=True, cwd=folder, stdin=subprocess.DEVNULL, timeout=300)
            return (Path(folder) / "out").read_bytes()

    def measure(self) -> list[int]:
        """The instructions of the timed calls, less those of reading the timer."""
        got = self.run()
        ticks = [int.from_bytes(got[4 * i : 4 * i + 4], "little") for i in range(self.timed)]
        return [round(t / TICKS) - 3 for t in ticks]


def symbol_sizes(binary: Path) -> dict[str, int]:
    said = subprocess.run(["arm-none-eabi-nm", "-S", str(binary)], check=True, stdout=subprocess.PIPE).stdout.decode()
    found = re.findall(r"^\S+ (\S+) [tT] (mote_\S+)$", said, re.M)
    return {name: int(size, 16) for size, name in found}
