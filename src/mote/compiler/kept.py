"""`mote.compile`: the pipeline of `line.py`, or its earlier result for the same model and options from the disk cache.

The cache has all that a command needs of a compiled model: its graphs, the plan, the instructions and the C. So nothing
is read, optimized, planned or emitted again, and no module that does this is imported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mote.base.cache import MODELS
from mote.base.deferred import deferred
from mote.base.progress import Say, silent
from mote.compiler.compiled import Compiled
from mote.compiler.given import CompileOptions
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.json_codec import SerialError, dump, load
from mote.compiler.settings import Settings, chosen_settings, settings_and_examples
from mote.compiler.stages import CompilerStage, contents, session
from mote.compiler.subject import given_model
from mote.frontends import Format, Source

if TYPE_CHECKING:
    from mote.compiler import line
    from mote.compiler.fitting.fit import BuiltBudget
else:
    line = deferred("mote.compiler.line")

OUTSIDE = ("path", "model", "settings")
"""Fields of compiled models that the caller supplies, which hold paths and the model's file: not cached."""
PLACES = ("where", "data", "folder", "origin")
"""Fields of sources that hold paths or the model itself: not part of the key."""


def compile(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> Compiled:
    """Compiles a model: a file, its bytes, or an object (`mote.frontends.source_of`). Options are the fields of
    Settings, and may be written as for the command: `target` as a name or a file, `ram="24K"` or `"min"`, `flash="1M"`,
    `point="ram-9000"`, `kernels=["3=conv2d"]`, `shapes=["input=1,3,96,96"]`, `constants={"sr": 16000}`. For a PyTorch
    module, the second positional argument may be example inputs instead of settings. `say`: a callback for the progress
    of the planner. With a flash budget the code is built, to count it."""
    settings, example_inputs = settings_and_examples(settings, example_inputs)
    return compile_within(model, chosen_settings(settings, options), (), example_inputs, say)


def compile_within(
    model: Any,
    settings: Settings,
    budgets: Sequence[BuiltBudget[Compiled]],
    example_inputs: Any = None,
    say: Say = silent,
) -> Compiled:
    """Compiles a model within additional budgets, which `budgets` check on the built model."""
    source = given_model(model, settings, example_inputs)
    return session().read_or_made(_stage(source, settings), source, settings, budgets, say=say)


def _stage(source: Source, settings: Settings) -> CompilerStage[Compiled]:
    return CompilerStage(
        "compiled",
        _made,
        key=_key,
        writes=partial(_text, settings),
        reads=partial(_from_text, source, settings),
        part=MODELS,
    )


def _made(source: Source, settings: Settings, budgets: Sequence[BuiltBudget[Compiled]], say: Say) -> Compiled:
    return line.compile_source(source, settings, budgets, say=say)


def _key(source: Source, settings: Settings, budgets: Sequence[BuiltBudget[Compiled]]) -> str | None:
    """A digest of a model and its options; None if the result is not cached: for models that other packages than Mote
    read, for secrets, and for results that depend on a C compiler or an external generator."""
    foreign = source.format != Format.TFLITE or source.origin is not None or settings.encrypt or settings.external
    if foreign or budgets or settings.flash is not None or settings.place_code == "ram":
        return None
    model = {f.name: getattr(source, f.name) for f in fields(source) if f.name not in PLACES}
    options = {f.name: getattr(settings, f.name) for f in fields(settings)} | {
        "train_data": contents(settings.train_data)
    }
    with suppress(TypeError):
        text = dump((Path(source.where).name, sha256(source.data).hexdigest(), model, options))
        return sha256(text.encode()).hexdigest()
    return None


@dataclass(frozen=True)
class KeptModel:
    """The cached part of a compiled model."""

    compiled: Mapping[str, Any]
    """Its fields, without those that the caller supplies."""
    settings: Mapping[str, Any]
    """Settings that the compilation has chosen."""


def _text(settings: Settings, made: Compiled) -> str | None:
    """Serializes a compiled model; None if it holds more than data."""
    chosen = {f.name: getattr(made.settings, f.name) for f in fields(settings)}
    changed = {name: value for name, value in chosen.items() if value is not getattr(settings, name)}
    compiled = {f.name: getattr(made, f.name) for f in fields(made) if f.name not in OUTSIDE}
    with suppress(TypeError):
        return dump(KeptModel(compiled, changed))
    return None


def _from_text(source: Source, settings: Settings, text: str) -> Compiled:
    """Deserializes a compiled model, and checks its plan like one of the planner."""
    kept = load(text)
    if not isinstance(kept, KeptModel):
        raise SerialError(f"{type(kept).__name__} is no compiled model")
    try:
        own = replace(settings, **kept.settings)
        made = Compiled(**kept.compiled, path=source.where, model=source, settings=own)
        check(made.plan)
    except (PlanError, AssertionError, AttributeError, TypeError) as error:
        raise SerialError(str(error)) from error
    return made
