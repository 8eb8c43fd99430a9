"""PyTorch modules as files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from mote.base.errors import MoteError
from mote.base.extras import quiet, require

GIVE_INPUTS = "give example inputs: mote.compile(module, example_inputs=(torch.zeros(1, 3, 96, 96),))"
GIVE_MODULE = "give the module itself, with its weights loaded: module.load_state_dict(...)"


def exported(module: Any, example_inputs: object = None) -> Any:
    """The exported program of a module, in evaluation mode; an exported program is returned as it is."""
    torch = require("torch", extra="torch", what="PyTorch models")
    if isinstance(module, torch.export.ExportedProgram):
        return module
    _check_module(torch, module)
    args, kwargs = _inputs(torch, example_inputs)
    modes = [(part, part.training) for part in module.modules()]
    try:
        if not isinstance(module, torch.fx.GraphModule):
            module.eval()
        with quiet(), torch.no_grad():
            return torch.export.export(module, args, kwargs)
    except Exception as error:  # whatever the module itself raises
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise MoteError(
            f"torch.export does not export it: {lines[0] if lines else type(error).__name__}",
            where=type(module).__name__,
            remedy="make forward() a function of its tensors alone, and see that module(*example_inputs) runs",
        ) from error
    finally:
        for part, training in modes:
            part.training = training


def saved(program: Any) -> bytes:
    """The `.pt2` file of an exported program."""
    torch = require("torch", extra="torch", what="PyTorch models")
    buffer = BytesIO()
    try:
        with quiet():
            torch.export.save(program, buffer)
    except Exception as error:  # whatever the serializer has no form for
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise MoteError(
            f"torch.export does not save it: {lines[-1] if lines else type(error).__name__}",
            remedy="give branches and loops tensors, not numbers: torch.tensor(0)",
        ) from error
    return buffer.getvalue()


def exported_bytes(module: Any, example_inputs: object = None) -> bytes:
    """The `.pt2` file of a module, or of an exported program."""
    return saved(exported(module, example_inputs))


def _check_module(torch: Any, module: object) -> None:
    """Refuse objects that are not modules, with a remedy."""
    if isinstance(module, torch.jit.ScriptModule | torch.jit.ScriptFunction):
        raise MoteError(
            "this is TorchScript, which PyTorch cannot export any more",
            remedy="give the module that it was scripted from",
        )
    refuse_weights(module)
    if any("observer" in name.lower() or "fake_quant" in name.lower() for name in _children(torch, module)):
        raise MoteError(
            "the module is prepared for quantization, but not converted", remedy="convert it: convert_pt2e(module)"
        )
    if not isinstance(module, torch.nn.Module):
        raise MoteError(f"a {type(module).__name__} is not a PyTorch module", remedy="give a torch.nn.Module")


def _children(torch: Any, module: object) -> list[str]:
    """The submodules of a graph module: observers remain where a module was prepared, but not converted."""
    whole = isinstance(module, torch.fx.GraphModule)
    return [type(part).__name__ for part in module.children()] if whole else []  # type: ignore[attr-defined]


def refuse_weights(value: object) -> None:
    """Refuse a state dict, with a remedy."""
    if _is_tensor(value) or (isinstance(value, Mapping) and value and all(map(_is_tensor, value.values()))):
        raise MoteError("these are the weights of a module, without its program", remedy=GIVE_MODULE)


def _is_tensor(value: object) -> bool:
    return any(c.__module__.partition(".")[0] == "torch" and c.__name__ == "Tensor" for c in type(value).__mro__)


def _inputs(torch: Any, given: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Inputs by position or by name: a tensor, a sequence of them, or a mapping."""
    if given is None:
        raise MoteError("a module does not define its inputs", remedy=GIVE_INPUTS)
    if isinstance(given, Mapping):
        return (), {name: _tensor(torch, x) for name, x in given.items()}
    if isinstance(given, torch.Tensor) or not isinstance(given, Sequence):
        return (_tensor(torch, given),), {}
    return tuple(_tensor(torch, x) for x in given), {}


def _tensor(torch: Any, value: Any) -> Any:
    """NumPy arrays become tensors; everything else is passed to the module."""
    return torch.from_numpy(value.copy()) if type(value).__module__ == "numpy" and hasattr(value, "shape") else value
