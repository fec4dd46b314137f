# SPDX-License-Identifier: Apache-2.0
"""Describes the kernels, as src/rashpa/kernel declares them, from schema/kernels.json, which the native module writes for `tools/make_kernels.py`.

The manager runs without compiled code, so that this file is its only source. The run file's models of kernels are made from it here.
"""

import dataclasses
import functools
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from rashpa.control.runfile.parameters import Parameter, field_of, made_of
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.runfile.section import Section

PIXEL_TYPES = ("uint8", "uint16", "uint32", "int16", "int32", "float32")
OUTSIDE = {
    "plugin": "a shared object that the receiver loads",
    "python": "a Python function that the receiver calls: for each image, slow, one thread; or for each stack on unit cuda",
}
"""Kernels that are not part of the program, and their kinds."""
_OUTSIDE_UNITS = {"plugin": ("cpu",), "python": ("cpu", "cuda")}
LARGEST = {"uint8": 2**8 - 2, "uint16": 2**16 - 2, "uint32": 2**32 - 2, "int16": 2**15 - 1, "int32": 2**31 - 1}
"""The largest count of a pixel; the maximum of an unsigned type means masked."""


@dataclass(frozen=True)
class Column:
    """Describes numbers that a kernel finds, one for each image."""

    name: str
    type: str
    unit: str = ""
    doc: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis of a profile."""

    name: str
    unit: str = ""
    doc: str = ""


@dataclass(frozen=True)
class Input:
    """Describes an array that a kernel needs, made from the files that its parameters name. `shape`: [height][width], or any number of values."""

    name: str
    type: str
    shape: Literal["image", "values"]
    needed: bool
    doc: str = ""


@dataclass(frozen=True)
class Port:
    """Describes an input or an output of a kernel."""

    port: Literal["pixels", "list", "scalars", "table", "profile", "verdict", "accumulation"]
    pixels: tuple[str, ...] = ()
    by: str = ""
    capacity: str = ""
    per: str = ""  # the columns are there once for each name in this parameter: "{}" in theirs
    columns: tuple[Column, ...] = ()
    reasons: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    axes: tuple[Axis, ...] = ()
    definition: str = ""


@dataclass(frozen=True)
class DeviceCost:
    """Describes memory on an accelerator, in bytes for each pixel of the kernel's input images: once, or for each image on the device. `unit`: the
    unit that needs it, empty for all except cpu. `when`: a parameter; the memory is needed when its value is not the default. `each`: count the bytes
    for each "ring" around the beam, or as many times as the named parameter says, in place of each pixel. `counted`: only when values are counted by
    ring. `by_set`: as many times as the calibration has sets of pedestals."""

    bytes: float
    of: Literal["run", "image"]
    unit: str = ""
    when: str = ""
    each: str = ""
    counted: bool = False
    by_set: bool = False


@dataclass(frozen=True)
class Declaration:
    """A kernel, as its folder declares it."""

    name: str
    purpose: str
    parameters: tuple[Parameter, ...]
    takes: Port
    makes: tuple[Port, ...]
    several: bool
    strips: bool  # may work on strips of images
    delivered: bool  # takes only the detector's own pixels
    calibration: bool
    inputs: tuple[Input, ...]
    units: tuple[str, ...]
    offers: tuple[str, ...]
    rides: tuple[str, ...]
    stack_bytes: float
    scratch_bytes: float
    device: tuple[DeviceCost, ...] = ()

    def made(self, port: str) -> Port | None:
        """Return the output port of that kind, None when the kernel has none."""
        return next((one for one in self.makes if one.port == port), None)


def parse_declarations(text: str) -> tuple[Declaration, ...]:
    """Parse the declarations of kernels that the native module writes."""
    return tuple(_declaration(values) for values in json.loads(text))


@cache
def declarations() -> dict[str, Declaration]:
    """Return the declarations by name, in the order of the registry."""
    text = schema_path("kernels.json").read_text(encoding="utf-8")
    return {one.name: one for one in parse_declarations(text)}


def declaration(name: str) -> Declaration:
    """Return the declaration of a kernel by its name."""
    return declarations().get(name) or _outside(name)


def declaration_of(kernel: "Kernel") -> Declaration:
    """Return the declaration of a kernel with its parameters inserted. A parameter can name the reason of a verdict, or sets of scalars, which then
    have columns of their own. A foreign kernel has the name of its code."""
    known = declaration(kernel.name)
    values = (
        parameters_of(kernel) if any(port.per or (port.port == "verdict" and port.by) for port in known.makes) else {}
    )
    makes = tuple(_port_with(port, values) for port in known.makes)
    return dataclasses.replace(known, name=label_of(kernel), makes=makes)


def _port_with(port: Port, values: dict[str, Any]) -> Port:
    if port.port == "verdict" and port.by:
        return dataclasses.replace(port, reasons=(values[port.by],))
    if not port.per:
        return port
    names = [part.partition("=")[0].strip() for part in str(values[port.per]).split(";") if part.strip()]
    columns = (
        dataclasses.replace(column, name=column.name.replace("{}", name)) for name in names for column in port.columns
    )
    return dataclasses.replace(port, columns=tuple(columns), per="")


def _outside(name: str) -> Declaration:
    """Return the declaration of a kernel that only the receiver loads: its output is unknown here."""
    pixels = Port("pixels", tuple(PIXEL_TYPES))
    return Declaration(
        name, OUTSIDE[name], (), pixels, (), False, False, False, False, (), _OUTSIDE_UNITS[name], (), (), 0.0, 0.0
    )


def _declaration(values: dict[str, Any]) -> Declaration:
    lists = {name: tuple(values[name]) for name in ("units", "offers", "rides")}
    return Declaration(
        **{
            **values,
            **lists,
            "parameters": tuple(made_of(Parameter, one) for one in values["parameters"]),
            "inputs": tuple(Input(**one) for one in values["inputs"]),
            "device": tuple(DeviceCost(**one) for one in values["device"]),
            "takes": _port(values["takes"]),
            "makes": tuple(_port(one) for one in values["makes"]),
        }
    )


def _port(values: dict[str, Any]) -> Port:
    columns = tuple(Column(**column) for column in values.get("columns", ()))
    axes = tuple(Axis(**axis) for axis in values.get("axes", ()))
    port: Port = made_of(Port, {**values, "columns": columns, "axes": axes})
    return port


NAME = r"^[a-z][a-z0-9_]{0,47}$"
FILE = r"^[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}$"
FUNCTION = r"^[A-Za-z_][A-Za-z0-9_]{0,63}:[A-Za-z_][A-Za-z0-9_]{0,63}$"


# ---- models of the run file ------------------------------------------------------------------------------------------------------


class KernelSection(Section):
    """A kernel of the run file; the other fields are the parameters that it declares."""

    name: str


def files_of(kernel: "Kernel") -> dict[str, str]:
    """Return the files that parameters of a kernel name, by parameter, without parameters that are not given."""
    return {
        parameter.name: name
        for parameter in declaration(kernel.name).parameters
        if parameter.file and (name := getattr(kernel, parameter.name))
    }


def model_of(kernel: Declaration) -> type[KernelSection]:
    """Return the run file's model of a kernel's table."""
    fields: dict[str, Any] = {"name": (Literal[kernel.name], ...)}
    fields |= {parameter.name: field_of(parameter) for parameter in kernel.parameters}
    title = "".join(part.capitalize() for part in kernel.name.split("_"))
    model: type[KernelSection] = create_model(title, __base__=KernelSection, __module__=__name__, **fields)
    model.__doc__ = f"Kernel `{kernel.name}`: {kernel.purpose}."
    return model


Values = dict[Annotated[str, Field(pattern=NAME)], bool | int | float | Annotated[str, Field(max_length=1000)]]


class PluginKernel(KernelSection):
    """Kernel `plugin`: a shared object in the folder of kernels that the receiver allows, see docs/how-to/add_a_kernel.md."""

    name: Literal["plugin"]
    file: str = Field(
        pattern=FILE,
        description="name of the shared object, without a folder; beside the run file, or in a running receiver's --kernels",
    )
    parameters: Values = Field(
        default={}, max_length=64, description="values of the parameters that the plugin declares"
    )
    check: bool = Field(
        default=True,
        description="the plugin gets a copy of each image, and an image that it changes is errored; false: it gets the one that is stored",
    )

    @property
    def code(self) -> str:
        """Return the file with its code."""
        return self.file


class PythonKernel(KernelSection):
    """Kernel `python`: a Python function in the folder of kernels that the receiver allows; slow, see docs/how-to/add_a_kernel.md."""

    name: Literal["python"]
    function: str = Field(
        pattern=FUNCTION,
        description="module:function; module.py lies beside the run file, or in a running receiver's --kernels",
    )
    parameters: Values = Field(default={}, max_length=64, description="keyword arguments of the function")

    @property
    def code(self) -> str:
        """Return the file with its code."""
        return f"{self.function.partition(':')[0]}.py"


MODELS: tuple[type[KernelSection], ...] = (*map(model_of, declarations().values()), PluginKernel, PythonKernel)
"""The model of each kernel: those of the registry in its order, then those from outside."""

if TYPE_CHECKING:
    Kernel = KernelSection
else:
    Kernel = Annotated[functools.reduce(operator.or_, MODELS), Field(discriminator="name")]


def parameters_of(kernel: Kernel) -> dict[str, Any]:
    """Return the values of a kernel's parameters, by name; None for a value that comes from elsewhere."""
    values = kernel.model_dump(mode="json")
    del values["name"]
    return values


def code_of(kernel: Kernel) -> str:
    """Return the file with the code of a foreign kernel, empty for others."""
    return kernel.code if isinstance(kernel, PluginKernel | PythonKernel) else ""


def first_looking(kernels: Sequence[Kernel]) -> int | None:
    """Return the position of the first kernel that reads pixels, None without one. A calibration does not count: it masks pixels itself, for all
    later kernels."""
    known = [declaration(kernel.name) for kernel in kernels]
    if any(one.calibration for one in known):
        return None
    looks = (at for at, one in enumerate(known) if one.takes.port == "pixels" and not one.delivered)
    return next(looks, None)


def live_keys(kernel: Kernel) -> tuple[str, ...]:
    """Return the parameters that may change during a run: limits of the kernel's verdict."""
    return tuple(parameter.name for parameter in declaration(kernel.name).parameters if parameter.live)


def step_of(kernel: Kernel) -> str:
    """Return the name of a kernel among the vetoes of a buffer: the reason that it gives if a parameter names one, otherwise its name."""
    verdict = declaration(kernel.name).made("verdict")
    return str(getattr(kernel, verdict.by)) if verdict is not None and verdict.by else label_of(kernel)


def label_of(kernel: Kernel) -> str:
    """Return the kernel's name for plans and messages: "csr", "plugin peaks.so", "python hits:spots"."""
    if isinstance(kernel, PluginKernel):
        return f"plugin {kernel.file}"
    if isinstance(kernel, PythonKernel):
        return f"python {kernel.function}"
    return kernel.name
