#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images a second that programs take from a sender of DECTRIS Stream V2: 4-megapixel images of 16 bits, packed with bslz4. Rounds of all kinds alternate; figures
are medians, and ratios medians of those of each round. A sender in a process of its own (pyzmq) sends messages that it has made before, with another `image_id` each.

  client        pyzmq, cbor2 and DECTRIS's own decoder: each image becomes an array, and nothing else is done with it
  client_h5py   the same, and h5py writes each image with the filter bitshuffle (hdf5plugin)
  rashpa        a run with the link stream2, the kernel total_counts and no file
  rashpa_hdf5   the same into NXmx files

Prints rows; --json writes them with machine facts. Usage: stream2_source.py [--images 300] [--rounds 3] [--threads 3] [--json OUT.json]
"""

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cbor2
import h5py
import hdf5plugin
import numpy as np
import zmq

import rashpa
from rashpa.control.nodes.machine import measured, write_measured
from rashpa.testing.free_ports import free_ports

ROWS, COLUMNS, DIFFERENT = 2162, 2068, 20
PLACE = 0xFEDCBA98  # of the image_id, in four bytes


def messages() -> list[bytearray]:
    """Return images of a few photons as messages, with image_id PLACE."""
    made = []
    for number in range(DIFFERENT):
        image = np.random.default_rng(number).poisson(0.2, (ROWS, COLUMNS)).astype(np.uint16)
        with h5py.File("memory", "w", driver="core", backing_store=False) as file:
            data = file.create_dataset("data", data=image, chunks=image.shape, **hdf5plugin.Bitshuffle(cname="lz4"))
            chunk = data.id.read_direct_chunk((0, 0))[1]
        packed = cbor2.CBORTag(40, [[ROWS, COLUMNS], cbor2.CBORTag(69, cbor2.CBORTag(56500, ["bslz4", 2, chunk]))])
        made.append(
            bytearray(
                cbor2.dumps(
                    {"type": "image", "series_id": 1, "image_id": PLACE, "data": {"threshold_1": packed}},
                )
            )
        )
    return made


def send(port: int, images: int, ready: Any, go: Any) -> None:
    """Send a series when `go` is set."""
    made = messages()
    at = [one.index(PLACE.to_bytes(4, "big")) for one in made]
    with zmq.Context() as context, context.socket(zmq.PUSH) as push:
        push.linger, push.sndhwm = 60_000, 50
        push.bind(f"tcp://127.0.0.1:{port}")
        ready.set()
        go.wait(120)
        push.send(cbor2.dumps({"type": "start", "series_id": 1, "channels": ["threshold_1"]}))
        for number in range(images):
            one, place = made[number % DIFFERENT], at[number % DIFFERENT]
            one[place : place + 4] = number.to_bytes(4, "big")
            push.send(bytes(one), copy=False)
        push.send(cbor2.dumps({"type": "end", "series_id": 1}))


def client(port: int, images: int, folder: Path, *, writes: bool) -> float:
    """Return the rate, images/s, of a client in Python."""
    from dectris.compression import decompress

    with (
        zmq.Context() as context,
        context.socket(zmq.PULL) as pull,
        h5py.File(folder / "client.h5", "w") as file,
    ):
        pull.connect(f"tcp://127.0.0.1:{port}")
        data = file.create_dataset(
            "data", (images, ROWS, COLUMNS), np.uint16, chunks=(1, ROWS, COLUMNS), **hdf5plugin.Bitshuffle(cname="lz4")
        )
        taken, began = 0, 0.0
        while taken < images:
            message = cbor2.loads(pull.recv())
            if message["type"] != "image":
                began = time.perf_counter()
                continue
            sides, typed = message["data"]["threshold_1"].value
            algorithm, element, packed = typed.value.value
            image = np.frombuffer(decompress(packed, algorithm, elem_size=element), "<u2").reshape(sides)
            if writes:
                data[message["image_id"]] = image
            taken += 1
        file.flush()
        return images / (time.perf_counter() - began)


def ours(port: int, images: int, folder: Path, threads: int, *, writes: bool) -> float:
    """Return the rate of a run, images/s, from its first image to its last one."""
    outcome = rashpa.run(
        {
            "run": {"name": "bench", "frames": images, "output": str(folder), "existing": "replace"},
            "detector": {"width": COLUMNS, "height": ROWS, "control": {"kind": "none", "silence_s": 60.0}},
            "link": {"kind": "stream2", "stream2": {"address": f"tcp://127.0.0.1:{port}"}},
            "receiver": {"threads": threads},
            "buffer": [
                {
                    "name": "full",
                    "slots": 40,
                    "stack": 5,
                    "deadline_ms": 20_000,
                    "kernel": [{"name": "total_counts"}],
                    "sink": [{"kind": "hdf5" if writes else "null"}],
                }
            ],
        }
    )
    if outcome.books.complete != images:
        raise RuntimeError(f"{outcome.books.complete} of {images} images came")
    return images / outcome.acquisition_s


def rate_of(images: int, work: Callable[[int, Path], float]) -> float:
    """Start a sender, and return the rate of the work that receives its images."""
    context = multiprocessing.get_context("spawn")
    ready, go = context.Event(), context.Event()
    port = free_ports(1)
    sender = context.Process(target=send, args=(port, images, ready, go), daemon=True)
    sender.start()
    if not ready.wait(120):
        raise TimeoutError("the sender did not start within two minutes")
    go.set()
    try:
        with tempfile.TemporaryDirectory() as folder:
            return work(port, Path(folder))
    finally:
        sender.kill()
        sender.join()


PEERS = {"rashpa": "client", "rashpa_hdf5": "client_h5py"}


def row_of(name: str, rates: dict[str, list[float]]) -> dict[str, Any]:
    """Return the median rate of a kind, and the median of its ratios to its peer in the same round."""
    peer = PEERS.get(name, name)
    return {
        "what": name,
        "value": round(statistics.median(rates[name]), 1),
        "unit": "images/s",
        "against": peer,
        "against_value": round(statistics.median(rates[peer]), 1),
        "ratio": round(
            statistics.median(mine / theirs for mine, theirs in zip(rates[name], rates[peer], strict=True)), 3
        ),
        "rounds": [round(one, 1) for one in rates[name]],
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--images", type=int, default=300)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--threads", type=int, default=3, help="of the receiver: one reads, the others unpack")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    kinds: dict[str, Callable[[int, Path], float]] = {
        "client": lambda port, folder: client(port, chosen.images, folder, writes=False),
        "rashpa": lambda port, folder: ours(port, chosen.images, folder, chosen.threads, writes=False),
        "client_h5py": lambda port, folder: client(port, chosen.images, folder, writes=True),
        "rashpa_hdf5": lambda port, folder: ours(port, chosen.images, folder, chosen.threads, writes=True),
    }
    rates: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(chosen.rounds):
        for name, work in kinds.items():
            rates[name].append(rate_of(chosen.images, work))
            print(f"{name:12} {rates[name][-1]:8.1f} images/s", file=sys.stderr)
    rows = [row_of(name, rates) for name in kinds]
    for row in rows:
        print(f"{row['what']:12} {row['value']:8} {row['unit']}, {row['ratio']} x {row['against']}")
    if chosen.json:
        size = {"rows": ROWS, "columns": COLUMNS, "message_bytes": int(np.mean([len(one) for one in messages()]))}
        facts = {"images": chosen.images, "threads": chosen.threads, "image": size}
        write_measured(chosen.json, measured("stream2_source", rows, **facts))


if __name__ == "__main__":
    main()
