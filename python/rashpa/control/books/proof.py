# SPDX-License-Identifier: Apache-2.0
"""Describes, for report and files, how it was proven that images are complete."""


def proof_of(destination_link: str, verify: str, records: bool = True) -> tuple[str, str]:
    """Return the evidence that was compared, and for which images ("all", "sampled", "off"). Links that see every packet compare all images. For
    links that only see events, `verify` chooses the images that the receiver reads. Without frame records there is no CRC32C to compare."""
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
