# SPDX-License-Identifier: Apache-2.0
"""Every fault in a key of a kernel, a sink, a link or a dataset is reported with file, line and key."""

from pathlib import Path

import pytest

from rashpa.control.runfile.run_file_reader import RunFileError, read_run_file

RUN = """\
[run]
name = "keys"
frames = 10
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
[link]
kind = "verbs"
[[buffer]]
name = "full"
[[buffer.kernel]]
name = "bragg_count"
threshold = 3
min_pixels = 5
[[buffer.kernel]]
name = "plugin"
file = "peaks.so"
parameters = { tries = 3 }
[[buffer.sink]]
kind = "hdf5"
threads = 2
"""
WRONG = {
    "kernel, type": ("threshold = 3", 'threshold = "3"', 'run.toml:17: buffer[0].kernel[0].threshold: it is "3"; it must be a whole number; write it without quotes'),
    "kernel, bounds": ("threshold = 3", "threshold = 0", "run.toml:17: buffer[0].kernel[0].threshold: it is 0; it must be at least 1"),
    "kernel, unknown": ("threshold = 3", "threshold = 3\nspeed = 9", "run.toml:18: buffer[0].kernel[0].speed: no such key"),
    "kernel, missing": ("min_pixels = 5\n", "", "run.toml:15: buffer[0].kernel[0].min_pixels: this key is needed and not there"),
    "plugin, type": ("{ tries = 3 }", "{ tries = [3] }", "run.toml:22: buffer[0].kernel[1].parameters.tries"),
    "plugin, missing": ('file = "peaks.so"\n', "", "run.toml:19: buffer[0].kernel[1].file: this key is needed and not there"),
    "sink, type": ("threads = 2", "threads = true", "run.toml:25: buffer[0].sink[0].threads: it is true; it must be a whole number"),
    "sink, bounds": ("threads = 2", "threads = 65", "run.toml:25: buffer[0].sink[0].threads: it is 65; it must be at most 64"),
    "sink, line": ("threads = 2", "queue = 0", "run.toml:25: buffer[0].sink[0].queue: it is 0; it must be at least 1"),
    "sink, unknown": ("threads = 2", "thread = 2", 'run.toml:25: buffer[0].sink[0].thread: no such key; did you mean "threads"?'),
    "sink, missing": ('kind = "hdf5"\n', "", "run.toml:23: buffer[0].sink[0].kind: is needed and not there"),
    "link, type": ('kind = "verbs"', "verbs.window_bytes = 1.5", "run.toml:12: link.verbs.window_bytes: it is 1.5; it must be a whole number"),
    "link, bounds": ('kind = "verbs"', "roce.unit_bytes = 1048577", "run.toml:12: link.roce.unit_bytes: it is 1048577; it must be at most 1048576"),
    "link, choice": ('kind = "verbs"', "roce.pmtu = 1500", "run.toml:12: link.roce.pmtu: it is 1500; it must be 256, 512, 1024, 2048 or 4096"),
    "link, unknown": ('kind = "verbs"', 'knd = "verbs"', 'run.toml:12: link.knd: no such key; did you mean "kind"?'),
    "link, of a kind": ('kind = "verbs"', "gsoo = true", "run.toml:12: link.gsoo: no such key; did you mean [link.roce] gso?"),
    "link, of two kinds": ('kind = "verbs"', 'verfy = "all"', "link.verfy: no such key; did you mean [link.pcie] verify, [link.verbs] verify?"),
    "kind, unknown": ('kind = "verbs"', "roce.verify = 1", "run.toml:12: link.roce.verify: no such key; known here: framing, gro, gso, "),
    "kind, form": ('kind = "verbs"', "pcie = 1", "run.toml:12: link.pcie: it is 1; it must be a table"),
    "receiver, type": ("[link]", '[receiver]\nport = "0"\n[link]', 'run.toml:12: receiver.port: it is "0"; it must be a whole number; write it without quotes'),
    "receiver, unknown": ("[link]", "[receiver]\nprt = 0\n[link]", 'run.toml:12: receiver.prt: no such key; did you mean "port"?'),
    "receivers, bounds": ("[link]", '[[receiver]]\nname = "a"\nport = -1\n[link]', "run.toml:13: receiver[0].port: it is -1; it must be at least 0"),
    "receivers, missing": ("[link]", "[[receiver]]\nport = 0\n[link]", "run.toml:11: receiver[0].name: this key is needed and not there: "),
    "receivers, unknown": ("[link]", '[[receiver]]\nname = "a"\nprt = 0\n[link]', 'receiver[0].prt: no such key; did you mean "port"?'),
    "receivers, form": ("[run]", "receiver = 3\n[run]", "receiver: it is 3; it must be a table"),
    "dataset, type": ("height = 32\n[link]", 'height = "32"\n[link]', 'run.toml:10: dataset.height: it is "32"; it must be a whole number; write it without quotes'),
    "dataset, bounds": ("height = 32\n[link]", "frames = 0\n[link]", "run.toml:10: dataset.frames: it is 0; it must be at least 1"),
    "dataset, unknown": ("height = 32\n[link]", "hight = 32\n[link]", 'run.toml:10: dataset.hight: no such key; did you mean "height"?'),
    "dataset, missing": ('kind = "pattern"\nwidth = 64\nheight = 32', 'kind = "directory"', "run.toml:7: dataset.path: this key is needed and not there"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_key_is_said_with_file_and_line(tmp_path: Path, what: str) -> None:
    old, new, says = WRONG[what]
    assert RUN.count(old) == 1
    path = tmp_path / "run.toml"
    path.write_text(RUN.replace(old, new))
    with pytest.raises(RunFileError) as caught:
        read_run_file(path)
    assert says in str(caught.value)


def test_the_file_without_the_mistakes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(RUN)
    read_run_file(path)
