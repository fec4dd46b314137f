# SPDX-License-Identifier: Apache-2.0
"""Hand-written telegrams with impossible values for a kernel, a sink, a link or a dataset: the Fault names element and attribute, and has the code of
a wrong configuration."""

import asyncio
from pathlib import Path

import httpx
import pytest

from rashpa.control.runfile.schemas import schema_path
from rashpa.control.telegrams import telegram
from rashpa.control.telegrams.telegram_xml import decode
from rashpa.node.door.server import NodeApp
from rashpa.node.engine.engine import EngineFactory
from rashpa.node.state.node import Node
from rashpa.testing.fake_engine import FakeFactory

pytestmark = pytest.mark.whole

GOLDEN = schema_path("telegram.xsd").parent / "golden"
DESTINATION = (GOLDEN / "configure_destination.xml").read_text(encoding="utf-8")
SOURCE = (GOLDEN / "configure_source.xml").read_text(encoding="utf-8")

# in the golden Configure of a receiver: what stands there, what is sent in its place, what the Fault says
WRONG = {
    "kernel, type": ('threshold="3"', 'threshold="many"', 'bragg_count.threshold: it is "many"; it must be a'),
    "kernel, bounds": ('threshold="3"', 'threshold="0"', 'bragg_count.threshold: it is "0"; it must be at least 1'),
    "kernel, beyond": ('threshold="3"', 'threshold="9999999999999999999999999"', "bragg_count.threshold: it is "),
    "kernel, unknown": ('threshold="3"', 'threshold="3" speed="9"', "bragg_count.speed: no such attribute; leave it out"),
    "kernel, missing": ('threshold="3"', "", "bragg_count.threshold: it is needed and not there; give it"),
    "kernel, choice": ('output="photons"', 'output="furlongs"', 'jungfrau.output: it is "furlongs"; it must be "photons"'),
    "kernel, not finite": ('photon_energy_kev="12.4"', 'photon_energy_kev="INF"', "jungfrau.photon_energy_kev: it is "),
    "kernel, no number": ('photon_energy_kev="12.4"', 'photon_energy_kev="NaN"', "jungfrau.photon_energy_kev: it is "),
    "kernel, kind": ("<bragg_count ", "<magic ", "magic: it has no place here; the next one is jungfrau, bragg_count"),
    "plugin, type": ('type="integer">3<', 'type="integer">3.5<', 'plugin.tries: it is "3.5"; it must be a whole number of 64 bits'),
    "plugin, flag": ('type="flag">true<', 'type="flag">yes<', 'plugin.loud: it is "yes"; it must be true or false'),
    "plugin, bounds": ('type="integer">3<', f'type="integer">{2**63}<', 'plugin.tries: it is "9223372036854775808"; it must be a whole number of 64 bits'),
    "plugin, not finite": ('type="number">0.5<', 'type="number">1e400<', "plugin.parameters.gain"),
    "plugin, underscore": ('type="number">0.5<', 'type="number">1_0<', 'plugin.gain: it is "1_0"; it must be a number'),
    "plugin, kind of value": ('type="number"', 'type="thing"', 'parameter.type: it is "thing"; it must be "flag"'),
    "plugin, name": ('name="tries"', 'name="2 tries"', 'parameter.name: it is "2 tries"; it must be '),
    "plugin, twice": ('name="tries"', 'name="gain"', "plugin.gain: it is given twice; give one"),
    "plugin, missing": ('<parameter name="tries"', "<parameter", "parameter.name: it is needed and not there; give it"),
    "plugin, unknown": ('<plugin file="peaks.so"', '<plugin file="peaks.so" speed="9"', "plugin.speed: no such attribute; leave it out"),
    "plugin, path": ('file="peaks.so"', 'file="../peaks.so"', 'plugin.file: it is "../peaks.so"; it must be '),
    "plugin, no file": ('file="peaks.so"', "", "plugin.file: it is needed and not there; give it"),
    "python, function": ('"hits:spots"', '"hits.spots"', 'python.function: it is "hits.spots"; it must be module:function'),
    "plugin, long": ("maps/a b.npy", "x" * 4097, "parameter: it has 4097 characters; it must have at most 4096"),
    "plugin, many": (
        '<plugin file="peaks.so" check="true">',
        '<plugin file="peaks.so" check="true">' + "".join(f'<parameter name="p{n}" type="flag">1</parameter>' for n in range(64)),
        "parameter: it has no place here",
    ),
    "sink, type": ('images_per_file="1000"', 'images_per_file="all"', 'hdf5.images_per_file: it is "all"; it must be a whole number'),
    "sink, bounds": ('threads="1" compress', 'threads="65" compress', 'hdf5.threads: it is "65"; it must be at most'),
    "sink, line": ('queue="8"', 'queue="0"', 'hdf5.queue: it is "0"; it must be at least'),
    "sink, unknown": ('queue="8"', 'queue="8" speed="9"', "hdf5.speed: no such attribute; leave it out"),
    "sink, missing": ('prefix="out/first_light_full"', "", "hdf5.prefix: it is needed and not there; give it"),
    "sink, choice": ('existing="refuse"', 'existing="delete"', 'hdf5.existing: it is "delete"; it must be "'),
    "sink, metadata": ('distance_m="0.1"', 'distance_m="far"', 'metadata.distance_m: it is "far"; it must be a number'),
    "sink, place": ('<modules name="m1" x="0"', '<modules name="m1" x="-1"', 'modules.x: it is "-1"; it must be '),
    "sink, kind": ("<null ", "<tape ", "tape: it has no place here; the next one is hdf5, raw, memory, null, stream2"),
    "sink, none": ('<null on_full="wait" queue="4"/>', "", "Sink: an element in it is missing; add hdf5"),
    "sink, two": ('<null on_full="wait" queue="4"/>', "<null/><null/>", "null: it has no place here; leave it out"),
    "link, type": ('window_bytes="1048576"', 'window_bytes="much"', 'verbs.window_bytes: it is "much"; it must be a whole number'),
    "link, bounds": ('window_bytes="1048576"', 'window_bytes="-1"', 'verbs.window_bytes: it is "-1"; it must be at least'),
    "link, choice": ('pmtu="4096"', 'pmtu="1500"', 'verbs.pmtu: it is "1500"; it must be "256"'),
    "link, unknown": ('pmtu="4096"', 'pmtu="4096" gso="true"', "verbs.gso: no such attribute; leave it out"),
    "link, kind": ("<verbs ", "<pigeon ", "pigeon: it has no place here; the next one is roce, verbs"),
    "buffer": ('slots="40"', 'slots="x"', 'Buffer.slots: it is "x"; it must be a whole number'),
}  # fmt: skip
LINK = SOURCE[SOURCE.index("<LinkOptions>") : SOURCE.index("</LinkOptions>")]
# the same of the golden Configure of an emulator, whose engine looks at it
WRONG_HERE = {
    "dataset, type": ('name="seed" value="1"', 'name="seed" value="&quot;1&quot;"', 'dataset jungfrau: seed: it is "1"; it must be a whole number'),
    "dataset, bounds": ('name="modules" value="2"', 'name="modules" value="65"', "dataset jungfrau: modules: it is 65; it must be at most"),
    "dataset, unknown": ('name="seed"', 'name="speed"', "dataset jungfrau: speed: no such key; leave it out"),
    "dataset, missing": ('kind="jungfrau"', 'kind="files"', "dataset files: files: it is needed and not there; give it"),
    "dataset, kind": ('kind="jungfrau"', 'kind="dream"', 'dataset dream: "dream" is not known; it must be "jungfrau"'),
    "dataset, no JSON": ('name="seed" value="1"', 'name="seed" value="{"', "dataset jungfrau: seed is no JSON"),
    "dataset, twice": ('name="seed"', 'name="modules"', "dataset jungfrau: modules is given twice"),
    "dataset, too large": ('name="seed" value="1"', f'name="seed" value="{2**64}"', "dataset jungfrau: seed: it is 18446744073709551616; it must be at most"),
    "link of two": (LINK, "<LinkOptions><pcie/>", "DTP 2 takes the link roce, and the order has options of pcie"),
}  # fmt: skip


def answer_to(role: str, factory: EngineFactory, order: str) -> telegram.Fault:
    """Return the node's answer to an order that it refuses."""

    async def asked() -> tuple[int, bytes]:
        node = Node("n", role, factory)
        transport = httpx.ASGITransport(NodeApp(node, "1.2").starlette())
        async with httpx.AsyncClient(transport=transport, base_url="http://node") as client:
            answer = await client.post("/telegram", content=order.encode(), headers={"content-type": "application/xml"})
        await node.close()
        return answer.status_code, answer.content

    status, content = asyncio.run(asked())
    assert status == 422
    fault = decode(content)
    assert isinstance(fault, telegram.Fault)
    return fault


def test_the_golden_orders_are_written_as_by_hand() -> None:
    assert isinstance(decode(DESTINATION.encode()), telegram.Configure)
    shorter = DESTINATION.replace(' transport="uc"', "").replace(' max_pixels="4294967295"', "")
    assert decode(shorter.encode()) == decode(DESTINATION.encode()), "what has a default need not be said"


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_is_named_with_element_and_attribute(what: str) -> None:
    old, new, says = WRONG[what]
    assert DESTINATION.count(old) == 1
    fault = answer_to("receiver", FakeFactory("receiver"), DESTINATION.replace(old, new))
    assert fault.code == "config"
    assert says in fault.text
    assert "facet" not in fault.text
    assert "urn:" not in fault.text


@pytest.mark.parametrize("what", WRONG_HERE)
def test_what_only_the_engine_can_know_is_named_too(what: str, tmp_path: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.node.engine.native_engine import NativeFactory

    old, new, says = WRONG_HERE[what]
    good = SOURCE.replace('owner="3f6c0a52d1e94b7f8a2b5c6d7e8f9012" ', "")
    assert good.count(old) == 1
    fault = answer_to("emulator", NativeFactory("emulator"), good.replace(old, new))
    assert (fault.code, says in fault.text) == ("config", True), fault.text


# what each key may be, but not together: in an order that is good but for its output's folder
TOGETHER = {
    "bounds of a kernel": ('max_pixels="4294967295"', 'max_pixels="5"', "bragg_count: ", "min_pixels"),
    "a threshold that no pixel reaches": ('threshold="3"', 'threshold="40000"', "bragg_count: ", "threshold"),
    "keys of a link": ('transport="uc"', 'transport="ud" packetisation="first_middle_last"', "roce: ", "packetisation only"),
    "a link and its peer": ('peer_link="roce"', 'peer_link="pcie"', "link: pcie is memory that both sides map", "pcie"),
    "two kernels of one name": ('<csr/>', '<csr/></Kernel><Kernel><csr threshold="2"/>', "csr", "twice"),
}  # fmt: skip


@pytest.mark.parametrize("what", TOGETHER)
def test_what_does_not_go_together_is_named_by_its_keys(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.node.engine.native_engine import NativeFactory

    monkeypatch.chdir(tmp_path)
    old, new, *says = TOGETHER[what]
    first, last = DESTINATION.index("<plugin "), DESTINATION.index("<python ")
    good = DESTINATION[:first] + "<csr/></Kernel>" + DESTINATION[DESTINATION.index("<Sink>") :]
    assert first < last
    # a file that is not there would be said first
    good = good[: good.index("<Calibration>")] + good[good.index("</Calibration>") + len("</Calibration>") :]
    for ours, other in (
        ('unit="cuda" trigger="graph"', 'unit="cpu" trigger="auto"'),
        ('<verbs transport="uc"', '<roce transport="uc"'),
        (' packetisation="only"', ""),
        (' device="rxe0" verify="sampled" paging="pinned" operation="write"', ""),
    ):
        assert good.count(ours) == 1
        good = good.replace(ours, other)
    assert good.count(old) == 1
    fault = answer_to("receiver", NativeFactory("receiver"), good.replace(old, new))
    assert fault.code == "config", fault.text
    assert all(part in fault.text for part in says), fault.text


def test_code_that_the_node_does_not_allow_is_named(tmp_path: Path) -> None:
    pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    from rashpa.node.engine.native_engine import NativeFactory

    fault = answer_to("receiver", NativeFactory("receiver"), DESTINATION)
    assert fault.code in ("config", "file")
    assert "peaks.so" in fault.text


@pytest.mark.parametrize(("name", "value"), [("threads", 2**63), ("threads", -(2**70)), ("prefix", None)])
def test_a_value_that_no_parameter_can_have_is_refused_with_its_key(name: str, value: object) -> None:
    native = pytest.importorskip("rashpa._native", reason="the compiled part of rashpa is not built")
    with pytest.raises(native.ConfigError, match=rf"sink hdf5: {name}: "):
        native.SinkConfig("hdf5", {"prefix": "x", "existing": "refuse", name: value})
