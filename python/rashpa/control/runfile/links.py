# SPDX-License-Identifier: Apache-2.0
"""The links, as they declare themselves in src/rashpa/link: schema/links.json, which the native module writes for `tools/make_kernels.py`.

A link's declaration names its keys of [link]; the run file's model has their types. So a new key is written there, and nothing here.
"""

import functools
import json
import operator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from rashpa.control.runfile import run_file
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.runfile.section import Section

DEVICE = "device"
"""The one parameter that emulators and receivers have each their own of."""


@cache
def link_keys() -> dict[str, tuple[str, ...]]:
    """Return the names of a link's parameters, by link."""
    declared = json.loads(schema_path("links.json").read_text(encoding="utf-8"))
    return {link["name"]: tuple(parameter["name"] for parameter in link["parameters"]) for link in declared}


def field_of(key: str) -> FieldInfo:
    """Return the run file's field behind a parameter of a link."""
    return run_file.Link.model_fields["receiver_device" if key == DEVICE else key]


def _model_of(link: str) -> type[Section]:
    fields: dict[str, Any] = {"kind": (Literal[link], ...)}
    fields |= {key: (field_of(key).annotation, field_of(key)) for key in link_keys()[link]}
    model: type[Section] = create_model(f"{link.capitalize()}Options", __base__=Section, __module__=__name__, **fields)
    model.__doc__ = f"The options of the link `{link}`."
    return model


MODELS: tuple[type[Section], ...] = tuple(_model_of(link) for link in link_keys())
"""The model of each link."""

if TYPE_CHECKING:

    class LinkOptions(Section):
        """A link; the other fields are the parameters that it declares."""

        kind: str

else:
    LinkOptions = Annotated[functools.reduce(operator.or_, MODELS), Field(discriminator="kind")]


def options_of(section: run_file.Link, link: str, device: str) -> LinkOptions:
    """Return the options of the link of one end."""
    model: Any = next(model for model, name in zip(MODELS, link_keys(), strict=True) if name == link)
    values = {key: device if key == DEVICE else getattr(section, key) for key in link_keys()[link]}
    options: LinkOptions = model(kind=link, **values)
    return options


def parameters_of(options: LinkOptions) -> dict[str, Any]:
    """Return the values of a link's parameters, by name."""
    values = options.model_dump(mode="json")
    del values["kind"]
    return values
