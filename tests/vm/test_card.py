# SPDX-License-Identifier: Apache-2.0
"""Tests the simulated hardware sender with the kernel's Soft-RoCE, which accepts every packet that was not damaged on purpose."""

from itertools import product
from pathlib import Path

import pytest
from tests.vm.acquisition import Outcome
from tests.vm.card import CardRun, Wire, acquire_from_card

M049 = Path(__file__).resolve().parents[2].parent / "shared/data/jungfrau_m049"

LOSSLESS = [
    CardRun(ip, pmtu=pmtu, packetisation=packetisation)
    for ip, (pmtu, packetisation) in product((4, 6), ((1024, "only"), (4096, "first_middle_last")))
]


def name_of(run: CardRun) -> str:
    return f"card-ipv{run.ip}-pmtu{run.pmtu}-{run.packetisation}"


def expect_all_taken(run: CardRun, outcome: Outcome) -> None:
    got, sent = outcome.destination, outcome.source
    assert got["balanced"], outcome.story
    assert (got["expected"], got["complete"], got["accepted"], got["written"]) == (run.frames,) * 4, outcome.story
    assert got["crc_mismatches"] == got["bad_records"] == 0, outcome.story
    assert sent["images_sent"] == got["events"] == outcome.kernel_immediates("rxe0") == run.events, outcome.story
    assert sent["packets"] == run.events * sent["packets_an_image"], outcome.story
    assert outcome.kernel_accepted("rxe0") == sent["packets"], outcome.story
    assert sent["icrc_bad"] == 0, "what the kernel sends has a right ICRC for the card, too"
    assert "bad ICRC" not in outcome.kernel, outcome.story


@pytest.mark.parametrize("run", LOSSLESS, ids=name_of)
def test_the_kernel_takes_every_packet_of_the_card_and_its_credits_are_obeyed(wire: Wire, run: CardRun) -> None:
    outcome = acquire_from_card(wire, name_of(run), run)
    expect_all_taken(run, outcome)
    assert outcome.source["credits"] > 0, "the ring has 16 slots for 40 images"
    assert outcome.kernel_sent("rxe0") >= outcome.source["credits"], outcome.story


@pytest.mark.parametrize("run", LOSSLESS, ids=name_of)
def test_the_kernel_takes_every_packet_of_descriptors_that_software_pushes(wire: Wire, run: CardRun) -> None:
    outcome = acquire_from_card(wire, f"pushed-{name_of(run)}", run, pushed=True)
    got, sent = outcome.destination, outcome.source
    assert got["balanced"], outcome.story
    assert (got["expected"], got["complete"], got["accepted"], got["written"]) == (run.frames,) * 4, outcome.story
    assert sent["images_sent"] == got["events"] == outcome.kernel_immediates("rxe0") == run.events, outcome.story
    assert sent["send_errors"] == 0
    assert outcome.kernel_accepted("rxe0") == sent["packets"], outcome.story


@pytest.mark.parametrize("packetisation", ["only", "first_middle_last"])
def test_dropped_packets_and_flipped_bits_stand_in_the_books(wire: Wire, packetisation: str) -> None:
    run = CardRun(frames=20, width=256, height=32, packetisation=packetisation)
    packets = 17  # of an image: two lines each, and the event
    # Linux' Soft-RoCE takes nothing more of a queue pair that has lost a packet inside a message; at its beginning it may.
    inside = 5 if packetisation == "only" else 0
    line, event, bit = 2 * packets + inside, 6 * packets - 1, 9 * packets + inside
    outcome = acquire_from_card(
        wire,
        f"card-faults-{packetisation}",
        run,
        {"faults": f"drop:0:{line},drop:1:{event},flip:1:{bit}:4000", "fates": "{out}/fates"},
        {"expect-fates": "{out}/fates", "deadline-ms": 1000},
    )
    assert outcome.source["packets_an_image"] == packets
    assert outcome.source["faults"] == 3
    assert outcome.destination["balanced"], outcome.story
    assert outcome.destination["complete"] == run.frames - 3, outcome.story
    assert outcome.kernel_immediates("rxe0") == run.events - 1
    assert outcome.kernel_accepted("rxe0") == outcome.source["packets"] - 3, outcome.story


def test_after_abort_the_next_run_is_whole(wire: Wire) -> None:
    for turn, images in enumerate((1, 9)):
        broken = CardRun(frames=200)
        outcome = acquire_from_card(
            wire,
            f"card-abort-{turn}",
            broken,
            {"abort-after": images, "fates": "{out}/fates"},
            {"expect-fates": "{out}/fates", "deadline-ms": 500},
        )
        assert images <= outcome.source["images_sent"] < broken.events, outcome.story
        run = CardRun(frames=20, ip=6 if turn else 4)
        expect_all_taken(run, acquire_from_card(wire, f"card-after-abort-{turn}", run))


@pytest.mark.skipif(not M049.is_dir(), reason="needs the recorded frames of ../shared/data/jungfrau_m049")
def test_recorded_frames_arrive_whole(wire: Wire) -> None:
    files = sorted(M049.glob("mod5_raw?.bin.zst"))
    run = CardRun(frames=len(files), modules=1, width=1024, height=512, pmtu=4096, timeout_s=120)
    outcome = acquire_from_card(
        wire, "card-recorded", run, {"raw": ",".join(map(str, files))}, {"slots": 4, "stack": 2}
    )
    expect_all_taken(run, outcome)
    assert outcome.source["payload_bytes"] == len(files) * (1024 * 512 * 2 + 128)
