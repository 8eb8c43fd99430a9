"""A program of a user that has every public name of `mote`, with the types that a type checker must know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import mote
from mote.bench.measure.energy.capture import Capture
from mote.bench.metrics import Score
from mote.hardware.targets import Target
from mote.ir.graph import Graph
from mote.ui.api.operators import Operator

MODEL = Path("model.tflite")


def compiled() -> mote.Compiled:
    settings: mote.Settings | None = None
    made = mote.compile(MODEL, settings, target="cortex-m4", ram="24K", kernels=["3=conv2d"])
    assert_type(made, mote.Compiled)
    assert_type(made.macs, int)
    assert_type(made.json(), dict[str, Any])
    assert_type(made.write("build", force=True), list[str])
    assert_type(mote.compile_several([MODEL, b""], target="host"), mote.CompiledModels)
    assert_type(mote.compile_shared([MODEL]).arena, int)
    assert_type(mote.load(MODEL), Graph)
    return made


def looked_at(model: mote.Compiled) -> None:
    inspection = mote.inspect(MODEL, shapes={"x": (1, 8)})
    assert_type(inspection, mote.Inspection)
    assert_type(inspection.layers[0].macs, int | None)
    plan = mote.plan(MODEL, target="cortex-m4")
    assert_type(plan, mote.MemoryPlan)
    assert_type(plan.svg(), str)
    front = mote.explore(MODEL, points=2, measure=False)
    assert_type(front, mote.Front)
    assert_type(front.points, tuple[mote.Point, ...])
    assert_type(mote.report(MODEL), mote.Report)


def measured(model: mote.Compiled) -> None:
    result = mote.run(model, np.zeros(3), layers=False)
    assert_type(result, mote.RunResult)
    assert_type(result.instructions, int | None)
    profile = mote.profile(MODEL, target="stm32l4r5", emulator="qemu")
    assert_type(profile, mote.Profile)
    assert_type(profile.layers[0].cycles, int)
    assert_type(mote.calibrate_target("stm32l4r5", board="serial:/dev/ttyACM0"), mote.Calibration)
    assert_type(mote.fit_energy([profile, "other.json"]), mote.EnergyFit)
    part = mote.targets.load("cortex-m4")
    assert_type(part, Target)
    assert_type(mote.profile_elf("a.elf", "main", part), mote.Profile)
    checked = mote.verify(model, 2)
    assert_type(checked, mote.VerifyResult)
    assert_type(checked.exact, bool)


def rated() -> None:
    data = mote.dataset("test.npz", preprocess="scale=1/255")
    assert_type(data, mote.Dataset)
    assert_type(mote.evaluate(MODEL, data, samples=0), mote.Evaluation)
    assert_type(mote.score(MODEL, data), Score)
    assert_type(mote.fit_threshold(MODEL, data, event=1, false_positives=0.01), mote.ThresholdFit)


def improved() -> None:
    quantized = mote.quantize("model.onnx", "train.npz", calibration="mse")
    assert_type(quantized, mote.Quantized)
    assert_type(mote.quantize.post_training("model.onnx"), mote.Quantized)
    assert_type(mote.quantize.mix("model.onnx", "a.npz", "b.npz", max_accuracy_drop="1%"), mote.Mixed)
    assert_type(mote.prune("model.onnx", "train.npz", macs="50%"), mote.Pruned)
    assert_type(mote.shrink(MODEL, inputs=10), mote.ShrinkResult)
    assert_type(mote.convert("model.onnx"), mote.Converted)


def deployed() -> None:
    image = mote.pack(MODEL, model_version=2)
    assert_type(image, mote.Image)
    assert_type(image.c_array(), dict[str, str])
    assert_type(mote.runtime("minimal"), mote.Runtime)
    assert_type(mote.load_image("model.mote"), mote.LoadedImage)
    assert_type(mote.dump("model.mote"), mote.ImageDump)
    assert_type(mote.disassemble("model_vela.tflite"), mote.Disassembly)
    assert_type(mote.delta("a.mote", "b.mote").data, bytes)
    delta: mote.Delta = mote.delta("a.mote", "b.mote")
    delta.write("c.delta")
    assert_type(mote.ota("b.mote", connect="host:7000"), mote.UpdateOutcome | mote.Device)
    assert_type(mote.sign("b.mote", key="key.pem"), mote.Signing)
    verdict = mote.verify_image("b.mote", "key.pub.pem")
    assert_type(verdict, mote.ImageVerdict)
    assert_type(verdict.valid, bool)
    assert_type(mote.flash("build", dry_run=True), mote.FlashResult)


def on_boards() -> None:
    boards = mote.board()
    assert_type(boards, mote.BoardList | mote.BoardInfo | mote.BoardFlashed | str)
    project: mote.AgentProject = mote.agent(MODEL, package="zephyr", target="cortex-m4")
    assert_type(project.id, str)
    assert_type(mote.read_capture("ppk2.csv", volts=3.0), Capture)


def searched() -> None:
    result = mote.search("train.npz", test="test.npz", target="stm32l4r5", ram="32K", latency="20ms", workers=2)
    mote.search(
        "train.npz",
        test="test.npz",
        target="stm32l4r5",
        precision=("int8", "int4"),
        space=["mobile"],
        strategy="halving",
        teacher="residual",
    )
    assert_type(result, mote.SearchResult)
    assert_type(result.best, mote.SearchMember)
    result.write("best")
    assert_type(list(mote.search.front([1.0, 2.0], lambda x: x)), list[float])


def tuned() -> None:
    result: mote.Tuned = mote.tune(MODEL, target="cortex-m4", minutes=1.0, trials=3, workers=2)
    assert_type(result.gain, float)
    result.write("pins.toml")
    assert_type(mote.compile(MODEL, target="cortex-m4", pins="pins.toml"), mote.Compiled)


def project() -> None:
    assert_type(mote.build(), mote.BuildResult)
    assert_type(mote.check(), mote.CheckResult)


def listed() -> None:
    assert_type(mote.ops("ADD"), list[Operator] | list[str])
    assert_type(mote.targets(), list[Target])
    diagnosis = mote.doctor("compile")
    assert_type(diagnosis, mote.Diagnosis)
    assert_type(diagnosis.tools, tuple[mote.Finding, ...])
    assert_type(mote.backends(target="cortex-m4"), list[mote.Backend])
    report: mote.GeneratorReport = mote.check_generator("lookup-tables", layers=["logistic"])
    assert_type(report.passed, bool)
    files: mote.CMakeFiles = mote.cmake()
    assert_type(files.folder, Path)
    assert_type(mote.__version__, str)


def interpreted() -> NDArray[Any]:
    interpreter = mote.Interpreter(MODEL, num_threads=1)
    interpreter.set_tensor(0, np.zeros(3))
    interpreter.invoke()
    return interpreter.get_tensor(1)


def failed(error: Exception) -> str:
    if isinstance(error, mote.MoteError):
        return assert_type(error.remedy, str)
    return "a bug" if isinstance(error, mote.InternalError) else "no error of Mote's"


EXTENSIONS = (mote.register, mote.register_kernel, mote.register_generator, mote.register_step)
