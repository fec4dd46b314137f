# SPDX-License-Identifier: Apache-2.0
"""Lists the rules of the protocol that a receiver must keep."""

from types import MappingProxyType

RECEIVER_RULES = MappingProxyType(
    {
        "refusals": "a wrong telegram is refused by a Fault that names each of its faults, and changes nothing",
        "telegrams": "orders are obeyed in their order, and refused out of it",
        "owner": "nobody but the owner is obeyed",
        "endpoint": "Configured has an Endpoint with address, port and queue pair for each DTP",
        "placement": "Placements have slots, lines and bytes as they were ordered, and share no byte",
        "packet": "lengths, opcode, version, partition key and pad of credits are right",
        "icrc": "the invariant CRC of credits is right",
        "address": "credits have queue pair, key and address of the sender's end, and two words",
        "sequence": "sequence numbers of credits begin with the number told, and rise by one",
        "credits": "credits grow, and grant an image for each free slot and no more",
        "images": "an image that came whole is complete",
        "order": "lines in any order, and repeated ones, make a complete image",
        "loss": "lost lines are counted, and an image without its record is missing",
        "strangers": "packets that are wrong, or come from elsewhere, change nothing",
        "records": "a record that does not fit its image ends none",
        "checksum": "an image whose lines are not those of its checksum is not complete",
        "books": "the books balance after each image",
        "end": "after Stop the receiver finishes, and has counted what was told and did not come",
        "restart": "after Reset the next run is received, and packets of the last one change nothing",
        "paced": "with flow paced no credits come",
    }
)
