# SPDX-License-Identifier: Apache-2.0
"""Loads a node's certificate and key."""

import os
import ssl
from pathlib import Path

from rashpa.node.logs.serve_error import ServeError

PASSWORD = "RASHPA_KEY_PASSWORD"  # noqa: S105  the name of the variable


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the TLS context of a server. Raise ServeError that names the faulty file and its fault."""
    for path, wanted in ((certificate, "CERTIFICATE"), (key, "PRIVATE KEY")):
        _check_pem(path, wanted)
    password = os.environ.pop(PASSWORD, None)
    encrypted = False

    def answer() -> str:
        nonlocal encrypted
        encrypted = True  # OpenSSL asks for encrypted keys alone; without an answer of ours it would ask the terminal
        return password or ""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password=answer)
    except ssl.SSLError as error:
        if "KEY_VALUES_MISMATCH" in str(error):
            raise ServeError(f"{key} is not the key of {certificate}; give the pair that belongs together") from None
        if encrypted:
            how = "the password does not open it" if password else "it is encrypted"
            raise ServeError(f"{key}: {how}; give its password with {PASSWORD}, or a key without one") from None
        raise ServeError(
            f"{certificate}, {key}: {error.reason or error}; TLS needs a certificate and its key in PEM"
        ) from None
    except OSError as error:
        raise ServeError(f"{certificate}, {key}: {error.strerror}") from None
    return context


def in_memory(text: str) -> Path:
    """Write the text into a file in memory and return its path. The file ends with the process."""
    file = os.memfd_create("pem", os.MFD_CLOEXEC)
    os.write(file, text.encode())
    return Path(f"/proc/self/fd/{file}")


def _check_pem(path: Path, wanted: str) -> None:
    """Check the kind of a PEM file before OpenSSL reads it, because OpenSSL's errors do not name the file. Raise ServeError."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ServeError(f"{path}: {error.strerror}; TLS needs a certificate and its key in PEM") from None
    option = "--certificate" if wanted == "CERTIFICATE" else "--key"
    if b"-----BEGIN" not in text:
        raise ServeError(f"{path}: this is not PEM; {option} is a text file with -----BEGIN {wanted}-----")
    if f"{wanted}-----".encode() not in text:
        raise ServeError(
            f"{path}: there is no {wanted.lower()} in it; check that --certificate and --key are not swapped"
        )
