# SPDX-License-Identifier: Apache-2.0
"""Sends hostile traffic to a service during a run at 500 Hz: every image is stored, and memory stays within the limits of docs/reference/doors.md.
`make test-strangers` takes 60 s for each service."""

import contextlib
import functools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rashpa.testing.run_file import small_run

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(
        "RASHPA_STRANGERS_S" not in os.environ, reason="minutes of hostile traffic: `make test-strangers`"
    ),
]

COMMAND = [sys.executable, "-m", "rashpa.cli.entry"]
SECONDS = float(os.environ.get("RASHPA_STRANGERS_S", "4"))
RATE_HZ = 500
TOKEN = "the-token-of-this-run"
MOST_MIB = 150
"""That a process may grow by. A quiet receiver grows by 78 when a run is configured."""
NOBODY = 65534
REQUEST = "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\n\r\n"
UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
PATHS = [
    "/",
    "/telegram",
    "/status",
    "/metrics",
    "/log?last=1000",
    "/ws",
    "/page.js",
    "/token",
    "/?token=guess",
    "/views/x",
    "/../..",
]


@contextlib.contextmanager
def process(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a process during the context; yield it with the line that it prints when it is ready."""
    environment = {**os.environ, "RASHPA_TOKEN": TOKEN}
    with (folder / f"{words[0]}.err").open("w") as errors:
        command = [*COMMAND, *words, "--port", "0"]
        with subprocess.Popen(command, cwd=folder, stdout=-1, stderr=errors, text=True, env=environment) as found:
            assert found.stdout is not None
            try:
                yield found, found.stdout.readline()
            finally:
                found.send_signal(signal.SIGTERM)
                found.communicate(timeout=60)


def peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def visit(port: int, dice: random.Random) -> None:
    """Make one hostile request."""
    with socket.create_connection(("127.0.0.1", port), 1.0) as door:
        door.settimeout(0.05)
        way = dice.randrange(7)
        if way == 0:
            door.sendall(dice.randbytes(4096))
        elif way == 1:
            door.sendall(b"GET /status HTTP/1.1\r\n" + b"X-A: " + b"a" * (64 << 10))
        elif way == 2:
            door.sendall(
                b"POST /telegram HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n" + b"<" * (1 << 20)
            )
        elif way == 3:
            door.sendall(b"G")  # and no more
        else:
            host = dice.choice([f"127.0.0.1:{port}", "evil.example", f"evil.example:{port}", ""])
            more = dice.choice(
                ["", UPGRADE, "Origin: http://evil.example\r\n", "Authorization: Bearer guess\r\n", "Cookie: a=b\r\n"]
            )
            body = dice.choice(["", "token=guess", "<telegram/>", "{" * 1000])
            method = dice.choice(["GET", "POST", "PUT", "OPTIONS"])
            asked = (
                REQUEST.format(method=method, path=dice.choice(PATHS), host=host, more=more, length=len(body)) + body
            )
            door.sendall(asked.encode() * dice.choice([1, 50]))
        door.recv(1 << 16)


def knock(port: int, until: threading.Event) -> None:
    """Make hostile requests until the run ends."""
    dice = random.Random(port)
    while not until.is_set():
        with contextlib.suppress(OSError):
            visit(port, dice)


def litter(out: Path, until: threading.Event) -> None:
    """Place foreign files under the names that managers check, and lock readable files."""
    import fcntl

    dice = random.Random(1)
    held: list[int] = []
    while not until.wait(0.002):  # wait: as fast as somebody can
        path = out / dice.choice(["r_stop.json", "r_steer.json", "r_join.json"])
        with contextlib.suppress(OSError):
            path.unlink()
        with contextlib.suppress(OSError):
            way = dice.randrange(3)
            if way == 0:
                os.mkfifo(path)
            elif way == 1:
                path.symlink_to(out.parent / "run.toml")
            else:
                path.write_bytes(b'{"id": "x", "what": ' + b"[" * 10_000)
            if os.geteuid() == 0:
                os.lchown(path, NOBODY, NOBODY)
        with contextlib.suppress(OSError):
            file = os.open(dice.choice(sorted(out.iterdir())), os.O_RDONLY | os.O_NONBLOCK)
            held.append(file)
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        while len(held) > 20:
            os.close(held.pop(0))
    for file in held:
        os.close(file)


@contextlib.contextmanager
def attacked(attacks: list[Callable[[threading.Event], None]]) -> Iterator[None]:
    until = threading.Event()
    threads = [threading.Thread(target=attack, args=(until,)) for attack in attacks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        until.set()
        for thread in threads:
            thread.join()


@pytest.mark.timeout(60 + 5 * SECONDS)
@pytest.mark.parametrize("door", ["control link", "page", "files"])
def test_every_image_is_stored_whatever_happens_at_a_door(tmp_path: Path, door: str) -> None:
    frames = int(SECONDS * RATE_HZ)
    text = small_run(
        run={"name": "r", "frames": frames, "output": "out"}, detector={"rate_hz": RATE_HZ}, link={"flow": "credits"}
    )
    (tmp_path / "out").mkdir(mode=0o777)
    with process(tmp_path, "receiver") as (receiver, said), process(tmp_path, "emulator") as (emulator, said_too):
        receiving, emitting = (json.loads(line)["url"] for line in (said, said_too))
        (tmp_path / "run.toml").write_text(f'{text}[nodes]\nreceiver = "{receiving}"\nemulator = "{emitting}"\n')
        with process(tmp_path, "dashboard", "run.toml") as (page, address):
            ports = [int(url.rstrip("/").rpartition(":")[2]) for url in (receiving, emitting)]
            if door == "page":
                ports = [int(address.partition("?")[0].strip().rstrip("/").rpartition(":")[2])]
            before = {one.pid: peak_mib(one.pid) for one in (receiver, emulator, page)}
            attacks: list[Callable[[threading.Event], None]] = [
                functools.partial(knock, port) for port in ports for _ in range(2)
            ]
            if door == "files":
                attacks = [lambda until: litter(tmp_path / "out", until)]
            words = [*COMMAND, "run", "run.toml", "-q", "--output", "report", "--no-page"]
            environment = {**os.environ, "RASHPA_TOKEN": TOKEN}
            with attacked(attacks):
                done = subprocess.run(
                    words,
                    cwd=tmp_path,
                    capture_output=True,
                    text=True,
                    env=environment,
                    timeout=60 + 4 * SECONDS,
                    check=False,
                )
            grown = {
                name: peak_mib(one.pid) - before[one.pid]
                for name, one in (("receiver", receiver), ("emulator", emulator), ("page", page))
            }
            assert page.poll() is None
    assert done.returncode == 0, done.stderr
    books = json.loads((tmp_path / "report" / "report.json").read_text())["books"]
    assert (books["complete"], books["written"]) == (frames, frames)
    print(f"{door}: {frames} images stored; grown by {grown} MiB")
    assert all(mib < MOST_MIB for mib in grown.values()), grown
