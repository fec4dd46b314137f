# SPDX-License-Identifier: Apache-2.0
import dataclasses

import pytest

from rashpa.control.nodes.node_load import Load, Thread, busy
from rashpa.control.nodes.node_progress import Receiving, Sending, progress_of
from rashpa.control.telegrams.telegram import Books, Status
from rashpa.testing.telegram_samples import telegram_samples

SAMPLES = telegram_samples()


def status(name: str) -> Status:
    found = SAMPLES[name]
    assert isinstance(found, Status)
    return found


def received(elapsed_s: float, complete: int, stored: int) -> Status:
    base = status("status_receiver")
    assert base.destination is not None
    (buffer,) = base.destination.buffers
    buffer = dataclasses.replace(buffer, books=Books(expected=2400, complete=complete), bytes_stored=stored)
    return dataclasses.replace(
        base, destination=dataclasses.replace(base.destination, elapsed_s=elapsed_s, buffers=(buffer,))
    )


def test_rates_are_those_since_the_last_look_and_before_that_since_the_run_began() -> None:
    first, second = received(10.0, 1000, 4000), received(12.0, 1100, 4100)
    (part,) = progress_of(None, first)
    assert isinstance(part, Receiving)
    assert (part.images_per_s, part.stored_bytes_per_s) == (100.0, 400.0)
    (part,) = progress_of(first, second)
    assert isinstance(part, Receiving)
    assert (part.images_per_s, part.stored_bytes_per_s) == (50.0, 50.0)
    assert part.done == pytest.approx(1100 / 2400)


def test_a_new_run_does_not_go_backwards() -> None:
    (part,) = progress_of(received(10.0, 1000, 4000), received(2.0, 50, 100))
    assert isinstance(part, Receiving)
    assert (part.images_per_s, part.stored_bytes_per_s) == (25.0, 50.0)


def test_margins_are_free_slots_and_lag() -> None:
    (part,) = progress_of(None, status("status_receiver"))
    assert isinstance(part, Receiving)
    assert (part.to_write, part.free_slots, part.waiting) == (10, 0.975, 10)
    (source,) = progress_of(None, status("status_emulator"))
    assert isinstance(source, Sending)
    assert (source.name, source.asked_hz, source.late_s) == ("right", 100.0, 25e-6)
    assert source.images_per_s == pytest.approx(1000 / 10.5)
    assert progress_of(None, status("status_idle")) == ()


def test_a_node_that_does_not_say_how_many_slots_it_has_has_no_margin() -> None:
    base = status("status_receiver")
    assert base.destination is not None
    buffers = tuple(dataclasses.replace(buffer, slots=0) for buffer in base.destination.buffers)
    (part,) = progress_of(
        None, dataclasses.replace(base, destination=dataclasses.replace(base.destination, buffers=buffers))
    )
    assert isinstance(part, Receiving)
    assert part.free_slots is None


def load(time_s: float, cpu_s: float, *threads: Thread, started_s: float = 100.0) -> Load:
    return Load(time_s, started_s, cpu_s, 1, 1, 1, 4, threads)


def test_the_busiest_thread_is_first_and_shares_are_of_the_time_between_two_looks() -> None:
    first = load(110.0, 5.0, Thread(1, "node", 2.0, 0), Thread(2, "link", 3.0, 1))
    second = load(112.0, 8.0, Thread(1, "node", 2.5, 0), Thread(2, "link", 5.0, 1), Thread(3, "new", 0.5, 2))
    share, threads = busy(first, second)
    assert share == 1.5
    assert [(one.name, one.processors, one.processor) for one in threads] == [
        ("link", 1.0, 1),
        ("node", 0.25, 0),
        ("new", 0.25, 2),
    ]
    share, threads = busy(None, first)
    assert share == 0.5
    assert busy(first, load(103.0, 1.0, started_s=101.0)) == (0.5, ()), "another process"
