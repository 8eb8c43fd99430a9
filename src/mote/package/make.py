"""`make`: a library for the core that flags choose, and the example and the self-test for the host."""

from __future__ import annotations

from mote.emit.c.programs.example import EXAMPLE, SELFTEST
from mote.emit.licence import SPDX
from mote.package.description import Files, Package

WARNINGS = "-Wall -Wextra -Wconversion -pedantic"


def files(package: Package) -> Files:
    """The library in one folder with a Makefile."""
    return {**in_one_folder(package), "Makefile": _makefile(package)}


def in_one_folder(package: Package) -> Files:
    """The library, and the example and the self-test in folders of their own."""
    folder = EXAMPLE.rpartition("/")[0]
    beside = {f"{folder}/{file}": text for file, text in package.example_files.items()}
    selftest = {SELFTEST: package.selftest} if package.selftest else {}
    return {**package.files, EXAMPLE: package.example.program(), **beside, **selftest}


def _makefile(package: Package) -> str:
    name, level = package.name, package.optimization.level
    listed = " \\\n    ".join((*package.sources, *map(_escaped, package.external)))
    headers = " ".join(package.headers)
    include = " ".join(["-I.", *(f"-I{_escaped(path)}" for path in package.includes)])
    cross = " ".join((level, *package.needed))
    told = " ".join(package.only_gcc)
    only_gcc = f"$(if $(findstring Free Software,$(shell $(CC) --version)),{told}) " if told else ""
    library, needed = ("-lm", "the library m") if package.math else ("", "no library")
    example = " ".join((EXAMPLE, *package.example_sources))
    programs = ["example/example", *(["selftest/selftest"] if package.selftest else [])]
    must = f"\n# {' '.join(package.needed)} is needed: sums in kernels may wrap." if package.needed else ""
    selftest = f"""
# MOTE_SELFTEST lets the self-test see the output of every step.
selftest/selftest: {SELFTEST} $(SOURCES) {headers}
\t$(CC) $(CFLAGS) {include} -DMOTE_SELFTEST -o $@ {SELFTEST} $(SOURCES) $(LDLIBS)

test: selftest/selftest
\t./selftest/selftest
"""
    return f"""\
# {SPDX}
# Builds lib{name}.a for the core that your flags choose, and the example for this computer:
#     make CC=arm-none-eabi-gcc AR=arm-none-eabi-ar CFLAGS="-mcpu=cortex-m4 {cross}" lib{name}.a
# In a build of your own compile SOURCES: no other source file and {needed} is needed.
# {package.measured}{must}
CC ?= cc
AR ?= ar
CFLAGS ?= -std=c99 {cross} {only_gcc}{WARNINGS}
LDLIBS ?= {library}

SOURCES = {listed}

all: {" ".join(programs)}

lib{name}.a: $(SOURCES:.c=.o)
\t$(AR) rcs $@ $^

%.o: %.c {headers}
\t$(CC) $(CFLAGS) {include} -c -o $@ $<

example/example: {example} $(SOURCES) {headers}
\t$(CC) $(CFLAGS) {include} -o $@ {example} $(SOURCES) $(LDLIBS)
{selftest if package.selftest else ""}
clean:
\trm -f {" ".join(programs)} lib{name}.a $(SOURCES:.c=.o)

.PHONY: all test clean
"""


def _escaped(path: str) -> str:
    """A path as make and its shell take it."""
    return path.replace("$", "$$").replace(" ", "\\ ")
