"""Camera lines into a person detector on an emulated Cortex-M4, in the memory of a few lines.

python examples/camera/camera.py [--model MODEL] [--camera FILE] [--target TARGET]

The firmware gets lines of RGB565 one by one, as from a driver: of a file with raw lines, of a picture, or of a drawn
scene. Outputs are compared with LiteRT's reference kernels on the inputs that `mote evaluate` would give them. Without
a model it is the architecture of MLPerf Tiny's visual wake words with random weights, which knows nothing of persons.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

import mote
from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.compiler.compiled import Compiled
from mote.compiler.package.adapters.sources import Recording, recording_files, source_files
from mote.deploy.firmware.artifacts import artifacts
from mote.frontends import tflite
from mote.frontends.data.dataset import dataset
from mote.frontends.data.readers.pictures import FORMATS, picture
from mote.frontends.features.images import Camera
from mote.hardware import toolchain
from mote.hardware.toolchain.emulators import command, run_process
from mote.ir.graph.tensor import Array

HERE = Path(__file__).parent
QVGA = Camera("rgb565", 240, 320, limited=False)
STEPS = "camera(320x240,rgb565),crop=240x240,resize(96x96,method=area),scale=1/255"
"""From the camera to the model's input: the square in the middle, each pixel the mean of what it covers."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a .tflite file that takes 96x96 RGB (default: one with random weights)")
    parser.add_argument(
        "--camera", metavar="FILE", help="raw lines of 320x240 RGB565, one image or several, or a picture"
    )
    parser.add_argument("--steps", default=STEPS, help=f"preprocessing behind that camera (default: {STEPS})")
    parser.add_argument("--target", default="cortex-m4", help="a core that QEMU emulates (default: cortex-m4)")
    given = parser.parse_args()
    try:
        model = Path(given.model).read_bytes() if given.model else random_weights()
        return show(model, lines_of(given.camera), given.steps, given.target)
    except (MoteError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def random_weights() -> bytes:
    """The network of MLPerf Tiny's visual wake words."""
    sys.path.append(str(HERE.parents[1] / "models"))
    import mlperf_tiny

    return mlperf_tiny.build("vww")


def lines_of(file: str | None) -> Array:
    """[images, lines, bytes]: what the camera gives."""
    height, line, _ = QVGA.shape
    if file is None:
        return QVGA.packed(scene()).reshape(1, height, line)
    data = Path(file).read_bytes()
    if Path(file).suffix.lower() in FORMATS:
        return QVGA.packed(picture(data, file).pixels()).reshape(1, height, line)
    if not data or len(data) % (height * line):
        raise MoteError(
            f"{len(data):,} bytes are no images of {height} lines of {line}",
            where=file,
            remedy="give raw lines of 320x240 RGB565, or a picture",
        )
    return np.frombuffer(data, np.uint8).reshape(-1, height, line)


def scene() -> Array:
    """A figure before a wall, 320x240."""
    y, x = np.mgrid[:240, :320]
    wall = np.stack([170 - y // 4, 160 + x // 8, 150 + y // 6], axis=-1)
    head = (x - 160) ** 2 + (y - 70) ** 2 < 32**2
    body = ((x - 160) / 56) ** 2 + ((y - 190) / 90) ** 2 < 1
    drawn = np.where(body[..., None], [60, 70, 120], wall)
    return np.where(head[..., None], [224, 172, 140], drawn).astype(np.uint8)


def show(model: bytes, images: Array, steps: str, target: str) -> int:
    """Prints what the core computed; 0 only where it equals the reference."""
    compiled = mote.compile(model, target=target, preprocess=steps, name="person")
    on_core = emulated(compiled, images)
    expected = referenced(model, images, steps)
    height, line, _ = QVGA.shape
    print(f"camera   {height} lines of {line} bytes, pushed one by one; an image has {height * line:,} bytes")
    print(f"steps    {steps}")
    print(f"RAM      {compiled.plan.ram:,} bytes planned: steps and model, {compiled.plan.arena:,} of them the arena")
    for number, (ours, theirs) in enumerate(zip(on_core, expected, strict=True)):
        print(f"image {number}  {target}: {ours.tolist()}, LiteRT's reference: {theirs.tolist()}")
    equal = np.array_equal(on_core, expected)
    print("All outputs are equal, bit for bit." if equal else "The outputs differ.")
    return 0 if equal else 1


def emulated(compiled: Compiled, images: Array) -> Array:
    """[images, outputs] of the firmware in an emulator."""
    recording = recording_files(Recording(images.reshape(-1), images.shape[-1]))
    program = {"main.c": (HERE / "main.c").read_text(encoding="utf-8"), **source_files(["memory"]), **recording}
    made = artifacts(compiled.project, [compiled.plan], compiled.settings, ["elf"], program)
    target = compiled.settings.target
    emulator = toolchain.find_emulator(target)
    with temporary_folder() as folder:
        elf = folder / "person.elf"
        firmware = made.files["person.elf"]
        assert isinstance(firmware, bytes)
        elf.write_bytes(firmware)
        said = run_process(command(elf, target, emulator), elf, emulator, folder, 300)
    found = [list(map(int, numbers.split())) for numbers in re.findall(r"^image:([ \d-]+)$", said, re.MULTILINE)]
    if len(found) != len(images):
        raise MoteError(f"the firmware says: {said.strip()}", where=f"target {target.name}")
    return np.array(found)


def referenced(model: bytes, images: Array, steps: str) -> Array:
    """[images, outputs] of LiteRT's reference kernels, on inputs as `mote evaluate` makes them."""
    graph = tflite.parse(model, "person")
    cases = dataset(images, preprocess=steps, several=False).cases(graph)
    reference = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    reference.allocate_tensors()
    (source,), (answer,) = reference.get_input_details(), reference.get_output_details()
    outputs = []
    for case in cases:
        reference.set_tensor(source["index"], case[graph.inputs[0]])
        reference.invoke()
        outputs.append(reference.get_tensor(answer["index"]).reshape(-1))
    return np.array(outputs)


if __name__ == "__main__":
    sys.exit(main())
