# SPDX-License-Identifier: Apache-2.0
"""The proof that images are complete, in words, for report and files."""


def proof_of(destination_link: str, verify: str, records: bool = True) -> tuple[str, str]:
    """Return the evidence that was compared, and for which images ("all", "sampled", "off"). Links that see every packet always compare everything. For links
    that only see events, `verify` names the images that the receiver reads. Without frame records there is no CRC32C to compare with."""
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
