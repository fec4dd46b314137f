# SPDX-License-Identifier: Apache-2.0
"""Tests our links with the kernel's Soft-RoCE: whole acquisitions, and requests that must be refused."""

import re
from itertools import product

import pytest
from tests.vm.acquisition import Acquisition, Fan, Outcome, acquire, play
from tests.vm.machine import Machine

# Runs end with a short packet that needs padding (253 × 2 bytes a line, 31 lines): the kernel compares a message's length with
# its packets only where they are shorter than the path MTU.
ODD = {"width": 253, "height": 31}
LOSSLESS = [
    Acquisition(source, destination, ip, options={"pmtu": pmtu, "packetisation": packetisation, **ODD})
    for source, destination in (("verbs", "verbs"), ("roce", "verbs"), ("verbs", "roce"))
    for ip, (pmtu, packetisation) in product((4, 6), ((1024, "only"), (4096, "first_middle_last")))
]
RELIABLE = [
    Acquisition(
        source, destination, ip, options={"pmtu": pmtu, "transport": "rc", "packetisation": packetisation, **ODD}
    )
    for source, destination in (("verbs", "verbs"), ("roce", "verbs"), ("verbs", "roce"))
    for ip, (pmtu, packetisation) in product((4, 6), ((1024, "only"), (4096, "first_middle_last")))
]

READ = [
    Acquisition(
        "verbs",
        "verbs",
        ip,
        options={"pmtu": pmtu, "transport": "rc", "operation": "read", **size},
        timeout_s=80,
    )
    for ip, pmtu, size in ((4, 1024, ODD), (6, 4096, {"width": 256, "height": 32}))
]

# From the namespace `far` the two destinations are behind different interfaces, and two sources need an address each.
FANS = [
    Fan(source, hub, bind, leaves, devices, options={"transport": transport})
    for transport in ("uc", "rc")
    for source, hub, bind, leaves, devices in (
        ("verbs", "source", "10.0.1.1", ("10.0.1.2", "10.0.1.2"), ("rxe1",)),
        ("verbs", "destination", "10.0.1.2", ("10.0.1.1", "10.0.1.1"), ("rxe1",)),
        ("roce", "source", "0.0.0.0", ("10.0.2.1", "10.0.3.1"), ("rxe2", "rxe3")),
        ("roce", "destination", "10.0.2.1", ("10.0.2.2", "10.0.2.3"), ("rxe2",)),
    )
]

REFUSALS = [
    *("duplicates", "late", "overruns", "icrc_bad", "refused_key", "unknown_qp", "sequence_drops", "bad_records"),
    "crc_mismatches",
]


def name_of(run: Acquisition) -> str:
    words = [run.options.get("transport", "uc"), f"ipv{run.ip}", f"pmtu{run.options['pmtu']}"]
    return "-".join([run.source, run.destination, *map(str, words)])


def expect_all_arrived(run: Acquisition, outcome: Outcome) -> None:
    got = outcome.destination
    assert got["balanced"], outcome.story
    assert (got["expected"], got["complete"], got["accepted"], got["written"]) == (run.frames,) * 4, outcome.story
    assert got["events"] == run.events, "one immediate for each image of each module, no more and no less"
    assert outcome.source["send_errors"] == 0
    for refused in REFUSALS:
        # The kernel's timer of a reliable connection runs out now and then although answers come (its source says so): what
        # it then sends again has been executed before.
        if refused != "duplicates" or run.options.get("transport", "uc") == "uc":
            assert got[refused] == 0, (refused, outcome.story)
    expect_exact_wire(run, outcome)


def expect_exact_wire(run: Acquisition, outcome: Outcome) -> None:
    """Check by the kernel's own counters that one end accepted exactly what the other sent."""
    reliable = run.options.get("transport", "uc") == "rc"
    if run.source == "roce" and reliable:
        # Besides the writes there are the acknowledgements of credits.
        assert outcome.kernel_accepted("rxe2") >= outcome.source["packets"], outcome.story
    elif run.source == "roce":
        intact = outcome.source["packets"] - outcome.source["injected_corrupt"]
        assert outcome.kernel_accepted("rxe2") == intact, outcome.story
    elif run.destination == "roce" and reliable:
        # The last acknowledgements of credits find nobody.
        assert outcome.kernel_sent("rxe2") >= outcome.destination["packets"], outcome.story
    elif run.destination == "roce":
        assert outcome.kernel_sent("rxe2") == outcome.destination["packets"], outcome.story
    else:
        if not reliable:
            assert outcome.kernel_sent("rxe0") == outcome.kernel_accepted("rxe1") > 0, outcome.story
        # The last credits and acknowledgements find a queue pair that is gone.
        assert outcome.kernel_sent("rxe1") >= outcome.kernel_accepted("rxe0") > 0, outcome.story
    if run.destination == "verbs":
        device = "rxe2" if run.source == "roce" else "rxe1"
        assert outcome.kernel_immediates(device) == outcome.destination["events"], outcome.story
    if not outcome.source["injected_corrupt"]:
        assert "bad ICRC" not in outcome.kernel, outcome.story


@pytest.mark.parametrize("run", LOSSLESS, ids=name_of)
def test_every_image_arrives_over_unreliable_connections(rdma: Machine, run: Acquisition) -> None:
    outcome = acquire(rdma, name_of(run), run)
    expect_all_arrived(run, outcome)


@pytest.mark.parametrize("run", RELIABLE, ids=name_of)
def test_every_image_arrives_over_reliable_connections(rdma: Machine, run: Acquisition) -> None:
    outcome = acquire(rdma, name_of(run), run)
    expect_all_arrived(run, outcome)


@pytest.mark.parametrize("run", READ, ids=name_of)
def test_every_image_is_read_from_its_source(rdma: Machine, run: Acquisition) -> None:
    outcome = acquire(rdma, f"read-{name_of(run)}", run)
    got = outcome.destination
    assert got["balanced"], outcome.story
    assert (got["expected"], got["complete"], got["accepted"], got["written"]) == (run.frames,) * 4, outcome.story
    assert got["events"] == run.events
    assert outcome.source["send_errors"] == 0
    for refused in (*REFUSALS, "malformed"):
        assert refused == "duplicates" or got.get(refused, 0) == 0, (refused, outcome.story)
    # What carries the pixels comes from the source, and is asked for: it is more than the offers and events that the source posted.
    pixels = run.events * int(run.options["width"]) * int(run.options["height"]) * 2
    assert outcome.kernel_accepted("rxe1") >= pixels // int(run.options["pmtu"]), outcome.story
    assert outcome.source["packets"] < pixels // int(run.options["pmtu"]), outcome.story


def test_a_source_that_offers_a_place_outside_is_not_read(rdma: Machine) -> None:
    run = Acquisition(
        "verbs",
        "verbs",
        frames=8,
        options={"transport": "rc", "operation": "read", "rate-hz": 50, "deadline-ms": 500},
        source_options={"fault": "short-buffer"},
        destination_options={"expect": "complete=0,partial=0"},
    )
    outcome = acquire(rdma, "read-short-buffer", run)
    assert outcome.destination["missing"] == run.frames
    assert outcome.destination["refused_key"] > 0
    assert outcome.destination["balanced"]
    assert outcome.source["send_errors"] == 0, "the connection goes on"


@pytest.mark.parametrize("operation", ["write", "read"])
def test_paging_on_demand_is_refused_in_words(rdma: Machine, operation: str) -> None:
    """Check that the destination says why not: rxe pins all memory before Linux 6.15, and copies wrong bytes since."""
    run = Acquisition(
        "verbs", "verbs", options={"transport": "rc", "operation": operation, "paging": "on_demand", **ODD}
    )
    result = rdma.run(f"paging-{operation}", f"{run.programs()['destination']} || echo ended $?", 30)
    assert "ended 2" in result.output
    version = tuple(map(int, rdma.run("linux", "uname -r").output.split(".")[:2]))
    reason = "rxe1 pins all memory" if version < (6, 15) else "rxe1 is Soft-RoCE, which copies such memory"
    assert f"link.verbs.paging: on_demand, and {reason}" in result.output


@pytest.mark.parametrize("links", [("roce", "verbs"), ("verbs", "roce"), ("verbs", "verbs")], ids="-".join)
def test_writes_with_a_wrong_key_are_refused(rdma: Machine, links: tuple[str, str]) -> None:
    run = Acquisition(
        *links,
        frames=8,
        options={"flow": "paced", "rate-hz": 50, "deadline-ms": 500},
        source_options={"fault": "wrong-key"},
        destination_options={"expect": "complete=0,partial=0"},
    )
    outcome = acquire(rdma, f"wrong-key-{'-'.join(links)}", run)
    assert outcome.destination["missing"] == run.frames
    assert outcome.destination["events"] == 0
    assert outcome.destination["balanced"]
    if links != ("verbs", "verbs"):
        expect_exact_wire(run, outcome)


@pytest.mark.parametrize("links", [("roce", "verbs"), ("verbs", "roce"), ("verbs", "verbs")], ids="-".join)
def test_lines_behind_a_short_buffer_are_refused(rdma: Machine, links: tuple[str, str]) -> None:
    run = Acquisition(
        *links,
        frames=8,
        options={"flow": "paced", "rate-hz": 50, "deadline-ms": 500},
        source_options={"fault": "short-buffer"},
        destination_options={"expect": "complete=0,missing=0"},
    )
    outcome = acquire(rdma, f"short-buffer-{'-'.join(links)}", run)
    assert outcome.destination["partial"] == run.frames
    assert outcome.destination["balanced"]
    if links != ("verbs", "verbs"):
        expect_exact_wire(run, outcome)


def test_packets_with_a_wrong_icrc_are_dropped_by_the_kernel_and_stand_in_the_books(rdma: Machine) -> None:
    run = Acquisition(
        "roce",
        "verbs",
        frames=60,
        options={"deadline-ms": 1000},
        source_options={"fault": "bad-icrc", "fault-rate": 0.01, "fates": "$OUT/fates"},
        destination_options={"expect-fates": "$OUT/fates"},
    )
    outcome = acquire(rdma, "bad-icrc-roce-verbs", run)
    assert outcome.source["injected_corrupt"] > 0
    assert outcome.destination["complete"] < run.frames
    assert outcome.destination["balanced"]
    expect_exact_wire(run, outcome)


@pytest.mark.parametrize("packetisation", ["only", "first_middle_last"])
def test_a_reliable_connection_repairs_what_the_kernel_drops(rdma: Machine, packetisation: str) -> None:
    """Damage an ICRC: the kernel detects it, reports the missing packet when the next one comes, and accepts it when it is sent again."""
    run = Acquisition(
        "roce",
        "verbs",
        frames=60,
        options={"transport": "rc", "packetisation": packetisation, "deadline-ms": 10_000},
        source_options={"fault": "bad-icrc", "fault-rate": 0.01},
    )
    outcome = acquire(rdma, f"repair-{packetisation}", run)
    assert outcome.source["injected_corrupt"] > 0
    assert outcome.source["naks"] > 0
    assert outcome.source["retransmitted"] >= outcome.source["injected_corrupt"]
    assert outcome.source["connection_errors"] == 0
    assert outcome.destination["complete"] == run.frames
    assert outcome.kernel_immediates("rxe2") == run.events, "none is lost and none is executed twice"


def test_the_kernel_refuses_a_wrong_key_and_the_reliable_source_stops(rdma: Machine) -> None:
    run = Acquisition(
        "roce",
        "verbs",
        frames=8,
        options={"transport": "rc", "flow": "paced", "rate-hz": 50, "deadline-ms": 500},
        source_options={"fault": "wrong-key"},
        destination_options={"expect": "complete=0,partial=0"},
    )
    outcome = acquire(rdma, "wrong-key-rc", run)
    assert outcome.destination["missing"] == run.frames
    assert outcome.source["connection_errors"] == outcome.source["naks"] == run.modules
    assert outcome.source["send_errors"] > 0


@pytest.mark.parametrize(("source", "destination"), [("roce", "verbs"), ("verbs", "roce")])
def test_the_books_of_a_whole_acquisition_balance(rdma: Machine, source: str, destination: str) -> None:
    """Check four modules, more images than the ring has slots, several megabytes, and every image's checksum."""
    run = Acquisition(
        source,
        destination,
        frames=120,
        modules=4,
        options={"pmtu": 4096, "width": 256, "height": 64, "slots": 16, "stack": 8},
        timeout_s=80,
    )
    outcome = acquire(rdma, f"whole-{source}-{destination}", run)
    expect_all_arrived(run, outcome)


def name_of_fan(run: Fan) -> str:
    return f"fan-{'out' if run.hub == 'source' else 'in'}-{run.source}-verbs-{run.options['transport']}"


@pytest.mark.parametrize("run", FANS, ids=name_of_fan)
def test_the_books_balance_at_each_end_of_a_fan(rdma: Machine, run: Fan) -> None:
    played = play(rdma, name_of_fan(run), run.programs(), timeout_s=60)
    destinations = [said for said in played.printed.values() if said["role"] == "destination"]
    sources = [said for said in played.printed.values() if said["role"] == "source"]
    assert (len(sources), len(destinations)) == ((1, 2) if run.hub == "source" else (2, 1))
    for got in destinations:
        assert got["balanced"], played.story
        assert (got["expected"], got["complete"], got["accepted"], got["written"]) == (run.frames,) * 4, played.story
        for refused in REFUSALS:
            if refused != "duplicates" or run.options["transport"] == "uc":
                assert got[refused] == 0, (refused, played.story)
    # Two modules, wherever they come from and go to.
    assert sum(got["events"] for got in destinations) == 2 * run.frames
    assert sum(said["images_sent"] for said in sources) == 2 * run.frames
    assert sum(said["send_errors"] for said in sources) == 0
    assert sum(played.kernel_immediates(device) for device in run.devices) == 2 * run.frames
    if run.source == "roce" and run.options["transport"] == "uc":
        # Every packet of ours has been taken by the kernel, none twice and none by the wrong one.
        accepted = sum(played.kernel_accepted(device) for device in run.devices)
        assert accepted == sum(said["packets"] for said in sources), played.story
    if len(run.devices) == 2:
        assert [played.kernel_immediates(device) for device in run.devices] == [run.frames, run.frames], played.story
    assert "bad ICRC" not in played.kernel, played.story


def test_perftest_runs_beside_an_acquisition(rdma: Machine) -> None:
    """Check that the kernel serves perftest's queue pairs and ours at the same time, without disturbing each other."""
    run = Acquisition("roce", "verbs", frames=40)
    outcome = acquire(rdma, "perftest-beside", run, "perftest_write -c UC -x 1 -n 200 -s 8192 -m 1024")
    expect_all_arrived(run, outcome)
    assert outcome.kernel_sent("rxe1") == outcome.kernel_accepted("rxe0") == 200 * 8


def test_perftest_writes_between_two_devices_of_the_kernel(rdma: Machine) -> None:
    """Check the machine itself: no program of ours takes part."""
    result = rdma.run("perftest", "perftest_write -c UC -x 2 -n 200 -s 8192 -m 4096", 60)
    assert result.status == 0, result.output
    assert re.search(r"^ 8192 +200 ", result.output, re.MULTILINE), result.output
    assert "bad ICRC" not in result.kernel
