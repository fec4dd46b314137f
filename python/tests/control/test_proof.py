# SPDX-License-Identifier: Apache-2.0
import pytest

from rashpa.control.books.proof import proof_of


@pytest.mark.parametrize("verify", ["all", "sampled", "off"])
def test_a_link_that_sees_packets_proves_every_image_whatever_verify_says(verify: str) -> None:
    assert proof_of("roce", verify) == ("map of lines and CRC32C of every image", "all")
    assert proof_of("roce", verify, records=False) == ("map of lines of every image", "off")


@pytest.mark.parametrize("link", ["verbs", "pcie"])
def test_a_link_that_sees_events_claims_only_what_its_receiver_read(link: str) -> None:
    assert proof_of(link, "all") == ("CRC32C of every image", "all")
    assert proof_of(link, "sampled")[1] == "sampled"
    assert proof_of(link, "off") == ("none; the event alone", "off")
