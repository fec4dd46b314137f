#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of a sink stream2: images/s of an unthrottled run into files only, and into files and to consumers. Rounds of all kinds
alternate; figures are medians. A consumer is a separate process that receives messages and reads their first bytes; one of four may be stopped
(SIGSTOP). It also measures the unavoidable processor time: compressing an image with one thread, and sending a message of the same length through
ZeroMQ to one consumer. That is the cost of consumers on the acquiring machine when all its processors are busy. Prints rows; --json writes them with
machine facts.

Usage: stream.py [--frames 1500] [--rounds 5] [--folder FOLDER] [--json OUT.json]
"""

import argparse
import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import zmq

import rashpa
from rashpa import _native
from rashpa.control.books.outcome import Outcome
from rashpa.control.nodes.machine import measured, write_measured
from rashpa.data.stored.reader import open_run
from rashpa.testing.free_ports import free_ports

SIDE, SLOTS, STACK, WAITING = 1024, 120, 10, 1024
MESSAGES = 1000


def consume(endpoint: str, ready: Any, stands: bool) -> None:
    """Receive messages until the end; with `stands`, stop with the first message."""
    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.linger, pull.reconnect_ivl = 0, 10
        pull.connect(endpoint)
        ready.set()
        while b"end" not in bytes(pull.recv(copy=False).buffer[:16]):
            if stands:
                os.kill(os.getpid(), signal.SIGSTOP)


def consume_alone(endpoint: str, spent: Any) -> None:
    """Receive messages, and report the processor time that this took."""
    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.connect(endpoint)
        pull.recv(copy=False)
        before = time.process_time()
        for _ in range(MESSAGES):
            pull.recv(copy=False)
        spent.put(time.process_time() - before)


def zeromq_alone_ms(size: int) -> tuple[float, float]:
    """Return the processor time for one message, in ms, of the sender and of the receiver."""
    context = multiprocessing.get_context("spawn")
    spent: Any = context.Queue()
    messages = [bytearray(np.random.default_rng(n).bytes(size)) for n in range(100)]  # more than caches hold
    with zmq.Context() as zeromq, zeromq.socket(zmq.PUSH) as push:
        push.sndhwm, push.linger, push.sndbuf = 256, 0, 200_000
        port = push.bind_to_random_port("tcp://127.0.0.1")
        child = context.Process(target=consume_alone, args=(f"tcp://127.0.0.1:{port}", spent), daemon=True)
        child.start()
        push.send(b"begin")
        before = time.process_time()
        for n in range(MESSAGES):
            push.send(messages[n % len(messages)], copy=False)
        received = spent.get(timeout=60)
        child.join()
        return (time.process_time() - before) / MESSAGES * 1e3, received / MESSAGES * 1e3


def compressed_ms(master: Path) -> tuple[float, int]:
    """Return the processor time of one thread in ms to compress an image of the file, and its compressed bytes."""
    codec, stored = _native.BitshuffleLz4(2), open_run(master)
    images = [stored.image(n) for n in range(min(60, len(stored)))]
    room = np.empty(codec.bound(images[0].nbytes, 2), np.uint8)
    before = time.process_time()
    sizes = [codec.compress(np.ascontiguousarray(image).view(np.uint8).ravel(), room) for image in images]
    return (time.process_time() - before) / len(images) * 1e3, int(statistics.mean(sizes))


def run(folder: Path, frames: int, consumers: int, stopped: int = 0) -> Outcome:
    sinks: list[dict[str, Any]] = [{"kind": "hdf5"}]
    port = free_ports(max(1, consumers))
    context = multiprocessing.get_context("spawn")
    children = []
    for n in range(consumers):
        ready = context.Event()
        given = (f"tcp://127.0.0.1:{port + n}", ready, n >= consumers - stopped)
        children.append(context.Process(target=consume, args=given, daemon=True))
        children[-1].start()
        if not ready.wait(60):
            raise TimeoutError("a consumer did not start within a minute")
    if consumers:
        sinks.append(
            {
                "kind": "stream2",
                "endpoint": f"tcp://127.0.0.1:{port}",
                "consumers": consumers,
                "waiting": WAITING,
                "wait_s": 3.0,
            }
        )
    try:
        return rashpa.run(
            {
                "run": {"name": "bench", "frames": frames, "output": str(folder), "existing": "replace"},
                "detector": {"width": 1024, "height": 512, "module": [{"x": 0, "y": 0}, {"x": 0, "y": 512}]},
                "dataset": {"kind": "jungfrau", "modules": 2, "frames": 30, "hit_fraction": 0.5},
                "link": {"kind": "pcie", "port": 0},
                "buffer": [
                    {
                        "name": "photons",
                        "slots": SLOTS,
                        "deadline_ms": 20_000,
                        "stack": STACK,
                        "sink": sinks,
                        "kernel": [{"name": "jungfrau"}],
                    }
                ],
            }
        )
    finally:
        for child in children:
            child.kill()
            child.join()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--frames", type=int, default=1500)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--folder", type=Path, help="for the files; of temporary files when not given")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    kinds = {
        "files alone": lambda folder: run(folder, chosen.frames, 0),
        "files and one consumer": lambda folder: run(folder, chosen.frames, 1),
        "files and four consumers": lambda folder: run(folder, chosen.frames, 4),
        "files and four consumers, one of them stopped": lambda folder: run(folder, chosen.frames, 4, stopped=1),
    }
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    missed: dict[str, list[list[int]]] = {kind: [] for kind in kinds}
    packing: list[tuple[float, int]] = []
    sending: list[tuple[float, float]] = []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=chosen.folder) as name:
        for _ in range(chosen.rounds):
            for kind, once in kinds.items():
                outcome = once(Path(name))
                if not outcome.good:
                    raise AssertionError(outcome.problem or outcome.reasons)
                rates[kind].append(outcome.rates.images_per_s)
                missed[kind].append([one.missed for sink in outcome.buffers[0].sinks for one in sink.consumers])
                print(f"{kind}: {rates[kind][-1]:.0f} images/s, missed {missed[kind][-1]}", flush=True)
            packing.append(compressed_ms(Path(name) / "bench_photons_master.h5"))
            sending.append(zeromq_alone_ms(packing[-1][1]))
    alone = statistics.median(rates["files alone"])
    rows: list[dict[str, Any]] = []
    for kind, values in rates.items():
        value = statistics.median(values)
        against = {"against": "files alone", "against_value": round(alone, 1), "ratio": round(value / alone, 3)}
        rows.append({"what": kind, "value": round(value, 1), "unit": "images/s", **against})
        rows[-1]["missed by consumer, worst round"] = max(missed[kind], key=sum)
        print(f"{kind:50} {value:8.0f} images/s {value / alone:6.2f} x")
    floor = {
        "an image compressed by one thread": statistics.median(ms for ms, _ in packing),
        "its message sent by ZeroMQ alone": statistics.median(ms for ms, _ in sending),
        "its message received by ZeroMQ alone": statistics.median(ms for _, ms in sending),
    }
    for what, ms in floor.items():
        rows.append({"what": what, "value": round(ms, 3), "unit": "ms of a processor"})
        print(f"{what:50} {ms:8.3f} ms of a processor")
    if chosen.json:
        name = f"stream: {chosen.frames} images of {SIDE} x {SIDE} photons, medians of {chosen.rounds}"
        facts = {"bytes of a message": packing[-1][1], "load when it began": round(load, 1)}
        write_measured(chosen.json, measured(name, rows, **facts))


if __name__ == "__main__":
    main()
