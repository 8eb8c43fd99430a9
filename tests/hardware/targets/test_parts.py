"""The bundled target files: cores without limits, and parts with their memories, clocks and accelerators."""

from __future__ import annotations

import pytest

from mote.hardware import targets

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


def test_names_are_the_cores_and_then_the_parts() -> None:
    names = targets.names()
    parts = names[len(CORES) :]
    assert names[: len(CORES)] == CORES and parts == sorted(parts)
    assert {"atmega328p", "corstone-300", "esp32c3", "rp2040", "rp2350-riscv", "stm32n657"} <= set(parts)
    assert all(targets.load(name).memories for name in parts)


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


def test_gcc_never_vectorises_for_helium() -> None:
    for target in map(targets.load, targets.names()):
        assert ("-fno-tree-vectorize" in target.gcc_flags) == ("mve" in target.features)
