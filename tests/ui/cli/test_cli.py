"""The commands as text: what a user reads is compared with files in `snapshots/`.

`MOTE_UPDATE_SNAPSHOTS=1 pytest tests/ui/cli` writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mote.frontends.tflite.writer import Writer
from mote.hardware import targets
from mote.ir.graph import tolerance
from mote.ui.cli import BLAS_THREADS, COMMANDS, main
from tests.helpers.network import Net
from tests.helpers.support import emulated

ROOT = Path(__file__).parents[3]
SNAPSHOTS = Path(__file__).parent / "snapshots"
DIGITS = "models/digits.tflite"


@pytest.fixture(autouse=True)
def _at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def mote(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(stop.code or 0)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def snapshot(name: str, text: str) -> None:
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("MOTE_UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def unsupported_model(path: Path) -> str:
    w = Writer("unsupported")
    x = w.input("x", (1, 4), "int8", scale=0.1)
    a, b = (w.tensor(n, (1, 4), "int8", scale=0.1) for n in ("dense", "custom"))
    w.op("DENSIFY", [x], [a])
    w.op("CUSTOM", [a], [b], custom_code="MyOp")
    w.output(b)
    path.write_bytes(w.finish())
    return str(path)


def test_inspect(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "inspect", DIGITS)
    assert status == 0
    snapshot("inspect", out)


def test_inspect_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(mote(capsys, "inspect", DIGITS, "--json")[1])
    assert found["macs"] > 0 and found["weights"] > 0 and found["unsupported"] == []
    keys = {"index", "op", "name", "short", "inputs", "outputs", "macs", "weights", "bodies", "unsupported"}
    assert keys == set(found["layers"][0])


def test_compile(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = mote(capsys, "compile", DIGITS, "--target", "cortex-m4", "-o", str(tmp_path / "out"), "--wide")
    assert status == 0 and (tmp_path / "out" / "digits.c").exists()
    snapshot("compile", re.sub(", code [0-9,]+ bytes", "", out.replace(str(tmp_path), "DIR")))


@pytest.mark.slow
def test_a_core_without_a_part_has_a_code_size_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """And a budget of flash counts it."""
    core = ("-t", emulated("cortex-m4"), "--optimize", "speed")
    flash = json.loads(mote(capsys, "compile", DIGITS, *core, "-o", str(tmp_path), "--json")[1])["flash"]
    assert flash["code"] == json.loads(mote(capsys, "run", DIGITS, *core, "--json")[1])["flash"]["code"] > 0
    assert f", code {flash['code']:,} bytes" in mote(capsys, "compile", DIGITS, *core, "-o", str(tmp_path))[1]
    budget = ("--flash", str(flash["code"] // 2))
    status, _, err = mote(capsys, "compile", DIGITS, *core, "-o", str(tmp_path / "no"), *budget)
    assert status == 1 and " + code " in err and not (tmp_path / "no").exists()


def test_compile_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = ("--name", "my_model", "--single-file", "--json")
    found = json.loads(mote(capsys, "compile", DIGITS, "-o", str(tmp_path), *options)[1])
    assert found["name"] == "my_model" and "my_model.c" in found["files"]


def test_compile_overwrites_nothing_of_the_users(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ("compile", DIGITS, "--single-file", "-o", str(tmp_path / "out"))
    assert mote(capsys, *arguments)[0] == 0
    (tmp_path / "out" / "digits.c").write_text("mine")
    status, _, err = mote(capsys, *arguments)
    assert status == 1 and "digits.c was changed since Mote generated it" in err and "--force" in err
    assert (tmp_path / "out" / "digits.c").read_text() == "mine"
    status, out, _ = mote(capsys, *arguments, "--force")
    assert status == 0 and "overwritten by --force: digits.c" in out
    assert json.loads(mote(capsys, *arguments, "--force", "--json")[1])["overwritten"] == []
    status, _, err = mote(capsys, "compile", DIGITS, "-o", "")
    assert status == 1 and "the name of the folder is empty" in err


def test_targets(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The list as text, of a few targets: one more part changes no snapshot."""
    few = ["cortex-m4", "cortex-m7", "host", "rp2040", "stm32n657"]
    assert {t["name"] for t in json.loads(mote(capsys, "targets", "--json")[1])} >= {*few}
    monkeypatch.setattr("mote.hardware.targets.names", lambda: few)
    snapshot("targets", mote(capsys, "targets")[1])


def test_an_unknown_target_names_a_few(capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are like it, and the command that lists all, however many there are."""
    for wrong in ("stm32f4", "no-such-part", "stm32f4.toml"):
        status, _, err = mote(capsys, "plan", DIGITS, "-t", wrong)
        assert status == 1 and "`mote targets` lists" in err
        assert sum(f" {name}" in err for name in targets.names()) <= 3
    assert "did you mean: stm32f" in err


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "doctor")
    assert status == 0 and "compile for Cortex-M" in out and "ai-edge-litert" in out
    assert max(len(line) for line in out.splitlines() if "install" not in line) <= 80
    for finding in json.loads(mote(capsys, "doctor", "--json")[1])["tools"]:
        assert finding["found"] or finding["remedy"]


def test_run_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    emulated("cortex-m4")
    np.save(tmp_path / "x.npy", np.load("models/digits_samples.npz")["inputs"][0])
    outputs = tmp_path / "y.npz"
    arguments = (
        "run",
        DIGITS,
        "-t",
        "cortex-m4",
        "--data",
        str(tmp_path / "x.npy"),
        "--output",
        str(outputs),
        "--json",
    )
    found = json.loads(mote(capsys, *arguments)[1])
    assert set(found) == {
        "model", "target", "emulator", "compiler", "instructions", "longest_step", "layers", "ram", "flash", "outputs",
        "inferences", "unit", "board", "training_step",
    }  # fmt: skip
    assert set(found["layers"][0]) == {"number", "name", "short", "op", "kernel", "macs", "instructions"}
    assert set(found["ram"]) == {"arena", "static", "stack", "stack_measured", "total", "code"}
    assert 0 < found["ram"]["stack_measured"] <= found["ram"]["stack"]
    assert found["ram"]["total"] == sum(found["ram"][k] for k in ("arena", "static", "stack"))
    assert found["flash"]["total"] == found["flash"]["code"] + found["flash"]["constants"]
    assert set(found["outputs"][0]) == {"name", "shape", "dtype", "sha256"}
    (inference,) = found["inferences"]
    (value,) = np.load(outputs).values()
    assert inference == {"instructions": found["instructions"], "outputs": {"7_softmax": value.tolist()}}
    assert np.array_equal(value.reshape(-1), np.load("models/digits_samples.npz")["outputs"][0].reshape(-1))


def test_run_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m4")
    status, out, _ = mote(capsys, "run", DIGITS, "--target", "cortex-m4")
    assert status == 0
    for wanted in ("2_conv_2d", "/armv7em", "instructions:", "RAM:", "flash:", "output"):
        assert wanted in out


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["digits", "keywords"])
def test_the_bundled_samples_are_run_row_by_row(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The array that fits is taken, beside labels, names and outputs."""
    samples = np.load(f"models/{name}_samples.npz")
    arguments = ("run", f"models/{name}.tflite", "--data", f"models/{name}_samples.npz")
    found = json.loads(mote(capsys, *arguments, "--json")[1])["inferences"]
    given = np.array([next(iter(row["outputs"].values())) for row in found])
    assert np.array_equal(given.reshape(samples["outputs"].shape), samples["outputs"])
    out = mote(capsys, *arguments)[1]
    for i, row in enumerate(samples["outputs"]):
        assert f"row {i}\n" in out and f"largest: {row.max()} at {row.argmax()}" in " ".join(out.split())


def test_the_winner_is_printed_of_any_number_of_classes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for size, all_shown in ((12, True), (32, True), (1000, False)):
        net = Net(size, "float32")
        path = tmp_path / "net.tflite"
        path.write_bytes(net.finish(net.op("RELU", [net.input(1, size)])))
        values = np.random.default_rng(size).uniform(0, 1, size).astype(np.float32)
        values[size - 1] = 7.25
        np.save(tmp_path / "x.npy", values)
        last = mote(capsys, "run", str(path), "--data", str(tmp_path / "x.npy"), "--wide")[1].splitlines()[-1]
        listed = last[last.index("[") + 1 : last.index("]")].split()
        assert f"largest: 7.25 at {size - 1}" in last and len(listed) == (size if all_shown else 10)
        found = json.loads(mote(capsys, "run", str(path), "--data", str(tmp_path / "x.npy"), "--json")[1])
        (given,) = found["inferences"][0]["outputs"].values()
        np.testing.assert_array_equal(np.float32(given).reshape(-1), values)


def test_verify(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "verify", DIGITS, "--inputs", "3")
    assert status == 0 and "equal bit for bit" in out
    found = json.loads(mote(capsys, "verify", DIGITS, "--inputs", "2", "--json")[1])
    assert {"passed", "exact", "tensors", "mismatches", "max_abs_diff", "reference", "inputs"} <= set(found)
    assert found["exact"] is found["passed"] is True and found["mismatches"] == [] and found["inputs"] == 2


def test_verify_fails_on_a_difference(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from mote.bench.evaluation import verify
    from mote.bench.execute import stimuli

    def other(graph, case, *rest):  # type: ignore[no-untyped-def]
        return {t: v[..., ::-1] * 0 for t, v in rest[0].items()}

    monkeypatch.setattr(verify, "source_inputs", other)
    assert stimuli.STIMULI
    status, out, _ = mote(capsys, "verify", DIGITS, "--inputs", "1")
    assert status == 1 and "mismatches" in out


def test_unsupported_layers_are_all_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = unsupported_model(tmp_path / "m.tflite")
    status, out, err = mote(capsys, "compile", path, "-o", str(tmp_path / "out"))
    assert status == 1 and out == "" and not (tmp_path / "out").exists()
    snapshot("unsupported", err.replace(str(tmp_path), "DIR"))
    status, out, _ = mote(capsys, "inspect", path)
    assert status == 1 and "CUSTOM(MyOp)" in out


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("error-absent", ("inspect", "absent.tflite")),
        ("error-target", ("compile", DIGITS, "--target", "cortex-m99", "-o", "x")),
        ("error-size", ("compile", DIGITS, "--ram", "lots", "-o", "x")),
        ("error-ram", ("compile", DIGITS, "--ram", "300", "-o", "x")),
        ("error-recompute", ("compile", DIGITS, "--recompute", "200", "-o", "x")),
        ("error-flash", ("compile", DIGITS, "--flash", "2K", "-o", "x")),
        ("error-kernel", ("compile", DIGITS, "--target", "cortex-m4", "--kernel", "0=winograd", "-o", "x")),
        ("error-name", ("compile", DIGITS, "--name", "no-good", "-o", "x")),
    ],
)
def test_errors(name: str, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """One message, status 1, nothing written."""
    status, out, err = mote(capsys, *arguments)
    assert status == 1 and out == "" and not Path("x").exists()
    assert "Traceback" not in err
    snapshot(name, err)


def test_errors_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, "inspect", "absent.tflite", "--json")
    assert status == 1 and json.loads(out)["error"]["where"] == "absent.tflite"


def test_bad_input_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_text("no array")
    assert mote(capsys, "run", DIGITS, "--data", str(tmp_path / "x.npy"))[0] == 1
    np.save(tmp_path / "x.npy", np.zeros(3, np.int8))
    status, _, err = mote(capsys, "run", DIGITS, "--data", str(tmp_path / "x.npy"))
    assert status == 1 and "the model takes int8" in err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = mote(capsys, *([command] if command else []), "--help")
    assert status == 0 and "usage: mote" in out


IMPORTED = """
import sys
from mote.ui.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""


def test_a_command_is_imported_when_it_is_called() -> None:
    """The version is told without any, and a command does not load the others."""
    for arguments, allowed in ((["--version"], set()), (["targets"], {"common", "commands.targets"})):
        done = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
        found = set(done.stderr.split())
        commands = (f"commands.{name.replace('-', '_')}" for name in COMMANDS)
        assert {name for name in ("common", *commands) if f"mote.ui.cli.{name}" in found} == allowed
        assert ("numpy" in found) == bool(allowed)


def test_compiling_loads_what_it_needs(tmp_path: Path) -> None:
    """Front ends of other formats, and parts of the standard library and of NumPy that take long to import."""
    arguments = ["compile", DIGITS, "--output", str(tmp_path)]
    done = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, check=True)
    slow = {"urllib.request", "email", "ssl", "importlib.metadata", "numpy.ma"}
    others = {"mote.frontends.build", "mote.frontends.onnx", "mote.frontends.torch.reader", "mote.quantize"}
    assert not set(done.stderr.split()) & (slow | others)


@pytest.mark.parametrize(("command", "threads"), [("inspect", "1"), ("evaluate", None)])
def test_commands_without_data_sets_have_one_thread_of_blas(
    command: str, threads: str | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(BLAS_THREADS, "")
    monkeypatch.delenv(BLAS_THREADS)
    assert main([command, "no-such-file.tflite"]) != 0
    assert os.environ.get(BLAS_THREADS) == threads


def test_mote_is_a_module_to_run() -> None:
    done = subprocess.run([sys.executable, "-m", "mote", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("mote ")
    done = subprocess.run([sys.executable, "-m", "mote", "no-command"], capture_output=True, text=True)
    assert done.returncode == 2 and all(name in done.stderr for name in COMMANDS)


def test_no_colour_and_no_progress_in_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mote", "verify", DIGITS, "--inputs", "1"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "\033" not in done.stdout and done.stderr == ""


def test_what_verify_says_of_floats_is_what_was_compared(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large sums may differ by more than 1e-5; the share of what is allowed is below 100%, or it fails."""
    net = Net(dtype="float32")
    path = tmp_path / "net.tflite"
    x = net.op("TANH", [net.input(1, 512)])  # whose last bits differ from one C library to another
    path.write_bytes(net.finish(net.fully_connected(x, 1000 * net.weights(8, 512).astype(np.float32))))
    status, out, _ = mote(capsys, "verify", str(path), "--inputs", "4", "--wide")
    ((share, largest),) = re.findall(
        r"by more than ([\d.e+-]+)% of what that allows, and none by more than (\S+)\)", out
    )
    assert status == 0 and float(largest) > 1e-5 and 0 < float(share) <= 100
    monkeypatch.setattr(tolerance, "FLOAT_TOLERANCE", tolerance.FLOAT_TOLERANCE * float(share) / 120)
    status, out, _ = mote(capsys, "verify", str(path), "--inputs", "4", "--wide")
    allowed = [float(x) for x in re.findall(r"\(([\d.e+-]+) is allowed\)", out)]
    assert status == 1 and allowed and min(allowed) < float(largest)
