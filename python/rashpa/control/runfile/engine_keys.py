# SPDX-License-Identifier: Apache-2.0
"""Defines keys of the run file that only the engine uses, from schema/sections.json. The native module writes that file for `tools/make_kernels.py`
from the declarations in src/rashpa/emulator/section_keys.hpp and src/rashpa/receiver/config.hpp.

The declaration is the only definition of such a key. The model of its table inherits it; telegrams, their schema and the native call follow. The
types for mypy are in engine_keys.pyi, which the same tool writes.
"""

import json
from functools import cache
from typing import Any

from pydantic import create_model

from rashpa.control.runfile.parameters import Parameter, field_of, made_of
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.runfile.section import Section

_STUB = """\
# SPDX-License-Identifier: Apache-2.0
\"\"\"Keys of sections that are an engine's alone; written by tools/make_kernels.py.\"\"\"

from typing import Literal, TypeVar

from rashpa.control.runfile.section import Section

class EngineKeys(Section):
    \"\"\"Keys of a section.\"\"\"

{models}

MODELS: tuple[type[EngineKeys], ...]
_Keys = TypeVar("_Keys", bound=EngineKeys)

def keys_of(section: EngineKeys, model: type[_Keys]) -> _Keys: ...
def stub_text() -> str: ...
"""


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


EngineKeys = Section
RunKeys, FaultsKeys, GroupKeys, ReductionKeys, BufferKeys = map(
    _model_of, ("run", "faults", "group", "reduction", "buffer")
)
MODELS = (RunKeys, FaultsKeys, GroupKeys, ReductionKeys, BufferKeys)
"""The keys of each section, for telegrams."""


def keys_of(section: Section, model: type[Section]) -> Section:
    """Return the engine's keys of a table, unchanged: telegrams and the engine check them."""
    return model.model_construct(**{name: getattr(section, name) for name in model.model_fields})


def stub_text() -> str:
    """Return the text of engine_keys.pyi."""
    models = []
    for section, keys in _declared().items():
        lines = [f"    {key.name}: {_type_text(key)} = ..." for key in keys]
        head = [f"class {section.capitalize()}Keys(EngineKeys):", f'    """Keys of [{section}]."""']
        models.append("\n".join([*head, *([""] if lines else []), *lines]))
    return _STUB.format(models="\n\n".join(models))


def _type_text(key: Parameter) -> str:
    """Return the type of a key's values as text for the stub."""
    if key.kind == "choice":
        return "Literal[" + ", ".join(json.dumps(choice) for choice in key.choices) + "]"
    return {"flag": "bool", "integer": "int", "number": "float", "text": "str"}[key.kind]
