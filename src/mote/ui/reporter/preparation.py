"""How the page of a report makes inputs of pictures and sounds: by the steps that the data declares, as Python does."""

from __future__ import annotations

from typing import Any

import numpy as np

from mote.frontends.data.dataset import Dataset
from mote.frontends.data.readers.pictures import FORMATS
from mote.frontends.features.images import IMAGE_STEPS
from mote.frontends.features.pipeline import Preprocessing, PreprocessingStep, Takes, preprocessing
from mote.frontends.features.steps import STEPS
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.io_order import model_shape
from mote.ir.ops.indexing.index_bounds import input_bounds

SOUND_STEPS = {"mono", "peak", "length", "pre-emphasis", "log-mel", "mfcc"}
PICTURE_STEPS = {"camera", "gray", "resize", "crop", "channels-first"}
"""Steps by which sounds and pictures are recognised."""
LEAST_SIDE, LONGEST_SIDES = 8, 2
"""An input without known preprocessing is a picture where it is at least so high and wide, and neither side is more
than so many times the other: features of a sound are longer."""
COLOURS = (1, 3)


def preparation(graph: Graph, tensor: Tensor, data: Dataset | None) -> dict[str, Any]:
    """The kind of an input (picture, sound, features), the steps that make it, and which of them no data declares but
    the page assumes, so that it can take any picture."""
    declared = data.preprocessing if data is not None else Preprocessing()
    names = {_name(step) for step in declared.steps}
    given: dict[str, Any] = {
        "kind": "features",
        "text": str(declared),
        "assumed": "",
        "steps": [],
        "unknown": "",
        "picture": None,
    }
    sounds = bool(names & SOUND_STEPS) or (
        data is not None and (data.stream is not None or _are_files(data, (".wav",)))
    )
    compiled = sounds and declared.compiled
    if unknown := next((step.text for step in declared.steps if not compiled and not _in_page(step)), ""):
        return {**given, "unknown": unknown}
    if sounds:
        return {**given, "kind": "sound", "steps": step_records(declared), "rate": declared.rate}
    files = data is not None and _are_files(data, tuple(FORMATS))
    picture = _picture(tensor, bool(names & PICTURE_STEPS) or files)
    if picture is None:
        return given
    before = _size_and_colours(picture, names)
    after = "" if declared.steps or files else _scale_and_order(graph, tensor, picture, data)
    steps = step_records(preprocessing(_joined(before, str(declared), after)))
    light = data is not None and _is_light(data)
    return {**given, "kind": "picture", "picture": list(picture), "assumed": _joined(before, after), "steps": steps} | {
        "draw": picture[2] == 1,
        "paper": "light" if light else "dark",
    }


def value_range(graph: Graph, tensor: Tensor) -> tuple[float, float]:
    """The least and the largest real value that an input can have; 0 to 1 where nothing says it."""
    if tensor.id in (bounds := input_bounds(graph)):
        return bounds[tensor.id]
    known = tensor if tensor.quant is not None and tensor.dtype.integer else graph.quantized_as(tensor.id)
    if known is not None and known.quant is not None and not known.quant.per_channel:
        low, high = (known.scale * (limit - known.zero_point) for limit in known.dtype.limits)
        return low, high
    return tensor.dtype.limits if tensor.dtype.integer else (0.0, 1.0)


def _joined(*texts: str) -> str:
    return ",".join(filter(None, texts))


def _are_files(data: Dataset, ends: tuple[str, ...]) -> bool:
    return bool(data.names) and data.names[0].lower().endswith(ends)


def _name(step: PreprocessingStep) -> str:
    """The name of a step; empty for a function of the user's."""
    return next((name for name, function in STEPS.items() if function is step.function), "")


def _in_page(step: PreprocessingStep) -> bool:
    """Whether the page computes it: no function of the user's, and no operators but those of images. Those of sounds
    are compiled."""
    return bool(_name(step)) and (step.takes is not Takes.SIGNAL or step.function in IMAGE_STEPS)


def step_records(declared: Preprocessing) -> list[dict[str, Any]]:
    """Steps with all of their parameters by name."""
    return [{"name": _name(step), **step.parameters} for step in declared.steps]


def _picture(tensor: Tensor, known: bool) -> tuple[int, int, int] | None:
    """Height, width and channels of an input that is a picture; None where it does not look like one."""
    sizes = model_shape(tensor)
    sizes = sizes[1:] if len(sizes) == 4 and sizes[0] == 1 else sizes
    sizes = (*sizes, 1) if len(sizes) == 2 else sizes
    if len(sizes) != 3:
        return None
    height, width, channels = sizes if sizes[2] in COLOURS else (*sizes[1:], sizes[0])
    small, large = sorted((height, width))
    is_one = channels in COLOURS and (known or (small >= LEAST_SIDE and large <= LONGEST_SIDES * small))
    return (height, width, channels) if is_one else None


def _size_and_colours(picture: tuple[int, int, int], names: set[str]) -> str:
    """Steps before the declared ones, which do nothing to a picture that is as they want it."""
    if "camera" in names:
        return ""
    height, width, channels = picture
    colours = "gray" if channels == 1 and "gray" not in names else ""
    return _joined(colours, "" if names & {"resize", "crop"} else f"resize={width}x{height}")


def _scale_and_order(graph: Graph, tensor: Tensor, picture: tuple[int, int, int], data: Dataset | None) -> str:
    """Steps from values of 0 to 255 to those of an input: as the model's file says, to the range of the samples, or to
    that of the input."""
    first = "channels-first" if picture[2] > 1 and model_shape(tensor)[-1] != picture[2] else ""
    if tensor.normalization:
        mean, std = ("(" + ",".join(f"{x:.9g}" for x in each) + ")" for each in zip(*tensor.normalization, strict=True))
        return _joined(f"mean{mean}", f"std{std}", first)
    low, high = value_range(graph, tensor)
    if data is not None and len(data.inputs) == 1:
        (values,) = data.inputs.values()
        if values.dtype.kind == "f" and values.max() > values.min():
            low, high = float(values.min()), float(values.max())
    return _joined(
        f"scale={high - low:.7g}/255" if abs(high - low - 255) > 1e-3 else "",
        f"offset={low:.7g}" if abs(low) > 1e-6 else "",
        first,
    )


def _is_light(data: Dataset) -> bool:
    """Whether samples are mostly lighter than the middle of their range: dark ink on light paper."""
    values = next(iter(data.inputs.values()))
    return float(np.mean(values)) > (float(values.min()) + float(values.max())) / 2
