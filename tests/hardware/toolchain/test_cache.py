"""Objects are compiled once: what is in the key, what is kept, and what is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.hardware import targets
from mote.hardware.toolchain import cache, compilers, find_compiler
from mote.hardware.toolchain.builder import Compilation, target_flags


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "FOLDER", tmp_path / "cache")
    return tmp_path


def fetch(folder: Path, key: str, content: str = "object") -> tuple[str, bool]:
    """What is written, and whether it had to be compiled."""
    output, compiled = folder / "out.o", []
    output.unlink(missing_ok=True)
    cache.fetch(key, output, lambda: compiled.append(output.write_text(content)))
    return output.read_text(), bool(compiled)


def test_the_second_time_is_a_copy(folder: Path) -> None:
    assert fetch(folder, "a") == ("object", True)
    assert fetch(folder, "a", "another") == ("object", False)
    assert fetch(folder, "b", "another") == ("another", True)


def test_the_key_is_all_that_the_compiler_reads(tmp_path: Path) -> None:
    source, header = tmp_path / "a.c", tmp_path / "a.h"
    source.write_text("int a;")
    header.write_text("#define A 1")
    keys = {cache.key(["gcc", "-O2"], [source, header]), cache.key(["gcc", "-O3"], [source, header])}
    header.write_text("#define A 2")
    keys.add(cache.key(["gcc", "-O2"], [source, header]))
    source.write_text("int b;")
    keys |= {cache.key(["gcc", "-O2"], [source, header]), cache.key(["gcc", "-O2"], [source])}
    assert len(keys) == 5
    assert cache.key(["gcc", "-O2"], [header, source]) in keys


def test_headers_of_every_folder_are_in_the_key(folder: Path) -> None:
    source, header, objects = folder / "a.c", folder / "elsewhere" / "a.h", []
    header.parent.mkdir()
    source.write_text('#include "a.h"\nint a = A;')
    command = [*find_compiler(targets.load("host")).command, f"-I{header.parent}"]
    for value in (1, 2):
        header.write_text(f"#define A {value}")
        objects.append(Path(Compilation("", folder / "project", folder).object(command, source, "a.o")).read_bytes())
    assert objects[0] != objects[1]


def test_only_headers_that_are_included_are_in_the_key(tmp_path: Path) -> None:
    """Directly or not, under whatever conditions; all of them where a macro names one."""
    texts = {
        "a.c": '#ifdef X\n#  include "b.h"\n#endif\n#include <string.h>\n',
        "b.h": "#include <deep/c.h>",
        "deep/c.h": "int c;",
        "d.h": "int d;",
    }
    (tmp_path / "deep").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    source = tmp_path / "a.c"
    assert cache.included([source], [tmp_path]) == {tmp_path / name for name in texts if name != "d.h"}
    source.write_text('#define NAME "d.h"\n#include NAME\n')
    assert cache.included([source], [tmp_path]) == {tmp_path / name for name in texts}


def test_headers_that_options_include_are_in_the_key(folder: Path) -> None:
    source, header, objects = folder / "a.c", folder / "first.h", []
    source.write_text("int a = A;")
    command = [*find_compiler(targets.load("host")).command, "-include", str(header)]
    for value in (1, 2):
        header.write_text(f"#define A {value}")
        objects.append(Path(Compilation("", folder / "project", folder).object(command, source, "a.o")).read_bytes())
    assert objects[0] != objects[1]


def test_a_failed_compilation_leaves_nothing(folder: Path) -> None:
    def fail() -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.fetch("a", folder / "out.o", fail)
    assert fetch(folder, "a") == ("object", True)


def test_the_oldest_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 4)
    monkeypatch.setattr(cache, "KEPT", 2)
    for i in range(5):
        fetch(folder, str(i))
    assert len(list(cache.FOLDER.iterdir())) == 2
    assert fetch(folder, "4")[1] is False


def test_a_folder_that_cannot_be_written_costs_only_time(folder: Path) -> None:
    cache.FOLDER.write_text("a file where the folder should be")
    assert fetch(folder, "a") == fetch(folder, "a") == ("object", True)


def test_objects_for_the_instructions_of_one_computer_are_not_taken_on_another(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = find_compiler(targets.load("host"))
    given = []
    for macros in ("#define __AVX2__ 1\n", "#define __AVX512BW__ 1\n", "#define __AVX2__ 1\n"):
        monkeypatch.setattr(compilers, "_predefined", lambda _, told=macros: told)
        given.append(target_flags(targets.load("native"), compiler))
    assert given[0] == given[2] != given[1]
    assert target_flags(targets.load("host"), compiler) == ()


def test_a_compiler_that_cannot_be_told_of_this_computer_gets_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = find_compiler(targets.load("host"))
    taken = {"-mcpu=native": "#define X 1\n"}
    monkeypatch.setattr(compilers, "_predefined", lambda command: taken.get(command[-1]))
    assert compilers.native_flags(compiler)[0] == "-mcpu=native"
    taken.clear()
    assert compilers.native_flags(compiler) == ()
