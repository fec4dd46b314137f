# SPDX-License-Identifier: Apache-2.0
"""Describes the links, as src/rashpa/link declares them, from schema/links.json, which the native module writes for `tools/make_kernels.py`.

A link's declaration is the only definition of its keys: the table [link.<kind>] of the run file, the options in telegrams and the page of keys are
made from it.
"""

import functools
import json
import operator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, create_model

from rashpa.control.runfile.parameters import Parameter, field_of, made_of
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.runfile.section import Section

ONE_WAY = ("sls", "stream2")
"""Links of detectors that one can buy: nothing goes back to the source, so that flow is paced, and both ends are of the kind."""

DEVICE = "device"
"""The one parameter that emulators and receivers have each their own of: a key of theirs, and none of [link.<kind>]."""


@cache
def _declared() -> dict[str, tuple[Parameter, ...]]:
    declared = json.loads(schema_path("links.json").read_text(encoding="utf-8"))
    return {link["name"]: tuple(made_of(Parameter, one) for one in link["parameters"]) for link in declared}


@cache
def link_keys() -> dict[str, tuple[str, ...]]:
    """Return the keys of [link.<kind>], by kind."""
    return {
        link: tuple(one.name for one in parameters if one.name != DEVICE) for link, parameters in _declared().items()
    }


def _fields_of(link: str) -> dict[str, Any]:
    return {parameter.name: field_of(parameter) for parameter in _declared()[link]}


def _table_of(link: str) -> type[Section]:
    fields = {name: field for name, field in _fields_of(link).items() if name != DEVICE}
    model: type[Section] = create_model(f"{link.capitalize()}Keys", __base__=Section, __module__=__name__, **fields)
    model.__doc__ = f"The keys of the link `{link}`, where an end of it has this kind."
    return model


def _options_of(link: str) -> type[Section]:
    fields: dict[str, Any] = {"kind": (Literal[link], ...), **_fields_of(link)}
    model: type[Section] = create_model(f"{link.capitalize()}Options", __base__=Section, __module__=__name__, **fields)
    model.__doc__ = f"The options of the link `{link}`."
    return model


TABLES: dict[str, type[Section]] = {link: _table_of(link) for link in _declared()}
"""The table [link.<kind>] of each kind."""

MODELS: tuple[type[Section], ...] = tuple(map(_options_of, _declared()))
"""The options of each kind, for telegrams."""

if TYPE_CHECKING:
    LinkName = str

    class LinkOptions(Section):
        """A link; the other fields are the parameters that it declares."""

        kind: str

else:
    LinkName = Literal[tuple(_declared())]
    LinkOptions = Annotated[functools.reduce(operator.or_, MODELS), Field(discriminator="kind")]


def options_of(keys: Section, link: str, device: str) -> LinkOptions:
    """Return the options of the link at one end. `keys`: the table [link.<kind>]; `device`: the device of the end's node."""
    model: Any = next(model for model, name in zip(MODELS, _declared(), strict=True) if name == link)
    own = {DEVICE: device} if DEVICE in model.model_fields else {}
    options: LinkOptions = model(kind=link, **keys.model_dump(), **own)
    return options


def default_options(link: str) -> LinkOptions:
    """Return the default options of a link."""
    return options_of(TABLES[link](), link, "")


def parameters_of(options: LinkOptions) -> dict[str, Any]:
    """Return the values of a link's parameters, by name."""
    values = options.model_dump(mode="json")
    del values["kind"]
    return values
