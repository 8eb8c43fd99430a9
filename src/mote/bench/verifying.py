"""`mote.verify`, for a compiled model, an image, or a model to be compiled."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mote.base.deferred import deferred
from mote.base.errors import MoteError, explaining
from mote.base.progress import Say, silent
from mote.bench.evaluation import verify as verifier
from mote.bench.evaluation.verify import VerifyResult
from mote.bench.measure.runner import check_tools
from mote.compiler import kept
from mote.compiler.compiled import Compiled
from mote.compiler.emit.image.detection import is_image
from mote.compiler.given import CompileOptions
from mote.compiler.settings import Settings, check_names, chosen_settings

if TYPE_CHECKING:
    from mote.bench.evaluation import images
    from mote.deploy.boards import placing
else:
    images = deferred("mote.bench.evaluation.images")
    placing = deferred("mote.deploy.boards.placing")

STILL = ("target", "optimize", "aligned")
"""Settings that apply to an already planned model."""


def subject(
    model: Any,
    settings: Settings | None = None,
    *,
    runtime: str | Path | None = None,
    example_inputs: Any = None,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    **options: Unpack[CompileOptions],
) -> Compiled | images.LoadedImage:
    """The subject of a measurement: a compiled model or image as it is, a `.mote` file loaded, or any other model
    compiled with the options (by default for the board's target). Checks first that the tools to run it are
    installed."""
    if isinstance(model, Compiled) or _is_loaded(model):
        check_names(options)
        unused = [*options, *(name for name, given in (("settings", settings), ("runtime", runtime)) if given)]
        if unused:
            raise MoteError(
                "was decided when the model was compiled or loaded",
                where=f"option {unused[0]}",
                remedy="give it to `mote.compile` or `mote.load_image`, or give the file",
            )
        made: Compiled | images.LoadedImage = model
        return made
    chosen = chosen_settings(settings, options) if board is None else placing.board_settings(settings, options, board)
    if isinstance(model, str | Path) and is_image(model):
        _check_planned(chosen)
        return images.load_image(model, chosen, runtime=runtime)
    if runtime:
        raise MoteError("is for images", where="option runtime", remedy="make one with `mote pack --runtime DIR`")
    check_tools(chosen.target, compiler, emulator, board)
    return kept.compile(model, chosen, example_inputs=example_inputs)


def _is_loaded(model: Any) -> bool:
    """Whether it is an image that was loaded; files and bytes are none."""
    return not isinstance(model, str | Path | bytes) and isinstance(model, images.LoadedImage)


def _check_planned(given: Settings) -> None:
    """Raises an error for settings that cannot change an already planned image."""
    usual = Settings(given.target)
    for f in fields(Settings):
        if f.name not in STILL and getattr(given, f.name) != getattr(usual, f.name):
            raise MoteError(
                "cannot be chosen any more: an image is planned already",
                where=f"option {f.name}",
                remedy="omit it, or give the model file",
            )


@explaining()
def verify(
    model: Any,
    inputs: int | None = None,
    *,
    settings: Settings | None = None,
    data: Any = None,
    source: Any = None,
    seed: int = 0,
    compiler: str | None = None,
    emulator: str | None = None,
    board: str | None = None,
    sanitize: bool = False,
    runtime: str | Path | None = None,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> VerifyResult:
    """Compare every tensor that the generated code computes with the reference: integers bit for bit, floats within
    rounding.

    `model` is a result of `mote.compile` or `mote.load_image`, or a model file, which is compiled with the options of
    `mote.compile`. Inputs are 8 random, extreme and structured ones (`inputs`, `seed`), or samples of `data`. The
    reference is LiteRT or the runtime of the model's format; if that is not installed, Mote's NumPy implementation; the
    result names it. `source` is the model that an image was packed from, if not next to it. `sanitize` builds for the
    host with address and undefined behaviour sanitizers. From a `board` (see `mote.run`) every tensor is read step by
    step. `say` is a progress callback."""
    tools = {"compiler": compiler, "emulator": emulator, "board": board}
    given = subject(model, settings, runtime=runtime, example_inputs=example_inputs, **tools, **options)
    if not isinstance(given, Compiled):
        return images.verify_image(
            given, inputs, data=data, source=source, seed=seed, **tools, sanitize=sanitize, say=say
        )
    if source is not None:
        raise MoteError("is for images", where="option source", remedy="make one with `mote pack`")
    return verifier.verify(given, inputs, data=data, seed=seed, **tools, sanitize=sanitize, say=say)
