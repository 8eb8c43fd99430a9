"""Images that are damaged anywhere are refused, or run inside of their bounds: as sanitizers see it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mote.compiler.emit.image import format
from mote.compiler.emit.image.stock_kernels import everything
from mote.compiler.packer import pack
from tests.compiler.emit.image.c_runtime import CHECKED, INCLUDES, SOURCES, STRICT, built
from tests.compiler.emit.image.damaged import HANDMADE, PROGRAM, program, tried
from tests.compiler.emit.image.handmade import copying, patched
from tests.helpers.network import Net
from tests.helpers.support import examples, needs

HERE = Path(__file__).parent
DIGITS = HERE.parents[3] / "models" / "digits.tflite"
MUTANTS = examples(30_000, 3_000), examples(300_000, 15_000)
"""Of digits, whose inferences take longer, and of images that were made by hand."""


def run(campaign: Path, images: list[Path], *arguments: object) -> tuple[int, int]:
    """How many images were tried, and how many were taken."""
    status, said = tried(campaign, arguments, images)
    found = re.search(r"(\d+) tried, (\d+) taken", said)
    assert status == 0 and found is not None, said[-4000:]
    return int(found[1]), int(found[2])


Campaign = tuple[Path, list[Path]]
"""A program, and the images that it damages."""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The objects that all programs have."""
    needs("gcc")
    folder = tmp_path_factory.mktemp("parts")
    sources = [*SOURCES, str(HERE / "campaign.c")]
    subprocess.run(["gcc", *STRICT, *INCLUDES, *CHECKED, *PROGRAM, "-c", *sources], cwd=folder, check=True)
    return sorted(folder.glob("*.o"))


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory, parts: list[Path]) -> Campaign:
    folder = tmp_path_factory.mktemp("by-hand")
    files = [folder / f"{name}.mote" for name in HANDMADE]
    for file, made in zip(files, HANDMADE.values(), strict=True):
        file.write_bytes(made.image())
    return built(folder / "program", [*parts, HERE / "handmade.c"], *CHECKED), files


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory, parts: list[Path]) -> Campaign:
    folder = tmp_path_factory.mktemp("digits")
    images = [pack(DIGITS, target="host", **mode) for mode in ({}, {"input": "rows"}, {"train": "last"})]
    files = [folder / f"{i}.mote" for i in range(len(images))]
    for file, image in zip(files, images, strict=True):
        file.write_bytes(image.data)
    records = [record for image in images for record in image.records]
    return program(folder, "campaign.c", records, parts=parts), files


@pytest.mark.slow
def test_tensors_that_overlap(tmp_path: Path, parts: list[Path]) -> None:
    """A copy over itself is refused; what a kernel makes of rows that it copies over each other is its own matter."""
    copy = next(record for record in everything() if record.name == "copy")
    net = Net(3)
    x = net.input(1, 4, 4, 4)
    moved = net.moved("TRANSPOSE", [x, net.ints(0, 2, 1, 3)], (1, 4, 4, 4))
    packed = pack(net.finish(moved, net.resize(x, 6, 4, "RESIZE_NEAREST_NEIGHBOR")), target="host")
    campaign = program(tmp_path, "campaign.c", [copy, *packed.records], parts=parts)

    def refused(image: bytes) -> bool:
        path = tmp_path / "overlapping.mote"
        path.write_bytes(image)
        status, said = tried(campaign, (0, "0+0"), [path])
        assert (status != 0) == ("is refused: parameters do not fit" in said), said
        return status != 0

    assert not any(refused(copying(copy.id, apart)) for apart in (32, -32, 64))
    assert all(refused(copying(copy.id, apart)) for apart in (0, 4, -4, 28, -28))
    head = format.HEADER.unpack(packed.data)
    offset, count = head["places_offset"], head["places_count"]
    places = [format.PLACE.unpack(packed.data, offset + 16 * i) for i in range(count)]
    assert len({place["at"] for place in places}) == count == 3, "the input, and both outputs apart from it"
    for at in range(0, 64, 12):
        overlapping = packed.data
        for i in range(count):
            overlapping = patched(overlapping, "places", i, at=at if places[i]["at"] else 0)
        assert not refused(overlapping)


def test_every_byte_and_every_length(by_hand: Campaign) -> None:
    _every_byte(*by_hand)


@pytest.mark.slow
def test_every_byte_and_every_length_of_a_real_image(digits: Campaign) -> None:
    campaign, files = digits
    _every_byte(campaign, files[:1])


def _every_byte(campaign: Path, files: list[Path]) -> None:
    size = sum(file.stat().st_size for file in files)
    count, taken = run(campaign, files, "every", 1)
    assert count == 3 * size - 193 * len(files)
    assert size / 3 < taken < size, "many bytes are weights or text"


def test_mutants_of_images_by_hand(by_hand: Campaign) -> None:
    campaign, files = by_hand
    count, taken = run(campaign, files, 0, f"0+{MUTANTS[1]}")
    assert count == MUTANTS[1] and count / 4 < taken < count / 2, "many get past the checks, most do not"


def test_mutants_of_a_real_image(digits: Campaign) -> None:
    campaign, files = digits
    count, taken = run(campaign, files, 0, f"0+{MUTANTS[0]}")
    assert count == MUTANTS[0] and count / 4 < taken < 3 * count / 4


def test_what_a_sanitizer_sees_is_a_finding(parts: list[Path], by_hand: Campaign, tmp_path: Path) -> None:
    """A kernel whose check forgets its table: the campaign finds that out, and says which mutant did it."""
    text = (HERE / "handmade.c").read_text(encoding="utf-8")
    careless = tmp_path / "careless.c"
    careless.write_text(text.replace("mote_holds(room, p->table, mote_size(p->size), 1)", "1"), encoding="utf-8")
    campaign = built(tmp_path / "program", [*parts, careless], *CHECKED)
    status, said = tried(campaign, (0, "0+20000"), by_hand[1])
    found = re.search(r"FINDING: number (\d+), ", said)
    assert status != 0 and found is not None
    assert tried(campaign, (0, f"{found[1]}+1"), by_hand[1])[0] != 0, "the same again"
    assert tried(by_hand[0], (0, f"{found[1]}+1"), by_hand[1])[0] == 0
