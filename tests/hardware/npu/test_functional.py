"""The functional model of Ethos-U: whole models against LiteRT, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.compiler.offload.ethos_u.regions import exported, regions
from mote.compiler.passes.pipeline import optimize
from mote.frontends import load
from mote.hardware.npu.functional import execute
from mote.hardware.npu.stream import decode
from mote.hardware.targets.npu import NPU_CORES
from tests.hardware.npu.compiled import compiled
from tests.hardware.npu.judged import judged, vela
from tests.helpers.support import PUBLIC_MODELS

MODELS = Path(__file__).parents[3] / "models"


@pytest.mark.parametrize("core", NPU_CORES)
def test_a_model_on_every_core(core: str) -> None:
    """Convolutions, depthwise ones, the mean and softmax, with one weight stream or several."""
    assert judged((MODELS / "digits.tflite").read_bytes(), core).differing(3) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("core", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize(
    "name", ["kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8", "mcunet_vww1", "ad01_int8"]
)
def test_published_models(name: str, core: str) -> None:
    """Regions that an Ethos-U may compute; those with FULLY_CONNECTED are off by 1 at most, as Vela rounds twice."""
    path = PUBLIC_MODELS / f"{name}.tflite"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    graph, _ = optimize(load(path))
    parts = list(regions(graph, vela(core)))
    assert parts
    for part in parts:
        model = judged(exported(part, graph).data, core)
        rounds = any(o.kind == "FullyConnected" for o in model.model.operations.values())
        many, most = model.differing(2)
        assert most <= (1 if rounds else 0), (many, most)


def test_accesses_behind_the_end_of_memory_are_refused() -> None:
    """The areas that Vela asks for are enough; one that is shorter is refused, whichever it is."""
    part = compiled("digits", "ethos-u55-128")[0]
    stream = decode(part.payload)
    whole = [np.zeros(size, np.uint8) for size in part.sizes]
    whole[0][:] = np.frombuffer(part.weights, np.uint8)
    execute(stream, whole)
    for area in (0, 1):
        short = [values[: values.size - 600 * (number == area)].copy() for number, values in enumerate(whole)]
        with pytest.raises(MoteError, match="which has") as caught:
            execute(stream, short)
        assert "at byte" in caught.value.where
    with pytest.raises(MoteError, match="no memory behind base pointer"):
        execute(stream, whole[:1])
    whole[1].flags.writeable = False
    with pytest.raises(MoteError, match="read only"):
        execute(stream, whole)
