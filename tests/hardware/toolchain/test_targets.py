"""Target files: the bundled ones, a user's own, and every way in which one can be wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import targets
from mote.hardware.targets import Reads, allowed

CORES = [
    "avr5",
    "avr6",
    "cortex-m0",
    "cortex-m0plus",
    "cortex-m23",
    "cortex-m3",
    "cortex-m33",
    "cortex-m4",
    "cortex-m4-nofp",
    "cortex-m55",
    "cortex-m7",
    "cortex-m85",
    "cv32e40p",
    "hazard3",
    "host",
    "ibex",
    "native",
    "picorv32",
    "rv32emc",
    "rv32imac",
    "rv32imac_zba_zbb",
    "rv32imafc",
    "rv32imc",
    "rv32imc_zve32x",
    "xtensa-lx106",
    "xtensa-lx6",
    "xtensa-lx7",
]


MEMORY = 'extends = "cortex-m4"\n[[memory]]\nname = "r"\nkind = "ram"\nsize = 1\n'
READS = 'extends = "cortex-m4"\n[reads]\n'


def test_names_are_the_cores_and_then_the_parts() -> None:
    names = targets.names()
    parts = names[len(CORES) :]
    assert names[: len(CORES)] == CORES and parts == sorted(parts)
    assert {"atmega328p", "corstone-300", "esp32c3", "rp2040", "rp2350-riscv", "stm32n657"} <= set(parts)
    assert all(targets.load(name).memories for name in parts)


@pytest.mark.parametrize("name", ["cortex-m99", "rp2041", "stm32", "no-such-board", "x" * 1000])
def test_an_unknown_target_names_a_few(name: str) -> None:
    """Three at most, so that the message stays short with any number of parts."""
    with pytest.raises(MoteError, match="unknown target") as error:
        targets.load(name)
    words = set(re.findall(r"[\w-]+", error.value.remedy))
    assert len(words & set(targets.names())) <= 3 and "`mote targets` lists all" in error.value.remedy
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("name", CORES)
def test_cores_have_no_limit(name: str) -> None:
    core = targets.load(name)
    assert core.name == name and core.description
    assert core.memories == () and core.flash is None and core.ram is None


@pytest.mark.parametrize(
    ("name", "cpu", "flash", "ram", "mhz"),
    [
        ("atmega328p", "avr5", 32, 2, 16),
        ("atmega2560", "avr6", 256, 8, 16),
        ("stm32l4r5", "cortex-m4", 2048, 640, 120),
        ("stm32f746", "cortex-m7", 1024, 320, 216),
        ("nrf52840", "cortex-m4", 1024, 256, 64),
        ("rp2040", "cortex-m0plus", 2048, 264, 133),
        ("esp32c3", "rv32imc", 4096, 400, 160),
        ("esp8266", "xtensa-lx106", 1024, 80, 80),
        ("esp32p4", "rv32imafc", 16384, 640 + 32768, 400),
        ("esp32", "xtensa-lx6", 4096, 320, 240),
        ("esp32s3", "xtensa-lx7", 8192, 416 + 8192, 240),
        ("stm32g0b1", "cortex-m0plus", 512, 144, 64),
        ("stm32u575", "cortex-m33", 2048, 784, 160),
        ("stm32h750", "cortex-m7", 128 + 8192, 928, 480),
        ("stm32h743", "cortex-m7", 2048, 928, 480),
        ("stm32f407", "cortex-m4", 1024, 192, 168),
        ("stm32f446", "cortex-m4", 512, 128, 180),
        ("nrf5340", "cortex-m33", 1024, 512, 128),
        ("ra8m1", "cortex-m85", 2048, 64 + 896, 480),
        ("rp2350", "cortex-m33", 4096, 520, 150),
        ("samd51", "cortex-m4", 1024, 256, 120),
        ("imxrt1062", "cortex-m7", 8192, 128 + 768, 600),
        ("stm32n657", "cortex-m55", 65536, 128 + 2048, 800),
        ("corstone-300", "cortex-m55", 32768, 512 + 2048, 32),
        ("alif-e3-he", "cortex-m55", 5632, 256 + 4096 + 2560, 160),
        ("alif-e7-hp", "cortex-m55", 5632, 1024 + 4096 + 2560, 400),
        ("himax-we2", "cortex-m55", 16384, 256 + 2048 + 384, 400),
        ("psoc-edge-e84", "cortex-m55", 16384, 256 + 5120, 400),
    ],
)
def test_parts(name: str, cpu: str, flash: int, ram: int, mhz: int) -> None:
    part = targets.load(name)
    assert (part.name, part.cpu, part.clock_hz) == (name, cpu, mhz * 1_000_000)
    assert (part.flash, part.ram) == (flash * 1024, ram * 1024)
    core = targets.load(cpu)
    assert (part.features, part.gcc_flags, part.zig_flags) == (core.features, core.gcc_flags, core.zig_flags)


def test_ethos_u() -> None:
    """Parts with an Ethos-U say which one it is, where it is and what it reaches, with their sources."""
    cores = {name: npu.core for name in targets.names() if (npu := targets.load(name).npu)}
    assert cores == {
        "alif-e3-he": "ethos-u55-128",
        "alif-e3-hp": "ethos-u55-256",
        "alif-e7-he": "ethos-u55-128",
        "alif-e7-hp": "ethos-u55-256",
        "corstone-300": "ethos-u55-128",
        "corstone-300-u55-256": "ethos-u55-256",
        "corstone-300-u65-256": "ethos-u65-256",
        "corstone-310": "ethos-u55-256",
        "corstone-320": "ethos-u85-256",
        "himax-we2": "ethos-u55-64",
        "psoc-edge-e84": "ethos-u55-128",
    }
    for name in cores:
        npu = targets.load(name).npu
        assert npu and npu.memories and npu.source and "dtcm" not in npu.memories, name
    first = targets.load("corstone-300").npu
    assert first and (first.family, first.macs, first.base, first.irq) == ("ethos-u55", 128, 0x48102000, 56)


NPU = 'extends = "stm32f746"\n[npu]\n'
TOLD = f'{NPU}core = "ethos-u55-128"\nsystem_config = "A"\nmemory_mode = "B"\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('extends = "cortex-m4"\nnpu = 1', "'npu' must be a table"),
        (NPU, "in [npu]: 'core' is missing"),
        (f'{NPU}cores = "x"', "in [npu]: unknown key 'cores'\n  help: did you mean: core"),
        (TOLD.replace("u55-128", "u55-100"), "unknown core 'ethos-u55-100'\n  help: did you mean: ethos-u55-"),
        (TOLD.replace('"A"', '"A]"'), "'system_config' must be the name of a section of Vela's, not 'A]'"),
        (f'{TOLD}memories = ["sram9"]', "'memories' names 'sram9', which is no RAM for data"),
        (f'{TOLD}memories = "sram"', "'memories' must be a list of names"),
        (f"{TOLD}irq = -1", "'irq' must be a whole number from 0 to 495, not -1"),
        (f'{TOLD}fast = "x"', "'fast': not a size"),
        (f"{TOLD}config = 3", "'config' must be a string"),
    ],
)
def test_wrong_npus(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MoteError) as error:
        targets.load(str(tmp_path / "mine.toml"))
    assert why in str(error.value)


def test_a_configuration_of_vela_lies_beside_the_target(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'{TOLD}config = "vela.ini"', encoding="utf-8")
    npu = targets.load(str(tmp_path / "mine.toml")).npu
    assert npu and npu.config == str((tmp_path / "vela.ini").resolve())
    assert tmp_path / "vela.ini" in targets.sources(str(tmp_path / "mine.toml"))


def test_parts_say_what_reading_flash_costs() -> None:
    """Every flash of a bundled part has a source for its numbers; what is executed from RAM is named."""
    for name in targets.names()[len(CORES) :]:
        part = targets.load(name)
        assert part.code_reads.source and (part.constant_reads.source or part.constants_in == "dram"), name
        if part.core.flash_apart:
            assert not part.code_rams and not part.code_reads.waits, name
            continue
        assert part.code_reads.waits or "not known" in part.code_reads.source, name
        assert part.code_rams and part.code_rams[0].reads.miss < 2, name
    assert [m.name for m in targets.load("stm32f746").code_rams] == ["itcm", "sram"]
    assert [m.name for m in targets.load("stm32f407").code_rams] == ["sram"]
    assert targets.load("stm32l4r5").constant_reads.stream(8) == 5
    assert targets.load("stm32g0b1").constant_reads.stream(8) == 2 * 2


def test_several_memories_are_a_choice() -> None:
    """Fastest first; the file's order where they are as fast; none where there is only one."""
    part = targets.load("stm32h750")
    assert [m.name for m in part.choice("ram")] == ["dtcm", "axi", "sram"]
    assert [m.section for m in part.choice("flash")] == [".rodata.mote_flash", ".rodata.mote_qspi"]
    assert [m.name for m in targets.load("stm32u575").choice("ram")] == ["sram", "sram4"]
    assert targets.load("stm32f746").choice("flash") == targets.load("cortex-m4").choice("ram") == ()


def test_slow_ram_is_the_last_choice_and_waits() -> None:
    """External RAM has a section of ESP-IDF's and a source for its numbers; other RAM answers at once."""
    for name in ("esp32p4", "esp32s3"):
        sram, psram = targets.load(name).choice("ram")
        assert (sram.name, psram.name, psram.section) == ("sram", "psram", ".ext_ram.bss")
        assert psram.data_reads.waits and "assumption" in psram.data_reads.source and not sram.data_reads.waits
    assert not any(m.data_reads.waits for m in targets.load("stm32h743").choice("ram"))
    assert not any(m.data_reads.waits for m in targets.load("stm32l4r5").memories if m.kind == "ram")


def test_limited_memories() -> None:
    part = targets.limited(targets.load("esp32p4"), {"sram": 0, "psram": 1 << 20})
    assert [m.size for m in part.choice("ram")] == [0, 1 << 20] and part.ram == 1 << 20
    for name, sizes, says in (
        ("esp32p4", {"srm": 1}, "no RAM called 'srm'\n.*did you mean: sram"),
        ("esp32p4", {"flash": 1}, "no RAM called 'flash'"),
        ("cortex-m4", {"sram": 1}, "names no RAM"),
        ("esp32s3", {"sram": 1 << 20}, "sram has 425,984 bytes, fewer than 1,048,576"),
        ("esp32s3", {"sram": 0, "psram": 0}, "no RAM is left"),
    ):
        with pytest.raises(MoteError, match=says):
            targets.limited(targets.load(name), sizes)


def test_what_reading_costs(tmp_path: Path) -> None:
    """A core's `[reads]` holds for code and constants; a part's memories have their own, and RAM is none of them."""
    path = tmp_path / "board.toml"
    assert targets.load("cortex-m4").code_reads == Reads() and not Reads().waits
    path.write_text(f"{READS}wait_states = 5\nread_bytes = 8\nprefetch = true\ncode_lines = 32\ndata_lines = 8\n")
    core = targets.load(str(path))
    assert core.code_reads == core.constant_reads == Reads(5, 8, True, 8, 32, 8)
    assert core.constant_reads.miss == 5 and core.constant_reads.stream(17) == 3 * 5
    path.write_text(
        MEMORY.replace("[[", 'code_in = "r"\n[[', 1)
        + "wait_states = 1\nread_bytes = 4\n"
        + "[[memory]]\nname = 'f'\nkind = 'flash'\nsize = 9\nwait_states = 3\nread_bytes = 8\nline_bytes = 32\n"
        + "[[memory]]\nname = 'itcm'\nkind = 'ram'\nsize = 5\nholds = ['code']\n"
    )
    part = targets.load(str(path))
    assert part.code_memory is not None and part.code_memory.name == "r" and part.code_reads.miss == 1
    assert part.constant_reads.miss == 4 * 4 - 1 and part.constant_reads.stream(16) == 4 * 3  # every word waits
    assert [m.name for m in part.code_rams] == ["itcm", "r"] and part.ram == 1 and part.choice("ram") == ()
    path.write_text(path.read_text().replace("code_in", "constants_in"))
    assert targets.load(str(path)).constant_reads == Reads() and targets.load(str(path)).code_reads.miss == 15


def test_gcc_never_vectorises_for_helium() -> None:
    for target in map(targets.load, targets.names()):
        assert ("-fno-tree-vectorize" in target.gcc_flags) == ("mve" in target.features)


def test_a_users_own_part(tmp_path: Path) -> None:
    path = tmp_path / "board.toml"
    path.write_text(
        'extends = "cortex-m4"\nclock_hz = 48_000_000\n'
        '[[memory]]\nname = "f"\nkind = "flash"\nsize = 65536\norigin = 0\n'
        '[[memory]]\nname = "r"\nkind = "ram"\nsize = "20K"\n'
    )
    board = targets.load(str(path))
    assert (board.name, board.cpu, board.flash, board.ram) == ("board", "cortex-m4", 65536, 20480)
    assert board.memories[0].origin == 0 and board.memories[1].origin is None
    (tmp_path / "variant.toml").write_text('extends = "board.toml"\nname = "my-variant"\n')
    variant = targets.load(str(tmp_path / "variant.toml"))
    assert (variant.name, variant.ram) == ("my-variant", 20480)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("arch = ", "not valid TOML"),
        ('extends = "cortex-m4"\nram = 3', "unknown key 'ram'"),
        ('extends = "cortex-m4"\ncpu = 3', "'cpu' must be a string"),
        ('extends = "cortex-m4"\ngcc_flags = "-O2"', "'gcc_flags' must be a list of strings"),
        ('extends = "cortex-m4"\nclock_hz = "1 MHz"', "'clock_hz' must be a whole number from 1 to"),
        ('extends = "cortex-m4"\nclock_hz = 1_000_000_000_000', "'clock_hz' must be a whole number from 1 to"),
        (f'extends = "cortex-m4"\nclock_hz = {"9" * 5000}', "line 2 has an integer of 5,000 digits"),
        (f'extends = "cortex-m4"\nfeatures = {"[" * 9999}', "nested too deeply"),
        (f"# {'x' * 70_000}", "has more than 65,536 bytes"),
        ('extends = "cortex-m4"\nvolts = nan', "'volts' must be a positive number of at most 1,000, not nan"),
        ('extends = "cortex-m4"\nua_per_mhz = inf', "'ua_per_mhz' must be a positive number"),
        ('extends = "cortex-m4"\nflash_line = 8', "unknown key 'flash_line'"),
        ('extends = "cortex-m4"\nreads = 3', "'reads' must be a table: [reads]"),
        (f"{READS}waitstates = 5", "did you mean: wait_states?"),
        (f"{READS}wait_states = -1", "in [reads]: 'wait_states' must be a whole number from 0 to 10,000"),
        (f"{READS}source = 3", "in [reads]: 'source' must be a string"),
        (f"{READS}prefetch = 1", "'prefetch' must be true or false"),
        (f"{READS}read_bytes = 24", "'read_bytes' must be a power of two"),
        (f"{READS}read_bytes = 32\nline_bytes = 16", "a line of 16 bytes is less than one read of 32"),
        (f"{READS}code_lines = 8\ndata_lines = 8\nshared_lines = true", "'data_lines' beside 'shared_lines'"),
        (f"{READS}code_lines = 9\nways = 2", "9 'code_lines' are no multiple of 2 'ways'"),
        (f"{MEMORY}data_lines = 'x'", "memory 'r': 'data_lines' must be a whole number"),
        (f"{MEMORY}holds = ['weights']", "'holds' must be a list of code, data or both"),
        (f"{MEMORY}holds = []", "'holds' must be a list of code, data or both"),
        (f'code_in = "s"\n{MEMORY}', "'code_in' names 's', which is none of its memories"),
        (f'code_in = "r"\n{MEMORY}holds = ["data"]', "'code_in' names 'r', which cannot hold code"),
        ('extends = "cortex-m4"\npeak_macs = 0', "'peak_macs' must be a whole number from 1"),
        ('extends = "cortex-m4"\nname = "a\\u001b[31m"', "'name' must be a string that can be printed"),
        ('extends = "cortex-m4"\ndescripton = "x"', "did you mean: description?"),
        ('extends = "cortex-m4"\nfeatures = ["fpuu"]', "did you mean: fpu?"),
        (f"{MEMORY}origin = -1", "'origin' must be an address"),
        (f"{MEMORY}origin = 0x1_0000_0000_0000_0000", "'memory[0].origin' is an integer of more than 64 bits"),
        (MEMORY.replace("size = 1", "size = 0"), "'size' must be from 1 to"),
        (MEMORY.replace("size = 1", 'size = "9999999999G"'), "'size' must be from 1 to"),
        (MEMORY.replace('"r"', '"kept"'), "a memory cannot be called 'kept'"),
        (MEMORY.replace('"r"', '"a\\nb"'), "'name' must be a string that can be printed"),
        ('extends = "cortex-m4"\nfeatures = ["sse"]', "unknown feature 'sse'"),
        ('arch = "avr32"\ncpu = "x"', "unknown arch 'avr32'"),
        ('arch = "arm"', "'cpu' is missing"),
        ('arch = "arm"\ncpu = "x"', "'costs' is missing"),
        ('extends = "cortex-m4"\nmemory = 3', "'memory' must be a list of tables"),
        ('extends = "cortex-m4"\n[[memory]]\nname = "r"\nkind = "ram"', "'size' is missing"),
        (
            'extends = "cortex-m4"\n[[memory]]\nname = "r"\nkind = "rom"\nsize = 1',
            "'kind' must be flash or ram",
        ),
        ('extends = "cortex-m4"\n[[memory]]\nname = "r"\nkind = "ram"\nsize = "big"', "not a size: 'big'"),
        (
            'extends = "cortex-m4"\n[[memory]]\nname = "r"\nkind = "ram"\nsize = 1\nspeed = 2',
            "unknown key 'speed'",
        ),
        (f"{MEMORY}wait = -1", "'wait' must be a number of cycles"),
        (f"{MEMORY}section = 'a b'", "'section' must be the name of a linker section"),
        (f"{MEMORY}[[memory]]\nname = 'R'\nkind = 'flash'\nsize = 1", "two memories are called 'r'"),
        ('extends = "cortex-m99"', "unknown target 'cortex-m99'"),
        ('extends = "bad.toml"', "in a circle"),
        (f'extends = "{"../" * 9999}x.toml"', "no such target file"),
        (f'extends = "{"x" * 60_000}"', "unknown target 'xxx"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(MoteError) as error:
        targets.load(str(path))
    assert says in str(error.value)
    assert "bad.toml" in str(error.value) or "cortex-m99" in says


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(MoteError) as error:
        targets.load("cortex-m5")
    assert error.value.remedy.startswith("did you mean: cortex-m") and "cortex-m55" in error.value.remedy
    with pytest.raises(MoteError, match="no such target file"):
        targets.load("missing.toml")


@pytest.mark.parametrize(
    "flag",
    [
        *(
            "-wrapper",
            "-B/tmp",
            "-specs=x",
            "--specs=x",
            "-fplugin=x.so",
            "@file",
            "-Xassembler",
            "-Wl,--plugin,x",
            "x.c",
        ),
        *(
            "-Wa,-al=x",
            "-Wp,-MD,x",
            "-include",
            "-imacros",
            "-I/tmp",
            "-L/tmp",
            "-lx",
            "-DX=1",
            "-Ux",
            "-o",
            "-MD",
            "-E",
        ),
        *(
            "-save-temps",
            "-dumpdir",
            "-fdump-tree-all",
            "-fprofile-use=x",
            "-mllvm",
            "-Xclang",
            "-load",
            "-T",
            "-x",
            "",
        ),
        *(
            "-mcpu",
            "-mcpu=",
            "-mcpu=a b",
            "-mcpu=/etc/x",
            "-mcpu=-x",
            "-mthumb=x",
            "-target",
            "-ffast-math",
            "-mcpu=a,b",
        ),
    ],
)
def test_options_that_run_programs_are_for_trusted_files(tmp_path: Path, flag: str) -> None:
    path = tmp_path / "board.toml"
    for key in ("gcc_flags", "zig_flags"):
        path.write_text(f'extends = "cortex-m4"\n{key} = ["-mcpu=cortex-m4", "{flag}"]\n')
        with pytest.raises(MoteError, match=f"'{key}' has ") as error:
            targets.load(str(path))
        assert "--trust-target" in error.value.remedy
        assert flag in getattr(targets.load(str(path), trusted=True), key)
    (tmp_path / "child.toml").write_text('extends = "board.toml"\n')
    with pytest.raises(MoteError, match="'zig_flags' has "):
        targets.load(str(tmp_path / "child.toml"))


def test_allowed_options_are_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "compile" / "targets.md").read_text()
    for flag in (*allowed.VALUED, *allowed.PLAIN, *allowed.FOLLOWED):
        assert f"`{flag}" in page, flag


@pytest.mark.parametrize(("text", "size"), [("24K", 24576), ("1M", 1 << 20), ("512", 512), (7, 7), ("640 KB", 655360)])
def test_sizes(text: str | int, size: int) -> None:
    assert targets.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "K", "1.5M", "-1", -1, True, "12Q", "9" * 5000, "\u0663K"])
def test_not_sizes(text: str | int) -> None:
    with pytest.raises(MoteError, match="not a size"):
        targets.parse_size(text)


def test_a_chain_of_targets_has_an_end(tmp_path: Path) -> None:
    for n in range(1200):
        (tmp_path / f"t{n}.toml").write_text(f'extends = "t{n + 1}.toml"\n')
    (tmp_path / "t1200.toml").write_text('extends = "cortex-m4"\n')
    with pytest.raises(MoteError, match="extends more than 16 others in a row"):
        targets.load(str(tmp_path / "t0.toml"))
    assert targets.load(str(tmp_path / "t1190.toml")).cpu == "cortex-m4"
    (tmp_path / "around.toml").write_text(f'extends = "../{tmp_path.name}/around.toml"\n')
    assert len(targets.sources(str(tmp_path / "around.toml"))) < 100
