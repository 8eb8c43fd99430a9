"""Images with command streams of an Ethos-U: the runtime checks each before it may be used, and believes nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mote
import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.bench.evaluation.images import load_image, verify_image
from mote.bench.execute.interpreter import Interpreter
from mote.compiler.emit.image import format
from mote.compiler.emit.image.entries import entry_files
from mote.compiler.emit.image.manifest import parse_manifest
from mote.compiler.emit.image.npu.kernels import npu_kernels
from mote.compiler.emit.image.sources import runtime_files
from mote.compiler.emit.image.stock_kernels import limits_of
from mote.compiler.offload.ethos_u.embedded import embedded
from mote.compiler.packer import Image, pack
from mote.hardware.npu.stream import StreamMetadata, decode
from tests.compiler.emit.image.c_runtime import CHECKED, built
from tests.compiler.emit.image.damaged import PROGRAM, tried
from tests.hardware.npu.compiled import MODELS
from tests.helpers.npu_files import BYTES, SCRATCH, copying, npu_file
from tests.helpers.support import examples, needs

HERE = Path(__file__).parent
TARGET = "corstone-300"
CORES = {TARGET: "ethos-u55-128", "corstone-320": "ethos-u85-256"}
"""The accelerators of two targets, whose streams have different checkers."""
MUTANTS = examples(300_000, 15_000)
"""Of the images of both."""


def moving(target: str, *moves: tuple[int, int], bytes_: int = BYTES) -> bytes:
    """A payload that copies bytes, for the accelerator of a target."""
    core, _, macs = CORES[target].rpartition("-")
    return copying(*moves, bytes_=bytes_, core=core, macs=int(macs))


def images(target: str = TARGET) -> list[Image]:
    """A stream with one input and one with three, whose tensors lie in its working memory."""
    three = npu_file(moving(target, (0, 3 * BYTES)), (0, BYTES, 2 * BYTES, 3 * BYTES), inputs=3)
    return [pack(model, target=target) for model in (npu_file(moving(target, (0, BYTES))), three)]


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Programs for targets that damage images and run them, with an accelerator that touches all memory of its jobs."""
    needs("gcc")
    return {target: _program(tmp_path_factory.mktemp("npu"), target) for target in CORES}


@pytest.fixture
def campaign(campaigns: dict[str, Path]) -> Path:
    return campaigns[TARGET]


def _program(folder: Path, target: str) -> Path:
    files = runtime_files() | entry_files(npu_kernels(), limits_of(targets.load(target)))
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [*(folder / name for name in files if name.endswith(".c")), HERE / "campaign.c", HERE / "npu_fake.c"]
    return built(folder / "program", sources, f"-I{folder}", *CHECKED, *PROGRAM)


def refused(campaign: Path, image: bytes, folder: Path) -> bool:
    path = folder / "damaged.mote"
    path.write_bytes(image)
    status, said = tried(campaign, (0, "0+0"), [path])
    assert status == 0 or "is refused: parameters do not fit" in said, said
    return status != 0


def with_payload(image: Image, payload: bytes) -> bytes:
    """The image with another stream of the same length."""
    (job,) = embedded(image.data)
    at = job.offset + 48
    assert len(payload) == len(job.payload) and image.data[at : at + len(payload)] == job.payload
    return image.data[:at] + payload + image.data[at + len(payload) :]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", CORES)
def test_bad_streams_are_refused_when_an_image_is_loaded(
    target: str, campaigns: dict[str, Path], tmp_path: Path
) -> None:
    image, good = images(target)[0], moving(target, (0, BYTES))
    assert not refused(campaigns[target], image.data, tmp_path)
    assert not refused(campaigns[target], with_payload(image, moving(target, (0, SCRATCH - BYTES))), tmp_path)
    for stream in (
        moving(target, (0, SCRATCH - BYTES + 16)),
        moving(target, (SCRATCH, 0)),
        moving(target, (0, BYTES), bytes_=SCRATCH),
        good.replace(b"COP1", b"COP7"),
        good[:-4] + good[-8:-4],  # nothing stops it
        *(moving(other, (0, BYTES)) for other in CORES if other != target),
    ):
        assert refused(campaigns[target], with_payload(image, stream), tmp_path)


def test_the_head_of_a_job_gives_no_more_memory_than_there_is(campaign: Path, tmp_path: Path) -> None:
    image = images()[0]
    (job,) = embedded(image.data)
    assert job.sizes == (BYTES, SCRATCH, 0) and job.writable == (False, True, True)
    head = np.frombuffer(image.data[job.offset : job.offset + 48], "<u4")
    for word, value in [
        (0, 1 << 20),
        (0, 0xFFFFFFF0),
        (1, 4),
        (1, 2),
        (2, 1 << 20),
        (3, SCRATCH + 16),
        (4, 16),
        (5, 64),
    ]:
        changed = head.copy()
        changed[word] = value
        data = image.data[: job.offset] + changed.tobytes() + image.data[job.offset + 48 :]
        assert refused(campaign, data, tmp_path), f"word {word} is {value}"


def test_tensors_lie_in_the_working_memory(campaign: Path, tmp_path: Path) -> None:
    image = images()[0]
    (op,) = (format.OP.unpack(image.data, image.header["ops_offset"]),)
    words = np.frombuffer(image.data[op["params"] : op["params"] + 40], "<u4")
    assert words[2:4].tolist() == [BYTES, 0] and words[8:10].tolist() == [BYTES, BYTES]
    for word, value in [(2, BYTES + 1), (3, SCRATCH - BYTES + 1), (3, 0x7FFFFFFF), (8, 0xFFFFFFFF), (9, SCRATCH)]:
        changed = words.copy()
        changed[word] = value
        data = image.data[: op["params"]] + changed.tobytes() + image.data[op["params"] + 40 :]
        assert refused(campaign, data, tmp_path), f"word {word} is {value}"


@pytest.mark.parametrize("target", CORES)
def test_mutants(target: str, campaigns: dict[str, Path], tmp_path: Path) -> None:
    """Whatever is damaged: refused, or inside of its bounds as sanitizers see it."""
    files = [tmp_path / f"{i}.mote" for i in range(2)]
    for file, image in zip(files, images(target), strict=True):
        file.write_bytes(image.data)
    status, said = tried(campaigns[target], (0, f"0+{MUTANTS // len(CORES)}"), files)
    counted = re.search(r"(\d+) tried, (\d+) taken", said)
    assert status == 0 and counted is not None, said[-4000:]
    count, taken = map(int, counted.groups())
    assert count == MUTANTS // len(CORES) and count / 10 < taken < 3 * count / 4
    status, said = tried(campaigns[target], ("every", 1), files[:1])
    assert status == 0, said[-4000:]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("target", CORES)
def test_an_image_runs_on_the_core_and_its_simulated_accelerator(target: str, tmp_path: Path) -> None:
    model = tmp_path / "model.tflite"
    model.write_bytes(npu_file(moving(target, (0, BYTES)), layers=1))
    pack(model, target=target).write(tmp_path / "model.mote")
    loaded = load_image(tmp_path / "model.mote", target=target)
    assert verify_image(loaded, 2).exact


@pytest.mark.slow
@pytest.mark.parametrize("target", CORES)
def test_a_region_of_the_backend_in_an_image(target: str, tmp_path: Path) -> None:
    """Its tensors have base pointers of their own."""
    pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
    model = MODELS / "keywords.tflite"
    image = pack(model, target=target, backend="ethos-u")
    assert [k.name for k in image.records] == ["npu_job"]
    (job,) = embedded(image.data)
    assert len(job.sizes) == 5 and decode(job.payload).config.name == CORES[target] and not (job.offset + 48) % 16
    image.write(tmp_path / "keywords.mote")
    assert verify_image(load_image(tmp_path / "keywords.mote", target=target), 2, source=model).exact


def test_runtimes_have_the_kernels_that_backends_ask_for() -> None:
    plain, npu = (mote.runtime("minimal", target=TARGET, backend=backend) for backend in ((), ("ethos-u-stream",)))
    assert "mote_npu_check.c" not in plain.files and not any(k.fails for k in plain.manifest.kernels)
    assert {"mote_npu_check.c", "mote_npu_job.c", "mote_npu_driver.c"} <= npu.files.keys()
    newest = mote.runtime("minimal", target="corstone-320", backend="ethos-u-stream")
    assert "mote_npu_check_u85.c" in newest.files and "mote_npu_check.c" not in newest.files
    assert parse_manifest(json.loads(newest.manifest.to_json()), "it").limits.npu == "ethos-u85"
    assert "npu" not in json.loads(mote.runtime("minimal", target="cortex-m4").manifest.to_json())["limits"]
    file = npu_file(copying((0, BYTES)))
    assert pack(file, target=TARGET, runtime=npu.manifest).records
    with pytest.raises(MoteError, match="has no kernel 'npu_job'") as raised:
        pack(file, target=TARGET, runtime=plain.manifest)
    assert "mote runtime --backend" in raised.value.remedy
    with pytest.raises(MoteError, match="checks command streams for another accelerator than ethos-u55-128"):
        pack(file, target=TARGET, runtime=newest.manifest)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(("inputs", "target"), [(1, TARGET), (2, TARGET), (3, TARGET), (1, "corstone-320")])
def test_an_image_runs_on_this_computer(inputs: int, target: str) -> None:
    places = [BYTES * i for i in range(inputs)]
    file = npu_file(moving(target, (places[-1], 3 * BYTES)), (*places, 3 * BYTES), inputs=inputs)
    it = Interpreter.of(pack(file, target=target).data, npu_kernels(), "model")
    given = [np.arange(BYTES, dtype=np.int8)[None] - 20 * i for i in range(inputs)]
    for i, x in enumerate(given):
        it.set_tensor(i, x)
    it.invoke()
    np.testing.assert_array_equal(it.get_tensor(inputs), given[-1])


def test_a_job_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The inference ends with an error, and the next one begins anew."""
    it = Interpreter.of(pack(npu_file(copying((0, BYTES))), target=TARGET).data, npu_kernels(), "model")
    x = np.arange(BYTES, dtype=np.int8)[None]
    it.set_tensor(0, x)
    with monkeypatch.context() as patch:
        patch.setattr("mote.bench.execute.npu_jobs.simulate", failing)
        with pytest.raises(MoteError, match="accelerator failed"):
            it.invoke()
    it.set_tensor(0, x)
    it.invoke()
    np.testing.assert_array_equal(it.get_tensor(1), x)


def failing(memory: object) -> None:
    raise MoteError("a bus error")


def test_streams_that_devices_cannot_check_are_for_generated_c() -> None:
    stream = decode(copying((0, BYTES)))
    file = npu_file(replace(stream, container=StreamMetadata(1, 0, bytes(4))).encode())
    assert mote.compile(file, target=TARGET).plan.steps
    with pytest.raises(MoteError, match="computes it with C of its own, which no image holds"):
        pack(file, target=TARGET)
