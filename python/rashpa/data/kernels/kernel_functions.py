# SPDX-License-Identifier: Apache-2.0
"""Makes functions on arrays of images from the declarations of kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashpa.data.base.pixels import masking_of
from rashpa.data.kernels.pipeline import CalibrationMaps, Found, Pipeline, kernel_declarations

_TYPES = {"flag": "bool", "integer": "int", "number": "float", "text": "str"}
RUN = ("unit", "threads", "stack", "masked")
"""Arguments that say how a function is carried out; no parameters of kernels."""


def kernel_names() -> tuple[str, ...]:
    """Return the names of kernels that process pixels, in the order of the registry. Rules on columns are left out, because they need other kernels
    before them."""
    return tuple(name for name, one in kernel_declarations().items() if one["takes"]["port"] == "pixels")


def needed(parameter: dict[str, Any]) -> bool:
    """Return True when the parameter has no default."""
    return parameter.get("default") is None


def type_of(parameter: dict[str, Any]) -> str:
    """Return the type of a parameter as the text of an annotation."""
    if parameter["kind"] == "choice":
        return f"Literal[{', '.join(map(repr, parameter['choices']))}]"
    return _TYPES[parameter["kind"]]


def function_of(name: str) -> Callable[..., Found]:
    """Return the function of a kernel, with its signature and documentation."""
    declared = kernel_declarations()[name]

    def function(images: NDArray[Any], *maps: CalibrationMaps, **values: Any) -> Found:
        bound = function.__signature__.bind(images, *maps, **values)  # type: ignore[attr-defined]  # a signature of its own
        given = dict(bound.arguments)
        images = np.asanyarray(given.pop("images"))
        run = {key: given.pop(key) for key in RUN if key in given}
        if run.get("masked") is None:
            run["masked"] = masking_of(images)
        calibration = given.pop("calibration", None)
        # as a list, so that a parameter's name cannot collide with an argument of the pipeline
        pipeline = Pipeline([{"name": name, **given}], images.shape[-2:], images.dtype, calibration=calibration, **run)
        return pipeline(images)

    function.__signature__ = _signature(declared)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__module__ = "rashpa.kernel"
    function.__doc__ = doc_of(declared)
    return function


def doc_of(declared: dict[str, Any]) -> str:
    """Return the documentation of a kernel: purpose, ports and parameters."""
    purpose: str = declared["purpose"]
    lines = [f"{purpose[:1].upper()}{purpose[1:]}.", ""]
    lines.append(f"Takes pixels of {', '.join(declared['takes']['pixels'])}.")
    lines += [text for one in declared["makes"] if (text := _port_text(one))]
    documented = [one for one in declared["parameters"] if one["doc"]]
    lines += [f"{one['name']}: {one['doc']}." for one in documented]
    return "\n".join(lines)


def _port_text(port: dict[str, Any]) -> str:
    if port["port"] == "pixels":
        return f"Makes pixels of {' or '.join(port['pixels'])}."
    if port["port"] in ("scalars", "table"):
        names = ", ".join(
            column["name"] + (f" ({column['unit']})" if column["unit"] else "") for column in port["columns"]
        )
        names = names.replace("{}", "<name>")
        return (
            f"Finds {'rows of ' if port['port'] == 'table' else ''}{names}{', for each name' if 'per' in port else ''}."
        )
    if port["port"] == "profile":
        arrays = ", ".join(column["name"] for column in port["columns"])
        return f"Makes a profile of {arrays} along {' and '.join(axis['name'] for axis in port['axes'])}."
    if port["port"] == "accumulation":
        return f"Accumulates {', '.join(column['name'] for column in port['columns'])} of many images."
    if port["port"] == "verdict":
        return f"Vetoes: {', '.join(port['reasons'])}."
    return "Makes lists of pixels." if port["port"] == "list" else ""


def _signature(declared: dict[str, Any]) -> inspect.Signature:
    kind = inspect.Parameter
    arguments = [kind("images", kind.POSITIONAL_OR_KEYWORD, annotation="NDArray[Any]")]
    if declared["calibration"]:
        arguments.append(kind("calibration", kind.POSITIONAL_OR_KEYWORD, annotation="CalibrationMaps"))
    for one in declared["parameters"]:
        default = kind.empty if needed(one) else one["default"]
        arguments.append(kind(one["name"], kind.KEYWORD_ONLY, default=default, annotation=type_of(one)))
    run = (
        ("unit", "cpu", "str"),
        ("threads", 0, "int"),
        ("stack", 16, "int"),
        ("masked", None, "str | Masking | None"),
    )
    for name, default, annotation in run:
        arguments.append(kind(name, kind.KEYWORD_ONLY, default=default, annotation=annotation))
    return inspect.Signature(arguments, return_annotation="Found")


def stub_text() -> str:
    """Return the text of python/rashpa/kernel.pyi."""
    lines = [
        "# SPDX-License-Identifier: Apache-2.0",
        '"""Every kernel as a function on arrays of images; written by tools/make_kernels.py."""',
        "",
        "from typing import Any, Literal",
        "",
        "from numpy.typing import NDArray",
        "",
        "from rashpa.data.base.pixels import Masking",
        "from rashpa.data.kernels.pipeline import CalibrationMaps, Found",
        "",
    ]
    for name in kernel_names():
        declared = kernel_declarations()[name]
        arguments = list(_signature(declared).parameters.values())
        lines.append(f"def {name}(")
        star = False
        for one in arguments:
            if one.kind is inspect.Parameter.KEYWORD_ONLY and not star:
                lines.append("    *,")
                star = True
            default = "" if one.default is inspect.Parameter.empty else f" = {_literal(one.default)}"
            lines.append(f"    {one.name}: {one.annotation}{default},")
        doc = doc_of(declared).replace("\\", "\\\\").split("\n")
        lines += [
            ") -> Found:",
            f'    """{doc[0]}',
            *(f"    {text}" if text else "" for text in doc[1:]),
            '    """',
            "",
        ]
    return "\n".join(lines).replace("'", '"')


def _literal(value: Any) -> str:
    return repr(value)
