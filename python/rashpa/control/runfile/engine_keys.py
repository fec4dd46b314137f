# SPDX-License-Identifier: Apache-2.0
"""Keys of sections that are an engine's alone, as src/rashpa/emulator/section_keys.hpp declares them: schema/sections.json, which the native module writes for
`tools/make_kernels.py`.

The declaration is the only place of such a key. The model of its section has it as a base; telegrams, their schema and the native call follow.
"""

import json
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import create_model

from rashpa.control.runfile.parameters import Parameter, field_of, made_of
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.runfile.section import Section


@cache
def _declared() -> dict[str, tuple[Parameter, ...]]:
    declared = json.loads(schema_path("sections.json").read_text(encoding="utf-8"))
    return {section: tuple(made_of(Parameter, one) for one in keys) for section, keys in declared.items()}


def _model_of(section: str) -> type[Section]:
    fields: dict[str, Any] = {parameter.name: field_of(parameter) for parameter in _declared()[section]}
    name = f"{section.capitalize()}Keys"
    model: type[Section] = create_model(name, __base__=Section, __module__=__name__, **fields)
    model.__doc__ = f"The keys of [{section}] that are the engine's."
    return model


if TYPE_CHECKING:

    class EngineKeys(Section):
        """Keys of a section; their names are declared in C++."""

        def __init__(self, **values: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    class RunKeys(EngineKeys):
        """The keys of [run] that are the engine's."""

    class FaultsKeys(EngineKeys):
        """The keys of [faults] that are the engine's."""

    class GroupKeys(EngineKeys):
        """The keys of [[group]] that are the engine's."""

else:
    EngineKeys = Section
    RunKeys, FaultsKeys, GroupKeys = map(_model_of, ("run", "faults", "group"))

MODELS: tuple[type[EngineKeys], ...] = (RunKeys, FaultsKeys, GroupKeys)
"""The keys of each section, for telegrams."""
_Keys = TypeVar("_Keys", bound=EngineKeys)


def keys_of(section: EngineKeys, model: type[_Keys]) -> _Keys:
    """Return those keys of a section that are the engine's."""
    return model(**{name: getattr(section, name) for name in model.model_fields})
