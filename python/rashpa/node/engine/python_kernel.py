# SPDX-License-Identifier: Apache-2.0
"""Loads kernels that are Python functions from the folder that the node allows, checks them, and makes them callable for the native unit.

A thread of the unit calls the function. It takes the interpreter's lock for each image and waits for the result, which is slow; the documentation
says so.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rashpa.data.kernels.kernel import ATTRIBUTE, PythonKernel
from rashpa.data.kernels.python_call import PythonCall, PythonKernelError, declared_of, place_of
from rashpa.node.engine.device_kernel import DeviceFunction
from rashpa.node.engine.engine import EngineError
from rashpa.node.host.here import staying_here
from rashpa.node.host.printed import PrintsAs


def load_python_kernel(file: Path, function: str, parameters: Mapping[str, Any]) -> "LoadedKernel":
    """Load the function of that name from the file. Raise EngineError that names the fault: the code was written by the user who started the run."""
    what = f"python {file.stem}:{function}"
    module = _import(file, what)
    found = getattr(module, function, None)
    if not callable(found):
        kernels = [
            name for name, one in vars(module).items() if isinstance(getattr(one, ATTRIBUTE, None), PythonKernel)
        ]
        advice = f"choose {' or '.join(kernels)}" if kernels else "define it there, with @kernel(…) before it"
        raise EngineError("config", f"{what}: {file.name} has no function {function}; {advice}")
    try:
        declared, values = declared_of(what, found, parameters)
    except PythonKernelError as error:
        raise EngineError("config", str(error)) from None
    return LoadedKernel(what, function, declared, found, values)


class LoadedKernel(PythonCall):
    """Holds a function with its parameters; one thread at a time calls it. Lines that it prints go to the log under its name."""

    def __init__(
        self,
        origin: str,
        name: str,
        declared: PythonKernel,
        function: Callable[..., Any],
        parameters: Mapping[str, Any],
    ) -> None:
        super().__init__(origin, name, declared, function, parameters, PrintsAs(origin))

    def on_device(self) -> DeviceFunction:
        """Return the same function for whole stacks on a device."""
        return DeviceFunction(self.declared, self._function, self._parameters, PrintsAs(self.origin))


def _import(file: Path, what: str) -> ModuleType:
    name = f"rashpa_kernel_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise EngineError("file", f"{what}: {file.name} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for it there
    try:
        with PrintsAs(what), staying_here():
            # its text, not what an earlier run may have left compiled
            exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)  # noqa: S102  the node allows this folder
    except (Exception, SystemExit) as error:  # noqa: BLE001  code of others: whatever it raises is its fault
        del sys.modules[name]
        raise EngineError(
            "config", f"{what}: cannot be imported: {type(error).__name__}: {_line(error)} ({place_of(error)})"
        ) from None
    return module


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:300]
