# SPDX-License-Identifier: Apache-2.0
import dataclasses
from typing import Any

import pytest
from lxml import etree
from pydantic import TypeAdapter

from rashpa.control.runfile.kernels import Kernel
from rashpa.control.runfile.links import parameters_of
from rashpa.control.runfile.run_file import Link
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.part_orders import Hdf5Order
from rashpa.control.telegrams.part_schema import schema_text
from rashpa.control.telegrams.part_xml import KINDS
from rashpa.control.telegrams.telegram_xml import TelegramError, decode, encode
from rashpa.testing.telegram_samples import telegram_samples

KERNEL: TypeAdapter[Kernel] = TypeAdapter(Kernel)
PLUGIN: dict[str, Any] = {"name": "plugin", "file": "peaks.so"}


def configure(**changes: Any) -> telegram.Configure:
    """Return the golden telegram with another buffer, or other options."""
    order = telegram_samples()["configure_destination"]
    assert isinstance(order, telegram.Configure)
    assert order.destination is not None
    if "options" in changes:
        return dataclasses.replace(order, destination=dataclasses.replace(order.destination, **changes))
    buffer = dataclasses.replace(order.destination.buffers[0], **changes)
    return dataclasses.replace(order, destination=dataclasses.replace(order.destination, buffers=(buffer,)))


def test_the_schema_of_the_parts_is_up_to_date() -> None:
    assert schema_path("telegram_parts.xsd").read_text(encoding="utf-8") == schema_text(), "run tools/make_kernels.py"


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"least": -(2**63), "most": 2**63 - 1},
        {"third": 1 / 3, "small": 5e-324, "large": 1.7976931348623157e308},
        {"no": False, "yes": True, "zero": 0, "nought": 0.0},
        {"text": " two  words\n\tand <&> \"'", "empty": "", "long": "x" * 1000, "number": "7"},
        {f"p{number}": number for number in range(64)},
    ],
    ids=["none", "integers", "numbers", "flags", "texts", "many"],
)
def test_values_that_no_model_knows_come_back_with_their_types(parameters: dict[str, Any]) -> None:
    order = configure(kernels=(KERNEL.validate_python({**PLUGIN, "parameters": parameters}),))
    back = decode(encode(order))
    assert back == order
    assert isinstance(back, telegram.Configure)
    assert back.destination is not None
    found = parameters_of_plugin(back.destination.buffers[0].kernels[0])
    assert [type(value) for value in found.values()] == [type(value) for value in parameters.values()]


def parameters_of_plugin(kernel: Kernel) -> dict[str, Any]:
    found: dict[str, Any] = kernel.model_dump()["parameters"]
    return found


@pytest.mark.parametrize(
    "values", [{"sample_name": "two\nlines\tand  spaces "}, {"labels": []}, {"labels": ["a\n b", ""]}, {"modules": []}]
)
def test_what_files_say_comes_back_letter_for_letter(values: dict[str, Any]) -> None:
    sink = configure().destination.buffers[0].sinks[0]  # type: ignore[union-attr]
    assert isinstance(sink, Hdf5Order)
    changed = sink.model_copy(update={"metadata": sink.metadata.model_copy(update=values)})
    order = configure(sinks=(changed,))
    assert decode(encode(order)) == order


@pytest.mark.parametrize("link", ["roce", "verbs", "pcie"])
def test_a_link_has_its_own_keys_alone(link: str) -> None:
    tables = {kind: {"verify": "off"} for kind in ("verbs", "pcie")}
    order = configure(options=Link.model_validate({**tables, "roce": {"window_bytes": 0}}).options(link, "rxe0"))
    assert decode(encode(order)) == order
    assert order.destination is not None
    values = parameters_of(order.destination.options)
    assert ("gso" in values, values.get("verify"), values.get("device")) == {
        "roce": (True, None, None),
        "verbs": (False, "off", "rxe0"),
        "pcie": (False, "off", None),
    }[link]


def test_what_the_schema_does_not_allow_is_not_sent() -> None:
    wrong = KERNEL.validate_python({**PLUGIN}).model_copy(update={"file": "../../evil.so"})
    with pytest.raises(
        TelegramError, match=r"Configure cannot be sent: plugin\.file: it is .*; it must be the name of a file"
    ):
        encode(configure(kernels=(wrong,)))


def test_every_number_text_and_list_of_the_schema_has_its_bounds() -> None:
    space = "{http://www.w3.org/2001/XMLSchema}"
    root: Any = etree.fromstring(schema_text().encode())
    restrictions = list(root.iter(f"{space}restriction"))
    assert len(restrictions) > 60
    for one in restrictions:
        facets = {facet.tag.removeprefix(space) for facet in one}
        if one.get("base") == "xs:boolean" or "enumeration" in facets:
            continue
        bounded = facets & {"maxLength", "pattern"} or (
            facets & {"minInclusive", "minExclusive"} and facets & {"maxInclusive", "maxExclusive"}
        )
        assert bounded, etree.tostring(one)
    assert all(entry.get("maxOccurs", "1") != "unbounded" for entry in root.iter(f"{space}element"))
    assert set(KINDS) == {entry.get("name") for entry in root.iterchildren(f"{space}complexType")}


def test_the_largest_configure_is_within_the_limits() -> None:
    order = configure()
    assert order.destination is not None
    buffer = order.destination.buffers[0]
    null = buffer.sinks[1]
    plugin = KERNEL.validate_python({**PLUGIN, "parameters": {f"p{number}": number for number in range(8)}})
    kernels = (*buffer.kernels[:2], plugin)
    buffers = (dataclasses.replace(buffer, kernels=kernels, sinks=(buffer.sinks[0], *(null,) * 5)),) * 256
    whole = dataclasses.replace(order, destination=dataclasses.replace(order.destination, buffers=buffers))
    assert decode(encode(whole)) == whole
