"""Copies of an instruction's constants and parameters in RAM: decrypted, loaded, or copied from program memory (AVR).

The parameters point to constants that follow the kernel's working memory. If the previous step ran the same
instruction, the copies are still there.
"""

from __future__ import annotations

from mote.compiler.emit.c.c import Compound, Statement, Template, assign, call, when
from mote.compiler.emit.c.encryption import plaintext
from mote.compiler.emit.c.model.steps.addresses import at, opened
from mote.compiler.emit.c.model.steps.step import OPENED, CStep
from mote.compiler.kernels.contract import Sealed, Structs
from mote.ir.graph.tensor import Array


def in_ram(step: CStep, body: list[Statement]) -> list[Statement]:
    """The statements of an instruction, after those that copy its constants or parameters to RAM, if any are copied."""
    i, apart = step.instruction, step.context.options.flash_apart
    if i.kernel is None:
        return body
    if i.kernel.loaded:
        return [Compound("/* With its constants, copied to RAM. */", [*_loaded(step), *body])]
    if i.kernel.sealed is not None and not apart:
        return [Compound("/* With its constants, decrypted. */", [*_decrypted(step, i.kernel.sealed), *body])]
    if apart and i.external is None:
        return [Compound("/* With its parameters, copied. */", [*_copied(step), *body])]
    return body


def _decrypted(step: CStep, sealed: Sealed) -> list[Statement]:
    context, i = step.context, step.instruction
    cipher = context.options.cipher
    assert i.scratch is not None and cipher is not None
    hint = step.hint("sealed")
    blob = context.constants.sealed(hint, cipher.encrypt(hint, plaintext(sealed)), i.reads)
    to = at(context, i.scratch, sealed.begin)
    decrypt = call(f"{context.options.name}_open", *context.handle, to, blob, sealed.nbytes)
    again = f"step == 0 || {context.order_name}[step - 1] != {step.number}"
    return [
        f"mote_{i.called.name}_t {OPENED} = {step.parameters}",
        *_pointers(step, sealed),
        decrypt if i.counter is None else when(again, decrypt),
    ]


def _loaded(step: CStep) -> list[Statement]:
    sealed = step.instruction.called.sealed
    assert step.instruction.scratch is not None and sealed is not None
    copies = list[Statement]()
    for name, value in sealed.arrays.items():
        array = _array(step, name, value, sealed.nbytes)
        copies.append(call("mote_copy_constants", opened(step, name), array, f"sizeof {array}"))
    return [
        f"mote_{step.instruction.called.name}_t {OPENED} = {step.parameters}",
        *copies,
        *_pointers(step, sealed),
    ]


def _copied(step: CStep) -> list[Statement]:
    """The statements that copy the parameters from program memory, and the constants that the kernel cannot read
    there."""
    context, i = step.context, step.instruction
    parameters: list[Statement] = [
        f"mote_{i.called.name}_t {OPENED}",
        call("mote_flash_copy", f"&{OPENED}", f"&{step.parameters}", f"sizeof {OPENED}"),
    ]
    sealed = i.called.sealed
    if sealed is None:
        return parameters
    assert i.scratch is not None
    copies = list[Statement]()
    for name, value in sealed.arrays.items():
        array = _array(step, name, value, i.reads)
        copies.append(call("mote_flash_copy", opened(step, name), array, f"sizeof {array}"))
    again = Template(f"step == 0 || {{}} != {step.number}", (context.scheduled("step - 1"),))
    return [*parameters, *_pointers(step, sealed), *(copies if i.counter is None else [when(again, *copies)])]


def _pointers(step: CStep, sealed: Sealed) -> list[Statement]:
    """The assignments that make the parameters point to the constants in RAM."""
    return [assign(f"{OPENED}.{name}", opened(step, name)) for name in sealed.paths]


def _array(step: CStep, name: str, value: Array | Structs, reads: int) -> str:
    """The name of the array in flash that a constant is copied from."""
    return step.context.constants.array(step.hint(name.replace(".", "_")), value, reads)
