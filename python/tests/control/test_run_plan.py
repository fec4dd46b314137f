# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from rashpa.control.capacity.loads import dtp_loads
from rashpa.control.orders.plan_telegrams import destination_telegram, source_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.rectangle import Rectangle
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.links import parameters_of
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.part_orders import Hdf5Order
from rashpa.control.telegrams.telegram import Endpoint, Placement
from rashpa.control.telegrams.telegram_xml import decode, encode
from rashpa.testing.run_file import run_file

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

HEAD = run_file(
    run={"name": "plan", "frames": 101},
    detector={"module": [{"x": 0, "y": 0}, {"x": 0, "y": 40}]},
    dataset={"modules": 2},
    receiver=None,
    buffer=None,
)
FULL = """\
[[buffer]]
name = "full"
sink = [{ kind = "null" }]
"""


def plan_of(tmp_path: Path, text: str) -> Plan:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    return load_plan(path)


def test_modules_lie_where_the_detector_says_and_gaps_stay_empty(tmp_path: Path) -> None:
    (full,) = plan_of(tmp_path, HEAD + FULL + "bands = 2\n").buffers
    assert (full.width, full.height, full.images) == (64, 72, 101)
    assert [(dtp.id, dtp.module, str(dtp.region), str(dtp.target)) for dtp in full.dtps] == [
        (0, 0, "[0, 0, 64, 16]", "[0, 0, 64, 16]"),
        (1, 0, "[0, 16, 64, 16]", "[0, 16, 64, 16]"),
        (2, 1, "[0, 0, 64, 16]", "[0, 40, 64, 16]"),
        (3, 1, "[0, 16, 64, 16]", "[0, 56, 64, 16]"),
    ]


def test_a_region_across_modules_becomes_one_dtp_each(tmp_path: Path) -> None:
    region = '[[buffer]]\nname = "centre"\nsink = [{ kind = "null" }]\nregion = [8, 24, 16, 24]\nevery = 5\nphase = 2\n'
    full, centre = plan_of(tmp_path, HEAD + FULL + region).buffers
    assert [(dtp.id, dtp.module, str(dtp.region), str(dtp.target)) for dtp in centre.dtps] == [
        (2, 0, "[8, 24, 16, 8]", "[0, 0, 16, 8]"),
        (3, 1, "[8, 0, 16, 8]", "[0, 16, 16, 8]"),
    ]
    assert centre.images == 20
    assert [centre.frame_of(index) for index in (0, 19)] == [2, 97]
    assert len(full.dtps) == 2


def test_dtps_may_be_placed_by_hand(tmp_path: Path) -> None:
    hand = '[[buffer]]\nname = "hand"\nsink = [{ kind = "null" }]\n[[buffer.dtp]]\nmodule = 1\nregion = [0, 0, 8, 4]\nplace = [0, 0]\n'
    hand += "[[buffer.dtp]]\nmodule = 0\nregion = [4, 4, 8, 4]\nplace = [8, 2]\n"
    (buffer,) = plan_of(tmp_path, HEAD + hand).buffers
    assert (buffer.width, buffer.height) == (16, 6)
    assert buffer.origin is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            FULL + "region = [0, 0, 65, 10]\n",
            "plan.toml:21: buffer[0].region: [0, 0, 65, 10] is not inside the assembled image [0, 0, 64, 72]",
        ),
        (FULL + "region = [-1, 0, 10, 10]\n", "is not inside the assembled image"),
        (FULL + "region = [0, 33, 64, 4]\n", "covers no module; modules lie at [0, 0, 64, 32], [0, 40, 64, 32]"),
        (FULL + "bands = 40\n", "plan.toml:21: buffer[0].bands: module 0 has 32 rows"),
        (FULL + "slots = 25\n", "plan.toml:21: buffer[0].slots: 25 slots; a multiple of the stack (10)"),
        (FULL + "slots = 10\n", "at least 2 stacks, for example 20"),
        (FULL + "phase = 1\n", "plan.toml:21: buffer[0].phase: 1; less than every (1)"),
        (FULL + "every = 500\nphase = 200\n", "no image of this buffer in 101 frames"),
        (FULL + FULL, "plan.toml:22: buffer[1].name: full is the name of an earlier buffer"),
        (
            FULL + '[[buffer.kernel]]\nname = "jungfrau"\n[[buffer.kernel]]\nname = "jungfrau"\n',
            "kernels come once each",
        ),
        (FULL.replace('[{ kind = "null" }]', '[{ kind = "hdf5" }, { kind = "hdf5" }]'), "two hdf5 sinks"),
        (
            FULL
            + "bands = 32\n"
            + "".join(f'[[buffer]]\nname = "b{n}"\nsink = [{{ kind = "null" }}]\nbands = 32\n' for n in range(4)),
            "320 DTPs at receiver, which takes 256; use fewer bands, modules or buffers, or more receivers",
        ),
        (
            FULL + "[faults]\ndead_modules = [{ module = 2, from_frame = 0 }]\n",
            "module 2 does not exist; modules are 0 … 1",
        ),
        (
            FULL + '[nodes]\nreceiver = "http://example.org:1"\n',
            "plan.toml:22: nodes.receiver: http://example.org:1; nodes elsewhere are reached by https",
        ),
        (
            FULL + "[[buffer.dtp]]\nmodule = 2\nregion = [0, 0, 8, 4]\nplace = [0, 0]\n",
            "plan.toml:22: buffer[0].dtp[0].module: module 2 does not exist",
        ),
        (
            FULL + "[[buffer.dtp]]\nmodule = 1\nregion = [60, 0, 8, 4]\nplace = [0, 0]\n",
            "dtp[0].region: [60, 0, 8, 4] is not inside the module's frame",
        ),
        (
            FULL + 2 * "[[buffer.dtp]]\nmodule = 1\nregion = [0, 0, 8, 4]\nplace = [0, 0]\n",
            "dtp[1].place: [0, 0, 8, 4] overlaps [0, 0, 8, 4] of dtp[0]",
        ),
        (
            FULL + '[link.roce]\nframing = "v1"\n[emulator]\naddress = "10.0.0.1"\n',
            'plan.toml:24: emulator.address: "10.0.0.1" is no link-local GID with its interface',
        ),
        (
            FULL + '[link.roce]\nframing = "v1"\n[receiver]\naddress = "fe80::1"\n',
            'receiver.address: "fe80::1" is no link-local GID with its interface',
        ),
        (FULL + '[link]\nsource = "verbs"\n[link.roce]\nframing = "v1"\n', 'v1 needs kind "roce" on both sides'),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, HEAD + text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("y = 40", "y = 20", "module 1 at [0, 20, 64, 32] overlaps module 0 at [0, 0, 64, 32]"),
        ("modules = 2", "modules = 3", "the dataset has 3 modules, [[detector.module]] lists 2"),
        (
            'kind = "pattern"\nwidth = 64',
            'kind = "pattern"\nwidth = 32',
            "the dataset has 32 × 32 pixels uint16, [detector] says 64 × 32 pixels uint16",
        ),
        (
            'kind = "pattern"\nwidth = 64\nheight = 32\nmodules = 2',
            'kind = "directory"\npath = "absent"',
            "absent does not exist; the folder",
        ),
    ],
)
def test_detector_and_dataset_must_agree(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in HEAD
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, HEAD.replace(old, new) + FULL)
    assert says in str(caught.value)


def test_missing_recordings_are_said_once_with_the_folder_that_is_there(tmp_path: Path) -> None:
    text = (EXAMPLES / "03_recorded_jungfrau.toml").read_text(encoding="utf-8").replace("../../shared", "nowhere")
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, text)
    first, second = str(caught.value).splitlines()
    assert "dataset.files" in first
    assert f"{tmp_path} is there" in first
    assert "(and 9 more)" in first
    assert "detector.calibration" in second


@pytest.mark.parametrize(
    "name",
    [
        "01_first_light.toml",
        "02_faults.toml",
        "03_recorded_jungfrau.toml",
        "06_two_receivers.toml",
        "07_two_emulators.toml",
    ],
)
def test_the_examples_can_be_planned(name: str) -> None:
    if "recorded" in name and not (EXAMPLES / "../../shared/data/jungfrau_m049").is_dir():
        pytest.skip("the recorded frames of ../shared/data are not here")
    plan = load_plan(EXAMPLES / name)
    order = destination_telegram(plan, plan.receivers[0])
    assert decode(encode(order)) == order
    count = len(plan.dtps)
    ends = {
        number: (
            Endpoint(address="127.0.0.1", port=1, qpn=2, rkey=3, credit_offset=4),
            Placement(
                pixels_offset=0,
                slot_bytes=1,
                slots=2,
                first_line_offset=0,
                pitch=1,
                line_bytes=1,
                lines=1,
                records_offset=9,
            ),
        )
        for number in range(count)
    }
    for emulator in plan.emulators:
        source = source_telegram(plan, emulator, ends)
        assert decode(encode(source)) == source


def test_the_beam_centre_is_that_of_the_buffer(tmp_path: Path) -> None:
    text = HEAD.replace("height = 32\n[[", "height = 32\nbeam_center_x = 30.0\nbeam_center_y = 35.0\n[[", 1)
    plan = plan_of(
        tmp_path, text + '[[buffer]]\nname = "centre"\nregion = [8, 24, 16, 24]\n[[buffer.sink]]\nkind = "hdf5"\n'
    )
    destination = destination_telegram(plan, plan.receivers[0]).destination
    assert destination is not None
    sink = destination.buffers[0].sinks[0]
    assert isinstance(sink, Hdf5Order)
    assert (sink.metadata.beam_center_x, sink.metadata.beam_center_y) == (22.0, 11.0)
    assert sink.prefix == "out/plan_centre"


def test_rectangles_meet_or_do_not() -> None:
    one = Rectangle(0, 0, 10, 10)
    assert one.common(Rectangle(10, 0, 5, 5)) is None
    assert one.common(Rectangle(9, 9, 5, 5)) == Rectangle(9, 9, 1, 1)
    assert one.holds(Rectangle(0, 0, 10, 10))
    assert not one.holds(Rectangle(0, 0, 0, 10))


def test_each_side_is_told_its_own_link_and_that_of_the_other(tmp_path: Path) -> None:
    link = '[link]\ndestination = "verbs"\n[link.verbs]\nverify = "sampled"\n[receiver]\ndevice = "rxe0"\n'
    plan = plan_of(tmp_path, HEAD + link + FULL)
    destination = destination_telegram(plan, plan.receivers[0]).destination
    assert destination is not None
    assert (destination.link, destination.peer_link) == ("verbs", "roce")
    said = parameters_of(destination.options)
    assert (said["device"], said["verify"]) == ("rxe0", "sampled")
    place = Placement(
        pixels_offset=0,
        slot_bytes=4096,
        slots=4,
        first_line_offset=0,
        pitch=64,
        line_bytes=64,
        lines=8,
        records_offset=65536,
    )
    ends = {
        dtp.id: (Endpoint(address="127.0.0.1", port=4791, qpn=17, rkey=1, credit_offset=0), place) for dtp in plan.dtps
    }
    source = source_telegram(plan, plan.emulators[0], ends).source
    assert source is not None
    assert {(dtp.link, dtp.peer_link) for dtp in source.dtps} == {("roce", "verbs")}
    (options,) = source.options
    assert "device" not in parameters_of(options)


def test_images_are_not_assembled_of_modules_of_both_shapes(tmp_path: Path) -> None:
    text = (EXAMPLES / "09_four_modules.toml").read_text()
    path = tmp_path / "mixed.toml"
    path.write_text(text.replace('name = "jungfrau"\n', 'name = "jungfrau"\nborders = "shared"\n', 1))
    with pytest.raises(
        RunFileError,
        match=r"buffer\[0\]\.kernel\[0\]\.borders: images are assembled of modules that are all upright, or all",
    ):
        load_plan(path)
    turned = text.replace("x = 0\ny = 0\n", "x = 0\ny = 0\nturn = 180\n").replace(
        "turn = 90 ", "flip = true\nturn = 180 "
    )
    assert len(load_plan_of(path, turned).dtps) > 4


def load_plan_of(path: Path, text: str) -> Plan:
    path.write_text(text)
    return load_plan(path)


def test_a_receiver_may_have_a_link_of_its_own(tmp_path: Path) -> None:
    nodes = '[[receiver]]\nname = "near"\nlink = "pcie"\n[[receiver]]\nname = "far"\nport = 0\n'
    far = FULL.replace('name = "full"', 'name = "other"\nreceiver = "far"')
    plan = plan_of(tmp_path, HEAD + nodes + FULL + far)
    told = [destination_telegram(plan, one).destination for one in plan.receivers]
    assert [(one.link, one.peer_link) for one in told if one] == [("pcie", "pcie"), ("roce", "roce")]
    place = Placement(
        pixels_offset=0,
        slot_bytes=4096,
        slots=4,
        first_line_offset=0,
        pitch=64,
        line_bytes=64,
        lines=8,
        records_offset=65536,
    )
    ends = {
        dtp.id: (Endpoint(address="127.0.0.1", port=4791, qpn=17, rkey=1, credit_offset=0), place) for dtp in plan.dtps
    }
    order = source_telegram(plan, plan.emulators[0], ends)
    assert order.source is not None
    assert [one.kind for one in order.source.options] == ["pcie", "roce"]
    links = {load.dtp.id: load.source_link for load in dtp_loads(plan)}
    assert links == {dtp.id: dtp.link for dtp in order.source.dtps}
    assert [load.packets == 0 for load in dtp_loads(plan)] == [load.source_link == "pcie" for load in dtp_loads(plan)]
    assert decode(encode(order)) == order
    with pytest.raises(RunFileError, match=r"faults\.drop: pcie has no packets that faults could hit"):
        plan_of(tmp_path, HEAD + nodes + FULL + far + "[faults]\ndrop = 0.1\n")


def test_what_a_foreign_source_needs_reaches_the_receiver(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, HEAD + "[link.roce]\nunit_bytes = 8\nrecords = false\n" + FULL)
    order = destination_telegram(plan, plan.receivers[0])
    assert order.destination is not None
    said = parameters_of(order.destination.options)
    assert (said["unit_bytes"], said["records"]) == (8, False)
    assert decode(encode(order)) == order
    older = encode(order).replace(b' unit_bytes="8"', b"").replace(b' records="false"', b"")
    told = decode(older)
    assert isinstance(told, type(order))
    assert told.destination is not None
    said = parameters_of(told.destination.options)
    assert (said["unit_bytes"], said["records"]) == (0, True)


def test_shared_memory_is_one_link_for_both_sides(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        HEAD + '[link]\nkind = "pcie"\n[link.pcie]\nverify = "off"\nengine = "cuda"\nengine_device = 1\n' + FULL,
    )
    destination = destination_telegram(plan, plan.receivers[0]).destination
    assert destination is not None
    assert (destination.link, destination.peer_link) == ("pcie", "pcie")
    assert parameters_of(destination.options) == {"verify": "off", "engine": "cuda", "engine_device": 1}
    place = Placement(
        pixels_offset=0,
        slot_bytes=4096,
        slots=4,
        first_line_offset=0,
        pitch=64,
        line_bytes=64,
        lines=8,
        records_offset=65536,
    )
    ends = {
        dtp.id: (Endpoint(address="/proc/4711/fd/12", port=0, qpn=dtp.id, rkey=3735928559, credit_offset=0), place)
        for dtp in plan.dtps
    }
    order = source_telegram(plan, plan.emulators[0], ends)
    assert decode(encode(order)) == order


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[link]\nsource = "pcie"\n', "19: link.source: pcie is memory that both sides map"),
        ('[link]\nkind = "pcie"\ndestination = "verbs"\n', "20: link.destination: pcie is memory"),
        ('[link]\nkind = "pcie"\n[faults]\ncorrupt = 0.1\n', "21: faults.corrupt: pcie has no packets"),
        ('[link]\nsource = "verbs"\n[faults]\ndrop = 0.1\n', "21: faults.drop: an RNIC injects no faults"),
        (
            '[link.roce]\ntransport = "rc"\nicrc = "off"\n[faults]\ncorrupt = 0.1\n',
            "22: faults.corrupt: with transport rc and icrc off a damaged packet",
        ),
    ],
)
def test_what_a_link_cannot_do_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(RunFileError, match=says):
        plan_of(tmp_path, HEAD + text + FULL)
