# SPDX-License-Identifier: Apache-2.0
"""How the completeness of images was proven, in words, for report and files."""


def proof_of(destination_link: str, verify: str, records: bool = True) -> tuple[str, str]:
    """What was compared, and of which images ("all", "sampled", "off"). Links that see every packet always compare everything; of those
    that only see events `verify` says what their receiver read. Without frame records there is no CRC32C to compare with."""
    if destination_link == "roce" and not records:
        return "map of lines of every image", "off"
    if destination_link == "roce":
        return "map of lines and CRC32C of every image", "all"
    texts = {
        "all": "CRC32C of every image",
        "sampled": "CRC32C of one image in 16; of the others the event alone",
        "off": "none; the event alone",
    }
    return texts[verify], verify
