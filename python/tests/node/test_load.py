# SPDX-License-Identifier: Apache-2.0
import os
import resource
import threading
import time
from pathlib import Path

from rashpa.node.host.load import load


def test_the_load_is_that_of_this_process() -> None:
    ended = threading.Event()
    ready = threading.Event()
    ids: list[int] = []

    def work() -> None:
        ids.append(threading.get_native_id())
        until = time.thread_time() + 0.1
        while time.thread_time() < until:
            pass
        ready.set()
        ended.wait()

    worker = threading.Thread(target=work)
    worker.start()
    assert ready.wait(60)
    with Path("/proc/self/stat").open(), Path("/proc/self/stat").open():
        more = load()
    now = load()
    ended.set()
    worker.join()
    (mine,) = [thread for thread in now.threads if thread.id == ids[0]]
    assert 0.08 <= mine.cpu_s <= now.cpu_s
    assert 0 <= mine.processor < (os.cpu_count() or 1)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    assert abs(now.cpu_s - usage.ru_utime - usage.ru_stime) < 0.5
    assert more.open_files - now.open_files == 2
    assert now.most_files == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert 1e6 < now.resident_bytes < 2 * usage.ru_maxrss * 1024  # which the kernel keeps less exactly
    assert now.started_s < now.time_s
    assert now.processors == len(os.sched_getaffinity(0))


def test_a_thread_whose_name_has_blanks_and_brackets_is_read() -> None:
    name = Path("/proc/thread-self/comm")
    before = name.read_text().strip()
    name.write_text("a) b (c")
    try:
        assert "a) b (c" in {thread.name for thread in load().threads}
    finally:
        name.write_text(before)
