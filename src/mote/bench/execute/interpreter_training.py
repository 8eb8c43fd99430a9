"""On-device training of an image, run on this computer with the functions of `mote_train.h`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from mote.base.errors import MoteError
from mote.bench.execute.host_runtime import RuntimeStatus
from mote.compiler.emit.image.format import TrainingRole
from mote.compiler.emit.image.reader import ImageContents
from mote.ir.graph.tensor import Array

BytesLike: TypeAlias = bytes | bytearray | memoryview

LOWER = "take what was learned before, by import_weights or reset_all_variables, and a lower learning rate"
"""Remedy in the error message for learned parameters that are not finite."""


class InterpreterTraining:
    """Training sessions of a model in an interpreter; integer training is bit-exact with devices."""

    def __init__(
        self,
        c: ctypes.CDLL,
        loaded: Callable[[], Any],
        image: ImageContents,
        where: str,
        invoke: Callable[[], None],
        turned: bool,
    ) -> None:
        """Training of `loaded`, an interpreter of the runtime `c` that has loaded the image; `invoke` runs an inference
        with it. `turned`: the first output is channels-last in the image but not in the model."""
        self._c, self._where, self._invoke, self._turned = c, where, invoke, turned
        self._loaded, self._own = loaded, loaded()
        self._states: Mapping[int, Mapping[str, int]] = {
            state["role"]: state for state in image.initial if "role" in state
        }
        self._shape = image.outputs[0].shape
        if TrainingRole.LEARNED not in self._states:
            remedy = "pack the model with training: --train, or the option train"
            raise MoteError("the image does not learn", where=where, remedy=remedy)

    def begin(self, rate: float) -> None:
        """Begins a session with a learning rate (ignored by models without one): optimizer state is reset, learned
        parameters stay."""
        wrong = f"the learning rate {rate} is no number above 0, or too large"
        remedy = "give a number such as 0.01"
        try:
            status = self._c.mote_train_begin(self._it, ctypes.c_float(rate))
        except (TypeError, ValueError, OverflowError):
            raise self._wrong(wrong, remedy) from None
        self._check(status, wrong, remedy)

    def learn(self, right: ArrayLike) -> None:
        """Learns the sample in the inputs: runs an inference, whose outputs are those before learning, and a training
        step. `right` is the class, or the classes of positions (-1: unknown); for a model with targets the expected
        first output, quantized if training is int8. If the inference fails, later ones do not learn the sample."""
        try:
            given = np.asarray(right)
        except (TypeError, ValueError, RuntimeError) as error:
            remedy = "give an array, or lists whose rows have one length"
            raise self._wrong(f"NumPy makes no array of what is right: {error}", remedy) from None
        targets = TrainingRole.TARGET in self._states
        told = self._target(given) if targets else self._labels(given)
        tell, count = (self._c.mote_set_target, told.nbytes) if targets else (self._c.mote_set_labels, told.size)
        self._check(tell(self._it, told.ctypes.data, count))
        try:
            self._invoke()
        except BaseException:
            self._c.mote_forget_roles(self._it, 1 << TrainingRole.LABEL)
            raise

    def end(self) -> None:
        """Ends a session; raises an error if learned parameters are not finite, without changing them."""
        self._check(self._c.mote_train_end(self._it), "what was learned is infinite or no number", LOWER)

    @property
    def loss(self) -> float | None:
        """Loss of the last sample before it was learned; None for models without a loss."""
        return float(self._c.mote_loss(self._it)) if TrainingRole.LOSS in self._states else None

    @property
    def learned_samples(self) -> int | None:
        """Number of learned samples of the last one's class, 0 if it could not be learned; None for models that do not
        count."""
        return int(self._c.mote_learned_samples(self._it)) if TrainingRole.COUNT in self._states else None

    def export_weights(self, key: BytesLike) -> bytes:
        """Learned parameters as a record that devices can store, with a MAC by the device's key."""
        key = self._raw(key, "key")
        record = ctypes.create_string_buffer(self._c.mote_weights_bytes(self._it))
        status = self._c.mote_host_export(self._it, record, len(record), key, len(key))
        self._check(status, "what was learned is infinite or no number, which is not saved", LOWER)
        return record.raw

    def import_weights(self, record: BytesLike, key: BytesLike) -> None:
        """Restores learned parameters from a record of the same image and key."""
        record, key = self._raw(record, "record"), self._raw(key, "key")
        status = self._c.mote_host_import(self._it, record, len(record), key, len(key))
        wrong = "the record is damaged, of another image, or was made with another key"
        self._check(status, wrong, "give a record that export_weights made of this image with this key")

    @property
    def _it(self) -> Any:
        """The runtime interpreter; raises an error if its memory is gone because the model was recompiled."""
        if self._loaded() is not self._own:
            remedy = "take the property training of the interpreter again"
            raise self._wrong("the model was compiled for another shape, and has learned nothing yet", remedy)
        return self._own

    def _raw(self, given: BytesLike, name: str) -> bytes:
        try:
            return bytes(memoryview(given))
        except (TypeError, ValueError, BufferError):
            raise self._wrong(f"the {name} is {type(given).__name__}, no bytes", "give bytes or a bytearray") from None

    def _labels(self, given: Array) -> Array:
        label = self._states[TrainingRole.LABEL]
        count, most = label["bytes"] // 4, label["high"]
        if given.dtype.kind not in "iu" or given.size != count:
            wanted = "one class" if count == 1 else f"the classes of {count} positions"
            remedy = "give a whole number" if count == 1 else f"give {count} whole numbers"
            raise self._wrong(f"the label is {_shown(given)}, the model learns from {wanted}", remedy)
        remedy = f"give numbers from 0 to {most}" + (", and -1 where a class is not known" if count > 1 else "")
        wrong = given[(given < (-1 if count > 1 else 0)) | (given > most)]
        if wrong.size:
            raise self._wrong(f"label {wrong.flat[0]} is no class", remedy)
        if given.max() < 0:
            raise self._wrong("no position has a class", f"give that of one or more, from 0 to {most}")
        return np.ascontiguousarray(given, np.int32)

    def _target(self, given: Array) -> Array:
        real = self._states[TrainingRole.TARGET]["bytes"] == 4 * int(np.prod(self._shape))
        target = np.zeros(self._shape, np.float32 if real else np.int8)
        wanted = np.moveaxis(target, -1, 1) if self._turned else target
        fits = given.dtype.kind == "f" if real else given.dtype == wanted.dtype
        if not fits or given.shape != wanted.shape:
            form = "floats" if real else "int8, quantized as the model's int8 output is"
            remedy = f"give the first output as it should be, in its shape and in {form}"
            raise self._wrong(f"the target is {_shown(given)}, the model learns from {_shown(wanted)}", remedy)
        wanted[...] = given
        return target

    def _check(self, status: int, bad: str = "", remedy: str = "") -> None:
        """Raises an error for a status code other than success; explains BAD_STATE."""
        if status == RuntimeStatus.BAD_STATE and bad:
            raise self._wrong(bad, remedy)
        if status == RuntimeStatus.BUSY:
            raise self._wrong("an inference has begun", "end it before, by step() or push_rows()")
        if status != RuntimeStatus.OK:
            raise MoteError(self._c.mote_status_text(status).decode(), where=self._where)

    def _wrong(self, reason: str, remedy: str) -> MoteError:
        return MoteError(reason, where=self._where, remedy=remedy)


def _shown(given: Array) -> str:
    return f"{given.dtype} {'x'.join(map(str, given.shape)) or 'scalar'}"
