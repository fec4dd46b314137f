# SPDX-License-Identifier: Apache-2.0
import dataclasses
import os
import random
import time
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from lxml import etree

from rashpa.control.runfile.buffer_section import Buffer
from rashpa.control.runfile.node_sections import OnlyEmulator, OnlyReceiver
from rashpa.control.runfile.schemas import schema_path
from rashpa.control.runfile.section import Section
from rashpa.control.telegrams import telegram, telegram_capabilities, telegram_orders, telegram_plan, telegram_status
from rashpa.control.telegrams.telegram_xml import MAX_BYTES, TelegramError, decode, encode
from rashpa.testing.telegram_samples import telegram_samples

GOLDEN = schema_path("telegram.xsd").parent / "golden"
SAMPLES = telegram_samples()


@pytest.mark.parametrize("name", SAMPLES)
def test_every_telegram_comes_back_as_it_was(name: str) -> None:
    assert decode(encode(SAMPLES[name])) == SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_golden_files_are_what_is_written_and_read(name: str) -> None:
    golden = (GOLDEN / f"{name}.xml").read_bytes()
    assert encode(SAMPLES[name]) == golden
    assert decode(golden) == SAMPLES[name]


def test_every_telegram_has_a_golden_file_and_every_golden_file_a_telegram() -> None:
    assert {type(sample) for sample in SAMPLES.values()} == set(get_args(telegram.Telegram))
    assert {path.stem for path in GOLDEN.glob("*.xml")} == set(SAMPLES)


def test_schema_and_classes_have_the_same_attributes() -> None:
    space = "{http://www.w3.org/2001/XMLSchema}"
    root: Any = etree.parse(str(schema_path("telegram.xsd"))).getroot()
    for entry in [*root.iterchildren(f"{space}complexType"), *root.iterchildren(f"{space}element")]:
        described = {attribute.get("name") for attribute in entry.iter(f"{space}attribute")} - {"version"}
        cls = getattr(telegram, entry.get("name"))
        plain = {
            item.name
            for item in dataclasses.fields(cls)
            if item.type in {int, str, float, bool} or item.type in {tuple[str, ...], tuple[int, ...]}
        }
        assert described == plain, entry.get("name")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not well-formed"),
        (b"<Start", "not well-formed"),
        (b"<Start/>", "version None"),
        (b'<Start xmlns="urn:rashpa:telegram:1" version="1"/>', "version '1' of telegrams is not known"),
        (b'<Start xmlns="urn:other" version="2"/>', "Start: it is no telegram of rashpa; send one of"),
        (b'<Start xmlns="urn:rashpa:telegram:2" version="2" speed="9"/>', "speed"),
        (
            b'<Start xmlns="urn:rashpa:telegram:2" version="2"><Arm/></Start>',
            "Start: it has an element or a text inside; leave it out",
        ),
        (b'<Books xmlns="urn:rashpa:telegram:2" version="2"/>', "Books"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><Start xmlns="urn:rashpa:telegram:2" version="2"/>', "no DOCTYPE"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "no DOCTYPE"),
        ('<!DOCTYPE a><Start version="1"/>'.encode("utf-16"), "not well-formed"),
        (
            b'<Start xmlns="urn:rashpa:telegram:2" version="2">' + b"<a>" * 5000,
            "a: it has no place|has an element or a text inside",
        ),
        (b'<Arm xmlns="urn:rashpa:telegram:2" version="2">' + b"<Endpoint/>" * 40_000, "more than 16384 elements"),
        (b"<Arm " + b" ".join(b'a%d=""' % number for number in range(70_000)) + b"/>", "more than 65536 attributes"),
        (b" " * (MAX_BYTES + 1), "at most"),
        (b'<Start xmlns="urn:rashpa:telegram:2" version="2">\xff</Start>', "not well-formed"),
    ],
)
def test_what_is_no_telegram_is_refused_with_a_reason(data: bytes, says: str) -> None:
    with pytest.raises(TelegramError, match=says):
        decode(data)


def _megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def test_telegrams_that_are_refused_leave_no_memory_behind() -> None:
    whole = encode(SAMPLES["configure_destination"])
    wrong = whole.replace(b"</Configure>", b"<!--" + b"x" * 100_000 + b"--><Nothing/></Configure>")
    cut = whole[:-20]
    for data in (wrong, cut):
        for count in range(300):
            if count == 50:
                before = _megabytes()
            with pytest.raises(TelegramError):
                decode(data)
        assert _megabytes() - before < 2, f"{len(data)} bytes each"


@pytest.mark.parametrize(
    "body",
    [
        b"<a/>" * (MAX_BYTES // 4 - 50),
        b'<Endpoint address="" port="x" qpn="y" rkey="z"/>' * 16_000,
        b'<Endpoint address="" port="1" qpn="1" rkey="1" credit_offset="x"/>' * 16_000,
        b"<Endpoint " + b" ".join(b'a%d=""' % number for number in range(32_000)) + b"/>",
        b'<Endpoint address="' + b"&lt;" * (MAX_BYTES // 4 - 50) + b'"/>',
        b"\n" * (MAX_BYTES - 200),
        b"<!---->" * (MAX_BYTES // 7 - 50),
        b"<Endpoint" * 400_000,
    ],
    ids=["elements", "values", "one value", "attributes", "escapes", "lines", "comments", "unfinished"],
)
def test_a_telegram_that_is_nothing_but_mistakes_is_refused_in_time_that_grows_with_its_bytes(body: bytes) -> None:
    data = b'<Arm xmlns="urn:rashpa:telegram:2" version="2">' + body + b"<Nothing/></Arm>"
    began = time.process_time()
    with pytest.raises(TelegramError):
        decode(data)
    assert time.process_time() - began < 2.0  # 23 s for 0.5 MB, 385 s for 3.8 MB when every error counted its siblings


def test_the_largest_run_is_within_the_limits() -> None:
    sample = SAMPLES["status_receiver"]
    assert isinstance(sample, telegram.Status)
    assert sample.destination is not None
    buffer = sample.destination.buffers[0]
    dtp = dataclasses.replace(
        buffer.dtps[0],
        counts=tuple(telegram.Count(group="loss", name=f"cause{number}", value=1) for number in range(10)),
    )
    counts = tuple(telegram.Count(group="veto", name=f"reason{number}", value=1) for number in range(20))
    sinks = (buffer.sinks[0],) * 6  # with the first image that each has lost
    buffers = (
        dataclasses.replace(buffer, dtps=(dtp,), counts=counts, latencies=buffer.latencies * 3, sinks=sinks),
    ) * 256
    notices = tuple(telegram.Notify(node="r", what="fault", text="x" * 1000) for _ in range(64))
    destination = dataclasses.replace(sample.destination, buffers=buffers, counts=sample.destination.counts * 100)
    status = dataclasses.replace(sample, destination=destination, notifications=notices)
    assert decode(encode(status)) == status


def test_what_an_earlier_manager_did_not_say_has_its_default() -> None:
    assert decode(b'<Start xmlns="urn:rashpa:telegram:2" version="2"/>') == telegram.Start()
    assert decode(b'<Reset xmlns="urn:rashpa:telegram:2" version="2"/>') == telegram.Reset(force=False, owner="")


LEAST = """<Configure xmlns="urn:rashpa:telegram:2" version="2"><Destination><Buffer name="full" width="256" height="128" images="100">
  <DestinationDtp id="0" width="256" height="128"/>{dtps}<Sink><null/></Sink></Buffer>{more}</Destination></Configure>"""


def least(dtps: str = "", more: str = "") -> telegram.Destination:
    order = decode(LEAST.format(dtps=dtps, more=more).encode())
    assert isinstance(order, telegram.Configure)
    assert order.destination is not None
    return order.destination


def test_the_least_order_is_whole_with_defaults() -> None:
    order = least()
    assert (order.modules, order.module_width, order.module_height, order.peer_link) == (1, 256, 128, "roce")
    assert (order.flow, order.port, order.dataset.kind, order.options.kind) == ("credits", 0, "pattern", "roce")
    whole = telegram.Configure(run=1, name="run", destination=order)
    assert decode(encode(whole)) == whole


def test_the_shape_of_the_detector_and_the_other_side_follow_from_what_is_said() -> None:
    dtp = '<DestinationDtp id="7" module="2" y="128" width="64" height="100" source_x="30" turn="90"/>'
    order = least(dtps=dtp, more="<LinkOptions><pcie/></LinkOptions>")
    assert (order.modules, order.module_width, order.module_height, order.peer_link) == (3, 256, 128, "pcie")
    turned = least(dtps=dtp.replace('width="64" height="100"', 'width="100" height="512"'))
    assert (turned.module_width, turned.module_height) == (512, 130)


def test_an_order_has_the_defaults_of_the_run_file() -> None:
    of_file: dict[type, type[Section]] = {
        telegram.Buffer: Buffer,
        telegram.Destination: OnlyReceiver,
        telegram.Source: OnlyEmulator,
    }
    own = {("Destination", "port"), ("Buffer", "card")}  # as protocol.md says; "": none
    for part, model in of_file.items():
        for item in dataclasses.fields(part):
            key = model.model_fields.get(item.name)
            if key is None or key.is_required() or item.default is dataclasses.MISSING:
                continue
            if (part.__name__, item.name) not in own:
                assert str(item.default) == str(key.default), (part.__name__, item.name)


def test_schema_and_classes_have_the_same_defaults() -> None:
    space = "{http://www.w3.org/2001/XMLSchema}"
    root: Any = etree.parse(str(schema_path("telegram.xsd"))).getroot()
    for entry in [*root.iterchildren(f"{space}complexType"), *root.iterchildren(f"{space}element")]:
        fields = {item.name: item for item in dataclasses.fields(getattr(telegram, entry.get("name")))}
        for attribute in entry.iter(f"{space}attribute"):
            name, default = attribute.get("name"), attribute.get("default")
            if name == "version":
                continue
            where = (entry.get("name"), name)
            if attribute.get("use") != "required":
                assert fields[name].default is not dataclasses.MISSING, where
            if default is not None:
                said = fields[name].default
                said = " ".join(said) if isinstance(said, tuple) else said
                same = (
                    float(default) == said
                    if isinstance(said, float)
                    else default == str(said).replace("True", "true").replace("False", "false")
                )
                assert same, where


def test_external_entities_are_never_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for trick in (
        f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><Notify node="&x;" what="fault" text="" version="1"/>',
        '<Notify xmlns="urn:rashpa:telegram:1" node="&x;" what="fault" text="" version="1"/>',
    ):
        with pytest.raises(TelegramError):
            decode(trick.encode())


def test_a_value_outside_the_schema_is_not_sent() -> None:
    with pytest.raises(TelegramError, match=r"Configure cannot be sent.*drop"):
        configure = SAMPLES["configure_source"]
        assert isinstance(configure, telegram.Configure)
        assert configure.source is not None
        keys = configure.source.faults.keys.model_copy(update={"drop": 1.5})
        faults = dataclasses.replace(configure.source.faults, keys=keys)
        encode(dataclasses.replace(configure, source=dataclasses.replace(configure.source, faults=faults)))


def test_text_that_xml_cannot_hold_is_replaced() -> None:
    fault = telegram.Fault(
        node="emulator", state="idle", code="internal", text="bell \x07 and newline\nand ümlaut \U0001f52c"
    )
    reply = decode(encode(fault))
    assert reply == dataclasses.replace(fault, text="bell \ufffd and newline\nand ümlaut \U0001f52c")


def test_numbers_keep_their_exact_value() -> None:
    latency = telegram.Latency(stage="ready", count=2**63, p50=0.1, p99=1e-300, max=float("inf"))
    buffer = telegram.BufferStatus(
        name="b",
        sink_error="",
        unit="",
        unit_error="",
        bytes_written=0,
        bytes_stored=0,
        books=telegram.Books(),
        counts=(),
        latencies=(latency,),
        dtps=(),
    )
    status = telegram.Status(
        node="r",
        role="receiver",
        state="idle",
        destination=telegram.DestinationStatus(
            receiver="receiver", elapsed_s=1 / 3, memory="", first_incomplete="", counts=(), buffers=(buffer,)
        ),
    )
    assert decode(encode(status)) == status


@pytest.mark.parametrize("name", ["configure_source", "configure_destination", "status_receiver"])
def test_a_telegram_that_is_cut_short_or_goes_wrong_on_the_way_is_refused(name: str) -> None:
    data = encode(SAMPLES[name])
    end = len(data.rstrip())
    for cut in range(0, end, 7):
        with pytest.raises(TelegramError):
            decode(data[:cut])
        with pytest.raises(TelegramError):
            decode(data[:cut] + b"\x00" + data[cut:])
    middle = data.index(b"<", end // 2)
    with pytest.raises(TelegramError):
        decode(data[:middle] + b'<roce gso="true" gso="' + data[middle:])


def test_mutated_telegrams_are_read_or_refused_and_nothing_else() -> None:
    dice = random.Random(20)
    originals = [encode(sample) for sample in SAMPLES.values()]
    pieces = [
        b"<",
        b">",
        b"&",
        b'"',
        b"\x00",
        b"\xff",
        b"<!--",
        b"<![CDATA[",
        b"<?x?>",
        b"&#0;",
        b"&lt;",
        b"-1",
        b"9" * 30,
        b"NaN",
        b"xmlns=",
        b"/",
    ]
    refused = 0
    for _ in range(3000):
        data = bytearray(dice.choice(originals))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data))
            match dice.randrange(4):
                case 0:
                    data[at] = dice.randrange(256)
                case 1:
                    del data[at : at + dice.randint(1, 20)]
                case 2:
                    data[at:at] = dice.choice(pieces)
                case _:
                    data[at:at] = data[at : at + dice.randint(1, 60)]
        try:
            message = decode(bytes(data))
        except TelegramError:
            refused += 1
        else:
            assert decode(encode(message)) == message
    assert refused > 1000


@pytest.mark.parametrize(
    "module", [telegram_capabilities, telegram_orders, telegram_plan, telegram_status], ids=lambda one: one.__name__
)
def test_no_part_of_a_telegram_is_built_by_position(module: ModuleType) -> None:
    parts = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module.__name__
    ]
    assert parts
    assert {
        (part.__name__, field.name) for part in parts for field in dataclasses.fields(part) if not field.kw_only
    } == set()


def test_all_faults_of_a_short_document_are_told_at_once() -> None:
    text = (
        '<Configure xmlns="urn:rashpa:telegram:2" version="2" run="7" name="mine"><Destination receiver="receiver" port="70000" '
        'peer_link="rice" modules="1" module_width="64" module_height="32"/></Configure>'
    )
    with pytest.raises(TelegramError) as caught:
        decode(text.encode())
    assert caught.value.code == "config"
    said = str(caught.value)
    assert all(
        word in said
        for word in ('port: it is "70000"', 'peer_link: it is "rice"', "an element in it is missing; add", "Buffer")
    )
    assert len(said.splitlines()) == len(set(said.splitlines())) <= 17


def test_a_short_document_of_nothing_but_faults_is_refused_quickly() -> None:
    began = time.process_time()
    inner = "<Bad/>" * 5000
    with pytest.raises(TelegramError):
        decode(f'<Configure xmlns="urn:rashpa:telegram:2" version="2" run="7" name="mine">{inner}</Configure>'.encode())
    assert time.process_time() - began < 2.0
