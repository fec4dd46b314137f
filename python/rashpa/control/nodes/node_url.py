# SPDX-License-Identifier: Apache-2.0
"""Checks URLs of nodes that users give, and explains why a node cannot be reached."""

import re

from rashpa.data.base.rashpa_error import RashpaError

_SCHEMES = ("http://", "https://")
_HOST_AND_PORT = re.compile(r"(?:[\w.\-]+|\[[0-9a-fA-F:]+\]):\d{1,5}/?")


class NodeUrlError(RashpaError, ValueError):
    """Refuses a text that is no URL of a node."""


def is_node_url(text: str) -> bool:
    """Return True for a text with the beginning of a node's URL."""
    return text.startswith(_SCHEMES)


def node_url(text: str) -> str:
    """Return the URL in normal form. Raise NodeUrlError for a text that is none."""
    if is_node_url(text):
        return text
    if _HOST_AND_PORT.fullmatch(text):
        raise NodeUrlError(
            f"{text} is no URL of a node; write http://{text}, or https://{text} where it has a certificate"
        )
    raise NodeUrlError(
        f"{text} is no URL of a node; a node prints its own when it starts, such as http://127.0.0.1:4781"
    )


def tls_trouble(url: str, said: str, authority: str) -> str:
    """Return an explanation of a TLS error, empty for another error. `said`: the error's text; `authority`: the file of certificates, empty when none
    is given."""
    if "WRONG_VERSION_NUMBER" in said or "record layer failure" in said.lower():
        return f"speaks no TLS; write http://{url.partition('://')[2]}"
    if "CERTIFICATE_VERIFY_FAILED" not in said:
        return ""
    reason = said.rpartition("verify failed: ")[2].partition(" (_ssl")[0]
    if "mismatch" in reason or "not valid for" in reason:
        return f"has a certificate for another name ({reason}); use that name, or start the node with --alias"
    if "expired" in reason or "not yet valid" in reason:
        return f"has a certificate that is not valid now ({reason}); look at the clocks, or give the node a new one"
    if authority:
        return (
            f"has a certificate that {authority} does not vouch for ({reason}); give the certificate file of this node"
        )
    return f"has a certificate that this machine does not trust ({reason}); give its file: nodes.authority of the run file, or --authority FILE"
