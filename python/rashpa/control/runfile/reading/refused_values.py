# SPDX-License-Identifier: Apache-2.0
"""Explains values of verbs that a reader of RDMA manuals may try, and that are refused for a reason which a list of choices does not show."""

_REASONS: dict[str, dict[str, str]] = {
    "receiver.memory": {
        "managed": "CUDA neither exports managed memory as a dma-buf nor pins it, so that no link can write it",
    },
    "link.verbs.transport": {
        "raw": "a queue of raw Ethernet frames leaves headers, checks and places to this program, as sockets of roce do; Soft-RoCE has none",
    },
    "link.verbs.operation": {
        "send": "datagrams have places only in a header of our own, which this program must read, as roce does with transport ud",
        "fetch_add": "images of a module come from one emulator, which numbers them itself, so that sources share no counter",
    },
}


def reason_against(table: str, value: object) -> str:
    """Return the reason against a value of the key `table`; empty where there is none beyond the list of choices."""
    return _REASONS.get(table, {}).get(value, "") if isinstance(value, str) else ""
