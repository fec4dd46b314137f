# SPDX-License-Identifier: Apache-2.0
"""Run file and telegrams have the same bounds: a value that a run file refuses, a telegram refuses, too."""

from typing import Any

import pytest
from lxml import etree
from pydantic import BaseModel

from rashpa.control.runfile import run_file as toml
from rashpa.control.runfile.schemas import schema_path

SPACE = "{http://www.w3.org/2001/XMLSchema}"
SCHEMA: Any = etree.parse(str(schema_path("telegram.xsd"))).getroot()
ORDERS = ("DeadModule", "Faults", "SourceDtp", "Source", "DestinationDtp", "SpecialValue", "Buffer", "Destination")

# attribute of a telegram → key of the run file
KEYS: dict[tuple[str, str], tuple[type[BaseModel], str]] = {
    **{("Faults", name): (toml.Faults, name) for name in toml.Faults.model_fields},
    ("DeadModule", "from_frame"): (toml.DeadModule, "from_frame"),
    ("DeadModule", "module"): (toml.DeadModule, "module"),
    ("SourceDtp", "every"): (toml.Buffer, "every"),
    ("SourceDtp", "phase"): (toml.Buffer, "phase"),
    ("SourceDtp", "module"): (toml.Dtp, "module"),
    ("DestinationDtp", "module"): (toml.Dtp, "module"),
    ("Source", "peer_link"): (toml.Link, "kind"),
    ("Source", "frames"): (toml.Run, "frames"),
    ("Source", "width"): (toml.Detector, "width"),
    ("Source", "height"): (toml.Detector, "height"),
    ("Source", "pixel"): (toml.Detector, "pixel"),
    ("Source", "rate_hz"): (toml.Detector, "rate_hz"),
    ("Source", "trigger"): (toml.Detector, "trigger"),
    ("Source", "flow"): (toml.Link, "flow"),
    ("Source", "on_full"): (toml.Link, "on_full"),
    ("Source", "first_processor"): (toml.Emulator, "processor"),
    ("Destination", "peer_link"): (toml.Link, "kind"),
    ("Destination", "port"): (toml.Receiver, "port"),
    ("Destination", "link_threads"): (toml.Receiver, "threads"),
    ("Destination", "flow"): (toml.Link, "flow"),
    ("Destination", "poll"): (toml.Receiver, "poll"),
    ("Destination", "memory"): (toml.Receiver, "memory"),
    ("SourceDtp", "link"): (toml.Link, "source"),
    ("SourceDtp", "peer_link"): (toml.Link, "destination"),
    **{(dtp, name): (toml.Module, name) for dtp in ("SourceDtp", "DestinationDtp") for name in ("turn", "flip")},
    ("Destination", "first_processor"): (toml.Receiver, "processor"),
    ("Destination", "receiver"): (toml.Receiver, "name"),
    ("Source", "emulator"): (toml.Emulator, "name"),
    ("Destination", "module_width"): (toml.Detector, "width"),
    ("Destination", "module_height"): (toml.Detector, "height"),
    **{("Buffer", name): (toml.Buffer, name) for name in toml.Buffer.model_fields if name != "card"},
    ("Buffer", "pixel"): (toml.Detector, "pixel"),
    ("Buffer", "masked"): (toml.Detector, "masked"),
    **{("SpecialValue", name): (toml.SpecialValue, name) for name in toml.SpecialValue.model_fields},
}
# what the plan computes, or a node answers; bounded by the schema alone
COMPUTED = {
    ("SourceDtp", "id"),
    ("SourceDtp", "images"),
    ("Source", "modules"),
    ("Source", "bind_address"),
    ("DestinationDtp", "id"),
    ("Destination", "modules"),
    ("Destination", "bind_address"),
    ("Buffer", "width"),
    ("Buffer", "height"),
    ("Buffer", "images"),
    ("Buffer", "end"),
    ("Buffer", "dealt"),
    ("Buffer", "quiet_ms"),
    ("Buffer", "card"),
    ("Source", "end"),
    ("Source", "numa"),
    ("Destination", "numa"),
    *((dtp, name) for dtp in ("SourceDtp", "DestinationDtp") for name in ("x", "y", "width", "height")),
    ("DestinationDtp", "source_x"),
    ("DestinationDtp", "source_y"),
}
BUILT_IN = {
    "xs:unsignedByte": (0, 255),
    "xs:unsignedShort": (0, 2**16 - 1),
    "xs:unsignedInt": (0, 2**32 - 1),
    "xs:unsignedLong": (0, 2**64 - 1),
}


def attributes() -> list[tuple[str, str, str]]:
    """Return part, attribute and type of the attributes of an order."""
    found = []
    for part in SCHEMA.iterchildren(f"{SPACE}complexType"):
        if part.get("name") in ORDERS:
            found += [(part.get("name"), item.get("name"), item.get("type")) for item in part.iter(f"{SPACE}attribute")]
    return found


def of_telegram(kind: str) -> dict[str, Any]:
    """Return the values that a schema type allows: least and most, choices, or a pattern."""
    if kind == "xs:boolean":
        return {}
    if kind in BUILT_IN:
        return {"least": BUILT_IN[kind][0], "most": BUILT_IN[kind][1]}
    for item in SCHEMA.iterchildren(f"{SPACE}simpleType"):
        if item.get("name") == kind:
            facets = {facet.tag.removeprefix(SPACE): facet.get("value") for facet in item[0]}
            choices = [facet.get("value") for facet in item[0].iterchildren(f"{SPACE}enumeration")]
            if choices:
                return {"choices": set(choices)}
            if "pattern" in facets:
                return {"pattern": facets["pattern"]}
            return {"least": float(facets["minInclusive"]), "most": float(facets["maxInclusive"])}
    raise AssertionError(f"{kind} has no bounds")


def of_run_file(model: type[BaseModel], name: str) -> dict[str, Any]:
    """Return the values that a run file's key allows, in the same form."""
    described = model.model_json_schema()["properties"][name]
    options = [one for one in described.get("anyOf", [described]) if one.get("type") != "null"]
    # A number or a text is a text in a telegram.
    described = next((one for one in options if "pattern" in one), options[0])
    if described.get("type") == "boolean":
        return {}
    if "enum" in described:
        return {"choices": {str(value) for value in described["enum"]}}
    if "pattern" in described:
        return {"pattern": described["pattern"].removeprefix("^").removesuffix("$")}
    return {"least": described["minimum"], "most": described["maximum"]}


@pytest.mark.parametrize(("part", "name", "kind"), attributes())
def test_an_attribute_has_the_bounds_of_its_key(part: str, name: str, kind: str) -> None:
    if (part, name) in COMPUTED:
        assert kind not in ("xs:string", "xs:unsignedLong", "xs:double", "xs:int", "xs:positiveInteger")
        return
    assert of_telegram(kind) == of_run_file(*KEYS[part, name])
