"""Captures in the formats of meters, and files that are none."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError
from mote.bench.measure.energy.capture import IDLE, Capture
from mote.bench.measure.energy.meters import METERS, read_capture


def read(folder: Path, text: str | bytes, meter: str | None = None, **how: float) -> Capture:
    file = folder / "capture.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_capture(file, meter, **how)


def test_a_time_a_current_and_a_mark_are_enough(tmp_path: Path) -> None:
    capture = read(tmp_path, "time_s,current_a,mark\n0,0.010,0\n0.001,0.020,1\n0.002,0.030,1\n", volts=3.0)
    assert capture.meter == "csv" and capture.times.tolist() == [0, 0.001, 0.002]
    assert capture.watts.tolist() == pytest.approx([0.03, 0.06, 0.09])
    assert capture.level(None).tolist() == [0, 1, 1] and capture.volts == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "t;i (mA);v (mV);D0\n0;10;3000;0\n1e-3;20;3000;1\n",
        "Time [ms]\tCurrent [uA]\tVoltage [V]\tGPIO\n0\t10000\t3\t0\n1\t20000\t3\t1\n",
        '"Time (us)","Power (mW)","trigger"\n0,30,0\n1000,60,1\n',
        "# volts: 3.0 V\n# made by hand\n\ntimestamp_ns,current_na,level,remark\n0,1e7,0,1\n1e6,2e7,1,2\n",
        "# volts = 3\n# sample_rate_hz = 1000\ncurrent_ma mark\n10 0\n20 1\n",
    ],
)
def test_units_delimiters_and_comments(tmp_path: Path, text: str) -> None:
    capture = read(tmp_path, text)
    assert capture.times.tolist() == pytest.approx([0, 1e-3]) and capture.watts.tolist() == pytest.approx([0.03, 0.06])
    assert capture.level(None).tolist() == [0, 1]


def test_numbers_of_steps(tmp_path: Path) -> None:
    capture = read(tmp_path, "time_s,power_w,step\n0,1,\n1,1,0\n2,1,0\n3,1,7\n4,1,-1\n")
    assert capture.steps is not None and capture.steps.tolist() == [IDLE, 0, 0, 7, IDLE]


@pytest.mark.parametrize("columns", [["D0-D7"], ["D0", "D1", "D2", "D3", "D4", "D5", "D6", "D7"]])
def test_power_profiler_kit_2(tmp_path: Path, columns: list[str]) -> None:
    levels = ["01000000", "01000001", "00000001", "-X00000-"]
    fields = levels if len(columns) == 1 else [",".join(x) for x in levels]
    rows = "".join(f"{n / 100},{1000 + n}.500,{x}\n" for n, x in enumerate(fields))
    capture = read(tmp_path, f"Timestamp(ms),Current(uA),{','.join(columns)}\n{rows}", volts=2.0)
    assert capture.meter == "ppk2" and capture.period == pytest.approx(1e-5)
    assert capture.watts.tolist() == pytest.approx([2.001e-3, 2.003e-3, 2.005e-3, 2.007e-3])
    assert capture.pins["D1"].tolist() == [1, 1, 0, 0] and capture.pins["D7"].tolist() == [0, 1, 1, 1]
    assert not capture.pins["D0"].any()


def test_a_file_of_power_profiler_kit_2(tmp_path: Path) -> None:
    file = tmp_path / "run.ppk2"
    frames = [(1000.0, 0b0101), (2000.0, 0b1001), (3000.0, 0b1101)]
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("session.raw", b"".join(struct.pack("<fH", *frame) for frame in frames))
        archive.writestr("metadata.json", json.dumps({"metadata": {"samplesPerSecond": 100000}, "formatVersion": 2}))
    capture = read_capture(file, volts=3.0)
    assert capture.meter == "ppk2" and capture.times.tolist() == pytest.approx([0, 1e-5, 2e-5])
    assert capture.watts.tolist() == pytest.approx([3e-3, 6e-3, 9e-3]) and capture.pins["D1"].tolist() == [0, 1, 1]
    assert capture.pins["D0"].tolist() == [0, 0, 0]
    with pytest.raises(MoteError, match="no voltage"):
        read_capture(file)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(MoteError, match=r"not a \.ppk2 file"):
        read_capture(file, volts=3.0)


def test_joulescope(tmp_path: Path) -> None:
    rows = "0.5,0.001,3.0,0.003,0,0\n1.0,0.002,3.0,0.006,0,0\nnan,nan,nan,nan,0,0\n"
    capture = read(tmp_path, f"#time,current,voltage,power,charge,energy\n{rows}")
    assert capture.meter == "joulescope" and capture.watts.tolist() == [0.003, 0.006]
    assert read(tmp_path, "0.5 0.001 3.0\n1.0 0.002 3.0\n", "joulescope").watts.tolist() == pytest.approx(
        [0.003, 0.006]
    )


@pytest.mark.parametrize(("meter", "shunt", "bus"), [("ina219", 100, 825 << 3), ("ina226", 400, 2640)])
def test_registers_of_meters_on_a_bus(tmp_path: Path, meter: str, shunt: int, bus: int) -> None:
    head = f"# meter: {meter}\n# shunt_ohms: 0.1\ntime_ms,shunt_raw,bus_raw,mark\n"
    capture = read(tmp_path, f"{head}0,{shunt},{bus},0\n1,0x{(-shunt) & 0xFFFF:04x},{bus},1\n")
    assert capture.meter == meter and capture.watts.tolist() == pytest.approx([0.033, -0.033])
    scaled = read(tmp_path, "time_ms,current_ma,bus_v,mark\n0,10,3.3,0\n1,20,3.3,1\n", meter)
    assert scaled.watts.tolist() == pytest.approx([0.033, 0.066])
    lsb = f"# meter: {meter}\n# current_lsb_a: 1e-4\ntime_ms,current_raw,bus_raw\n0,100,{bus}\n1,200,{bus}\n"
    assert read(tmp_path, lsb).watts.tolist() == pytest.approx([0.033, 0.066])
    with pytest.raises(MoteError, match="resistance of the shunt"):
        read(tmp_path, head.replace("# shunt_ohms: 0.1\n", "") + f"0,{shunt},{bus},0\n1,{shunt},{bus},0\n")
    with pytest.raises(MoteError, match="does not say of which"):
        read(tmp_path, "time_ms,shunt_raw,bus_raw\n0,1,2\n1,1,2\n")


LPM01A = (
    b"PowerShield > ack volt 3000m\r\nPowerShield > ack freq 5k\r\nPowerShield > ack start\r\n\r\n6409-07\r\n"
    b"1000-05\r\nTimeStamp: 0s 999ms, buff 02%\r\n2000-05\r\nPowerShield > Acquisition completed\r\n"
)


def test_text_of_an_lpm01a(tmp_path: Path) -> None:
    capture = read(tmp_path, LPM01A)
    assert capture.meter == "lpm01a" and capture.period == pytest.approx(2e-4)
    assert capture.watts.tolist() == pytest.approx([3 * 640.9e-6, 0.03, 0.06])
    bare = b"1000-05\r\n" * 50 + b"TimeStamp: 1s 000ms\r\n" + b"1000-05\r\n" * 100 + b"TimeStamp: 2s 000ms\r\n"
    assert read(tmp_path, bare, volts=1.0).period == pytest.approx(0.01)
    with pytest.raises(MoteError, match="samples it has a second"):
        read(tmp_path, b"1000-05\r\n" * 5, volts=1.0)
    with pytest.raises(MoteError, match=r"capture\.csv, line 2: '10-05' is no sample"):
        read(tmp_path, b"1000-05\r\n10-05\r\n", volts=1.0)


def test_binary_of_an_lpm01a(tmp_path: Path) -> None:
    samples = bytes([0x30, 0x29]) * 100  # 0x029 / 16^3 A: 10.01 mA
    stamp = lambda ms: bytes([0xF0, 0xF3]) + ms.to_bytes(4, "big") + b"\x02\xff\xff"  # noqa: E731
    data = bytes([0xF0, 0xF7]) + (3300).to_bytes(2, "big") + b"\xff\xff" + stamp(0) + samples + stamp(10) + samples
    capture = read(tmp_path, data + bytes([0xF0, 0xF4, 0xFF, 0xFF]))
    assert capture.meter == "lpm01a" and len(capture.times) == 200 and capture.period == pytest.approx(1e-4)
    assert capture.watts.tolist() == pytest.approx([3.3 * 41 / 4096] * 200) and capture.volts == pytest.approx(3.3)
    with pytest.raises(MoteError, match="an overcurrent"):
        read(tmp_path, data + bytes([0xF0, 0xF5, 0xFF, 0xFF]))
    with pytest.raises(MoteError, match="neither a sample nor a message"):
        read(tmp_path, data[:-1] + stamp(20)[1:] + samples)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("time_s,current_a,mark\n0,0.01,0\n1,0.01x,0\n", r"line 3: '0.01x' is not a number"),
        ("time_s,current_a,mark\n0,0.01,0\n\n1,0.01\n", r"line 4: has 2 fields, where the first line has 3"),
        ("time_s,mark\n0,0\n1,0\n", "no column of a current or a power: time_s, mark"),
        ("time_s,current_a\n0,1\n1,1\n", "currents and no voltage"),
        ("current_a,volts\n1,1\n1,1\n", "no column of times"),
        ("time_s,power_w\n0,1\n2,1\n1,1\n", "time of sample 3 is 1 s, not after the 2 s"),
        ("time_s,power_w\n0,1\n", "has 1 samples"),
        ("time_s,power_w\n0,1\n1,inf\n", "infinite"),
        ("1,2\n3,4\n", "no line of column names"),
        ("# nothing\n", "no rows of numbers"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", "neither text nor a dump"),
        ("# meter: ina999\ntime_s,power_w\n0,1\n1,1\n", "unknown meter 'ina999'"),
        ("# volts: none\ntime_s,current_a\n0,1\n1,1\n", "must be a positive number, not 'none'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(MoteError, match=told) as error:
        read(tmp_path, text)
    assert "capture.csv" in error.value.where


def test_options_are_checked(tmp_path: Path) -> None:
    for how in ({"volts": 0.0}, {"volts": float("nan")}, {"sample_rate": -1.0}):
        with pytest.raises(MoteError, match="positive number"):
            read(tmp_path, "current_a\n1\n1\n", **how)
    with pytest.raises(MoteError, match="unknown meter"):
        read(tmp_path, "x", "multimeter")
    with pytest.raises(MoteError, match="cannot read"):
        read_capture(tmp_path / "nothing.csv")


BYTES = st.one_of(
    st.binary(max_size=300),
    st.text("0123456789.,;+-eE#xX \nabtimecurnvol_()D", max_size=200).map(str.encode),
    st.lists(
        st.sampled_from([LPM01A, b"\xf0\xf3", b"\xff\xff", b"0\x29", b"PK\x03\x04", b"6409-07\n"]), max_size=9
    ).map(b"".join),
    st.tuples(
        st.sampled_from([b"time_s,current_a,mark\n", b"Timestamp(ms),Current(uA),D0-D7\n"]), st.binary(max_size=99)
    ).map(b"".join),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BYTES, st.sampled_from([None, *METERS]))
def test_any_bytes_are_a_capture_or_an_error(tmp_path: Path, data: bytes, meter: str | None) -> None:
    try:
        capture = read(tmp_path, data, meter, volts=3.0)
    except MoteError as error:
        assert error.where and str(error)
    else:
        assert len(capture.times) == len(capture.watts) > 1 and np.all(np.diff(capture.times) > 0)
        assert np.all(np.isfinite(capture.watts))
