# SPDX-License-Identifier: Apache-2.0
"""`rashpa packet`: converts a RoCE packet from hex to JSON and back."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rashpa.data.base.exit_code import ExitCode
from rashpa.data.files.regular_file import json_of, read_regular, reason
from rashpa.data.wire.packet import Flow, Layer
from rashpa.data.wire.packet import decode as decode_packet
from rashpa.data.wire.packet import encode as encode_packet
from rashpa.data.wire.packet_hex import PacketError, parse_hex

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="RoCE packets as hex and JSON: every header field, the payload, the ICRC's verdict.",
)

MOST_BYTES = 1 << 20
"""The most bytes of a file with one packet: a dump of a jumbo frame has some tens of thousands."""


class Start(StrEnum):
    """Names the protocol layer at which the bytes start."""

    AUTO = "auto"
    ETHERNET = "2"
    IP = "3"
    UDP = "udp"
    L2 = "l2"
    L3 = "l3"
    L4 = "l4"


_LAYER_OF: dict[Start, Layer | None] = {
    Start.AUTO: None,
    Start.ETHERNET: "ethernet",
    Start.L2: "ethernet",
    Start.IP: "ip",
    Start.L3: "ip",
    Start.UDP: "udp_payload",
    Start.L4: "udp_payload",
}


@app.command()
def decode(
    hex_: Annotated[
        list[str] | None, typer.Argument(metavar="[HEX]...", help="The bytes; - or nothing: standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A text file with the hex, or a binary file with the bytes.")
    ] = None,
    layer: Annotated[
        Start, typer.Option(help="First header of the bytes: Ethernet (2), IP or GRH (3), BTH (udp: the UDP payload).")
    ] = Start.AUTO,
    src: Annotated[str | None, typer.Option(help="Source IP address, for the ICRC of a UDP payload.")] = None,
    dst: Annotated[str | None, typer.Option(help="Destination IP address, likewise.")] = None,
    sport: Annotated[int, typer.Option(min=0, max=65535, help="UDP source port, likewise.")] = 0xC000,
    dport: Annotated[int, typer.Option(min=0, max=65535, help="UDP destination port, likewise.")] = 4791,
    as_json: Annotated[bool, typer.Option("--json", help="The document on one line.")] = False,
) -> None:
    """Decode hex to JSON.

    icrc.verdict is ok, bad, modulo-id or unchecked. With modulo-id, the ICRC is right for another IPv4 identification than the one seen;
    icrc.identification names it. An IPv4 UDP payload with --src and --dst gets modulo-id at best. A UDP payload alone is unchecked, because the ICRC
    covers addresses and ports that the payload lacks.

    Spaces, colons, 0x, line ends and the dumps of xxd, hexdump -C, tcpdump -x and Wireshark are understood.
    """
    try:
        if (src is None) != (dst is None):
            raise PacketError(
                "--src and --dst belong together, since the ICRC covers both addresses; give both, or none"
            )
        flow = Flow(src, dst, sport, dport) if src is not None and dst is not None else None
        data = _read_bytes(hex_ or [], file)
        print(json.dumps(decode_packet(data, _LAYER_OF[layer], flow), indent=None if as_json else 2))  # noqa: T201
    except PacketError as error:
        _refuse("decode", error)


@app.command()
def encode(
    text: Annotated[
        str | None,
        typer.Argument(metavar="[JSON]", help="The packet as decode prints it; - or nothing: standard input."),
    ] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A file with the JSON.")] = None,
    udp_checksum: Annotated[
        bool,
        typer.Option(
            "--udp-checksum", help="Compute a UDP checksum that is not given; without this it is 0, as RoCEv2 allows."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The digits as `hex` of a JSON document.")] = False,
) -> None:
    """Encode JSON as hex.

    Lengths, pad, checksums and ICRC that are absent or null are computed; those that are given are kept, even wrong ones. The keys payload_length, pad_length, icrc.computed, icrc.verdict and frame_record are for reading only. The key bth.opcode_name counts when bth.opcode is absent.
    """
    try:
        source = _read_text([text] if text else [], file)
        try:
            packet = json_of(source)
        except json.JSONDecodeError as error:
            raise PacketError(f"JSON: line {error.lineno} column {error.colno}: {error.msg}") from None
        except (ValueError, RecursionError) as error:  # numbers of thousands of digits, lists in lists in lists …
            raise PacketError(f"JSON: {error}; a packet has no such thing") from None
        digits = encode_packet(packet, udp_checksum=udp_checksum).hex()
        print(json.dumps({"hex": digits}) if as_json else digits)  # noqa: T201
    except PacketError as error:
        _refuse("encode", error)


def _read_bytes(arguments: list[str], file: Path | None) -> bytes:
    if file is None:
        return parse_hex(_read_text(arguments, None))
    try:
        data = read_regular(file, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise PacketError(_unreadable(file, error)) from None
    try:
        return parse_hex(data.decode("ascii"))
    except UnicodeDecodeError:
        return data  # not text: the packet's bytes themselves


def _read_text(arguments: list[str], file: Path | None) -> str:
    if file is not None:
        try:
            return read_regular(file, MOST_BYTES).decode("utf-8")
        except (OSError, ValueError) as error:
            raise PacketError(_unreadable(file, error)) from None
    if arguments and arguments != ["-"]:
        return " ".join(arguments)
    try:
        return sys.stdin.read()
    except UnicodeDecodeError:
        raise PacketError("standard input is not text; a binary packet goes into a file: --file") from None


def _unreadable(file: Path, error: OSError | ValueError) -> str:
    return f"{file}: {reason(error) if isinstance(error, OSError) else error}"


def _refuse(command: str, error: PacketError) -> None:
    print(f"rashpa packet {command}: {error}", file=sys.stderr)  # noqa: T201
    raise typer.Exit(ExitCode.BAD_INPUT)
