# SPDX-License-Identifier: Apache-2.0
"""`rashpa packet` as it is typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rashpa.cli.bench.packet import app

WRITE = (
    "020000000002020000000001080045000048000040004011b951c0a80001c0a80002c00012b7003400002b30ffff00000011"
    "0000000200007f00000020000000beef000000051234567800010203040000002dbc5a5e"
)
runner = CliRunner()


def test_decode_prints_one_json_object() -> None:
    result = runner.invoke(app, ["decode", WRITE])
    assert result.exit_code == 0
    packet = json.loads(result.stdout)
    assert packet["bth"]["opcode_name"] == "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE"
    assert packet["icrc"]["verdict"] == "ok"


@pytest.mark.parametrize("how", ["argument", "pieces", "dash", "stdin", "file", "binary"])
def test_the_bytes_may_come_in_every_way(how: str, tmp_path: Path) -> None:
    text, binary = tmp_path / "packet.hex", tmp_path / "packet.bin"
    text.write_text(WRITE + "\n", encoding="ascii")
    binary.write_bytes(bytes.fromhex(WRITE))
    arguments, stdin = {
        "argument": (["decode", WRITE], None),
        "pieces": (["decode", WRITE[:20], WRITE[20:]], None),
        "dash": (["decode", "-"], WRITE),
        "stdin": (["decode"], WRITE),
        "file": (["decode", "--file", str(text)], None),
        "binary": (["decode", "--file", str(binary)], None),
    }[how]
    result = runner.invoke(app, arguments, input=stdin)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["payload"] == "0001020304"


@pytest.mark.parametrize(("layer", "start"), [("2", 0), ("l2", 0), ("3", 14), ("l3", 14), ("udp", 42), ("auto", 42)])
def test_the_layer_may_be_said(layer: str, start: int) -> None:
    result = runner.invoke(app, ["decode", "--layer", layer, WRITE[2 * start :]])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["bth"]["psn"] == 2


def test_a_udp_payload_is_checked_between_two_addresses() -> None:
    payload = WRITE[84:]
    ports = ["--sport", "49152", "--dport", "4791"]
    result = runner.invoke(
        app, ["decode", payload, "--layer", "udp", "--src", "192.168.0.1", "--dst", "192.168.0.2", *ports]
    )
    assert json.loads(result.stdout)["icrc"]["verdict"] == "modulo-id"
    assert (
        json.loads(runner.invoke(app, ["decode", payload, "--layer", "udp"]).stdout)["icrc"]["verdict"] == "unchecked"
    )


@pytest.mark.parametrize("how", ["argument", "stdin", "file"])
def test_encode_gives_back_what_decode_was_given(how: str, tmp_path: Path) -> None:
    text = runner.invoke(app, ["decode", WRITE]).stdout
    file = tmp_path / "packet.json"
    file.write_text(text, encoding="utf-8")
    arguments = {"argument": ["encode", text], "stdin": ["encode"], "file": ["encode", "-f", str(file)]}[how]
    result = runner.invoke(app, arguments, input=text if how == "stdin" else None)
    assert (result.exit_code, result.stdout.strip()) == (0, WRITE)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["decode", "--layer", "udp", WRITE[84:98]],
            "the BTH needs 12 bytes from offset 0, and 7 are there; give the whole packet",
        ),
        (["decode", "zz"], "'z' after 0 digits is not a hexadecimal digit"),
        (["decode", "--src", "192.168.0.1", WRITE], "--src and --dst belong together"),
        (["decode", "--layer", "udp", "--src", "a", "--dst", "b", WRITE[84:]], "a is not an IP address"),
        (["decode", "--file", "no/such/file"], "no/such/file: No such file or directory"),
        (["encode", "{"], "JSON: line 1 column 2"),
        (["encode", "[]"], "no object with the headers by name"),
        (["encode", "{}"], "bth is missing"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: list[str], says: str) -> None:
    result = runner.invoke(app, arguments)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
