# SPDX-License-Identifier: Apache-2.0
"""Buffers whose pipeline a card processes, in a run file: the order to the node, the cards that it may use, and refusals before anything starts."""

from pathlib import Path

import pytest

from rashpa.control.orders.grant import grant_of
from rashpa.control.orders.plan_telegrams import destination_telegram
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.run_file_reader import RunFileError
from rashpa.control.telegrams.telegram_xml import decode, encode

RUN = """\
[run]
name = "plan"
frames = 100
[detector]
width = 1024
height = 512
pixel = "uint16"
energy_kev = 12.4
[dataset]
kind = "jungfrau"
modules = 1
frames = 4
seed = 1
[[buffer]]
name = "full"
slots = 40
stack = 10
{keys}
kernel = [{kernels}]
sink = [{{ kind = "null" }}]
"""
PHOTONS = '{ name = "jungfrau", output = "photons" }'
COUNTED = PHOTONS + ', { name = "bragg_count", threshold = 5, min_pixels = 4 }'

LISTED = ', { name = "csr", threshold = 1 }'


def plan_of(folder: Path, keys: str, kernels: str = COUNTED) -> Plan:
    path = folder / "plan.toml"
    path.write_text(RUN.format(keys=keys, kernels=kernels))
    return load_plan(path)


@pytest.mark.parametrize("kernels", [PHOTONS, COUNTED, PHOTONS + LISTED, COUNTED + LISTED])
def test_a_simulated_card_is_told_and_granted_to_the_receiver_alone(tmp_path: Path, kernels: str) -> None:
    plan = plan_of(tmp_path, 'unit = "fpga"\ncard = "sim"', kernels)
    order = destination_telegram(plan, plan.receivers[0])
    assert decode(encode(order)) == order
    assert order.destination is not None
    (buffer,) = order.destination.buffers
    assert (buffer.keys.unit, buffer.card, buffer.device) == ("fpga", "sim", "0")
    assert grant_of(plan, "receiver", "t").cards == ("sim",)
    assert grant_of(plan, "emulator", "t").cards == ()


def test_the_directory_of_a_card_counts_from_the_run_files_folder(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, 'unit = "fpga"\ncard = "cards/unit"')
    place = str(tmp_path / "cards" / "unit")
    order = destination_telegram(plan, plan.receivers[0])
    assert order.destination is not None
    assert order.destination.buffers[0].card == place
    assert grant_of(plan, "receiver", "t").cards == (place,)


CARD = 'unit = "fpga"\ncard = "sim"'
WRONG = {
    "no card": ('unit = "fpga"', COUNTED, "unit fpga needs a card: name it"),
    "card of another unit": ('card = "sim"', COUNTED, "only unit fpga has a card"),
    "device": (CARD + "\ndevice = 0", COUNTED, "unit fpga has a card in place of devices"),
    "devices": (CARD + "\ndevices = [0, 1]", COUNTED, "unit fpga has a card in place of devices"),
    "trigger": (CARD + '\ntrigger = "graph"', COUNTED, "trigger graph is for unit cuda"),
    "keV": (CARD, '{ name = "jungfrau", output = "kev" }', "fpga has no version of jungfrau with output"),
    "borders": (CARD, PHOTONS.replace(" }", ', borders = "shared" }'), "fpga has no version of jungfrau with borders"),
    "another kernel": (CARD, PHOTONS + ', { name = "total_counts" }', "fpga"),
    "one more": (CARD, COUNTED + LISTED + ', { name = "total_counts" }', "fpga"),
    "no kernel": (CARD, "", "unit fpga runs jungfrau, alone or with bragg_count, csr or both behind it"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_work_is_refused_with_file_and_line(tmp_path: Path, what: str) -> None:
    keys, kernels, said = WRONG[what]
    with pytest.raises(RunFileError, match=r"plan\.toml") as refused:
        plan_of(tmp_path, keys, kernels)
    assert said in str(refused.value)


def test_a_card_has_one_buffer(tmp_path: Path) -> None:
    more = '[[buffer]]\nname = "other"\nslots = 40\nstack = 10\n{keys}\nkernel = [{kernels}]\nsink = [{{ kind = "null" }}]\n'
    for card, fits in (("sim", True), ("/dev", False)):
        text = (RUN + more).format(keys=f'unit = "fpga"\ncard = "{card}"', kernels=COUNTED)
        (tmp_path / "plan.toml").write_text(text)
        if fits:
            assert len(load_plan(tmp_path / "plan.toml").buffers) == 2
            continue
        with pytest.raises(RunFileError, match="full and other have the same card /dev; give each its own"):
            load_plan(tmp_path / "plan.toml")
