# SPDX-License-Identifier: Apache-2.0
"""Keys that version 0.3 had in [link] are read at their old places, with one caution that names the new ones, until version 0.5 refuses them."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rashpa.control.capacity.capacity import cautions
from rashpa.control.plan.model import Plan
from rashpa.control.plan.run_plan import load_plan
from rashpa.control.runfile.links import link_keys
from rashpa.control.runfile.reading.older_places import as_placed_now
from rashpa.control.runfile.run_file import RunFile
from rashpa.control.runfile.run_file_reader import RunFileError, read_run_file, run_file_of

HEAD = """\
[run]
name = "old"
frames = 10
[detector]
width = 64
height = 32
[dataset]
kind = "pattern"
width = 64
height = 32
"""
BUFFER = """\
[[buffer]]
name = "full"
[[buffer.sink]]
kind = "null"
"""


def plan_of(folder: Path, text: str) -> Plan:
    path = folder / "run.toml"
    path.write_text(HEAD + text + BUFFER)
    return load_plan(path)


def file_of(text: str) -> RunFile:
    return run_file_of(text_of(text))[0]


def text_of(text: str) -> dict[str, Any]:
    return tomllib.loads(HEAD + text + BUFFER)


@pytest.mark.parametrize(
    ("older", "now", "named"),
    [
        ("[link]\nport = 0\n", "[receiver]\nport = 0\n", ["[receiver] port = 0"]),
        ("[link]\nthreads = 2\nport = 0\n", "[receiver]\nthreads = 2\nport = 0\n", ["[receiver] threads = 2", "[receiver] port = 0"]),
        ("[link]\npoll = 'spin'\nmemory = 'pageable'\n", "[receiver]\npoll = 'spin'\nmemory = 'pageable'\n", ['[receiver] poll = "spin"']),
        ("[link]\nreceiver_address = '::1'\nemulator_address = '::1'\n", "[receiver]\naddress = '::1'\n[emulator]\naddress = '::1'\n",
         ['[receiver] address = "::1"', '[emulator] address = "::1"']),
        ("[link]\nreceiver_numa = 1\nemulator_processor = 3\nreceiver_device = 'rxe0'\n",
         "[receiver]\nnuma = 1\ndevice = 'rxe0'\n[emulator]\nprocessor = 3\n", ["[emulator] processor = 3", "[receiver] numa = 1"]),
        ("[link]\npmtu = 1024\n", "[link.roce]\npmtu = 1024\n", ["[link.roce] pmtu = 1024"]),
        ("[link]\nkind = 'verbs'\npmtu = 1024\n", "[link]\nkind = 'verbs'\nverbs.pmtu = 1024\n", ["[link.verbs] pmtu = 1024"]),
        ("[link]\ndestination = 'verbs'\npmtu = 1024\n", "[link]\ndestination = 'verbs'\nverbs.pmtu = 1024\nroce.pmtu = 1024\n",
         ["[link.roce] pmtu = 1024", "[link.verbs] pmtu = 1024"]),
        ("[link]\nkind = 'pcie'\nverify = 'off'\n", "[link]\nkind = 'pcie'\npcie.verify = 'off'\n", ['[link.pcie] verify = "off"']),
        ("[link]\nverify = 'off'\n", "[link]\nverbs.verify = 'off'\npcie.verify = 'off'\n", ["[link.verbs] verify", "[link.pcie] verify"]),
        ("[link]\nport = 0\n[emulator]\nnuma = 'off'\n", "[receiver]\nport = 0\n[emulator]\nnuma = 'off'\n", ["[receiver] port = 0"]),
        ("[link]\nport = 0\n[[receiver]]\nname = 'a'\nport = 5000\n[[receiver]]\nname = 'b'\n",
         "[[receiver]]\nname = 'a'\nport = 5000\n[[receiver]]\nname = 'b'\nport = 0\n", ["[[receiver]] port = 0"]),
        ("[link]\nport = 0\n[[receiver]]\nname = 'a'\nport = 5000\n", "[[receiver]]\nname = 'a'\nport = 5000\n",
         ["nothing for port, which each receiver has"]),
        ("[link]\nverify = 'off'\n[[receiver]]\nname = 'a'\nlink = 'pcie'\n",
         "[[receiver]]\nname = 'a'\nlink = 'pcie'\n[link.pcie]\nverify = 'off'\n", ['[link.pcie] verify = "off"']),
    ],
)  # fmt: skip
def test_an_older_file_means_the_same_run_and_its_caution_names_the_new_places(
    older: str, now: str, named: list[str], tmp_path: Path
) -> None:
    assert file_of(older) == file_of(now)
    path = tmp_path / "run.toml"
    path.write_text(HEAD + older + BUFFER)
    source = read_run_file(path)[1]
    (caution,) = source.cautions
    assert caution.startswith(f"{path}:11: link: ")
    assert "which version 0.5 will refuse; write " in caution
    assert [name for name in named if name not in caution] == []
    path.write_text(HEAD + now + BUFFER)
    assert read_run_file(path)[1].cautions == ()


def test_every_key_of_a_kind_has_been_a_key_of_link() -> None:
    for kind, keys in link_keys().items():
        raw = {"link": {"kind": kind, **dict.fromkeys(keys, 7)}}
        tables, moves = as_placed_now(raw)
        assert tables["link"] == {"kind": kind, kind: dict.fromkeys(keys, 7)}
        assert len(moves) == len(keys)
        assert raw["link"] == {"kind": kind, **dict.fromkeys(keys, 7)}, "the given tables are not changed"


def test_the_caution_of_an_older_file_is_said_with_those_of_the_plan(tmp_path: Path) -> None:
    (caution,) = cautions(plan_of(tmp_path, "[link]\nport = 0\n"))
    assert "port: keys of [link] up to version 0.3" in caution


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[link]\nport = 0\n[receiver]\nport = 0\n", "run.toml:12: link.port: and [receiver.port], which is the place for it; leave [link.port] out"),
        ("[link]\npmtu = 1024\n[link.roce]\npmtu = 1024\n", "run.toml:12: link.pmtu: and [link.roce.pmtu], which is the place"),
        ("[link]\npmtu = 1500\n", "run.toml:12: link.pmtu: it is 1500; it must be 256, 512, 1024, 2048 or 4096"),
        ("[link]\nport = '0'\n", 'run.toml:12: link.port: it is "0"; it must be a whole number'),
        ("[link]\nthreads = 2\n", "run.toml:12: link.threads: 2 threads for 1 DTPs at receiver"),
        ("[link]\nport = 0\nkind = ['roce']\npmtu = 1024\n", 'run.toml:13: link.kind: it is ["roce"]; it must be'),
        ("[link]\nport = 0\nroce = 3\npmtu = 1024\n", "run.toml:13: link.roce: it is 3; it must be a table"),
        ("[[link]]\nport = 0\n", "run.toml: link: it is "),
    ],
)  # fmt: skip
def test_faults_of_an_older_file_are_said_where_they_stand(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(RunFileError) as caught:
        plan_of(tmp_path, text)
    assert says.replace("run.toml", str(tmp_path / "run.toml"), 1) in str(caught.value)


@pytest.mark.parametrize("receivers", [[], {}, [{}], [3], 3, "a", [[]], {"port": 0}, None])
@pytest.mark.parametrize("link", [{"port": 0}, {"pmtu": 1024, "roce": []}, [], 3, {"emulator_numa": 1, "emulator": {}}])
def test_tables_of_any_form_are_a_run_file_or_an_error_of_one(receivers: object, link: object) -> None:
    raw = {**text_of(""), "link": link}
    raw |= {} if receivers is None else {"receiver": receivers}
    try:
        file, _ = run_file_of(raw)
    except RunFileError:
        return
    assert file.receivers[0].port == 0 or "port" not in dict(link)  # type: ignore[call-overload]
