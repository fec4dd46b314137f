# SPDX-License-Identifier: Apache-2.0
import subprocess
from pathlib import Path

import pytest

from rashpa.node.door.tls import PASSWORD, tls_context
from rashpa.node.logs.serve_error import ServeError


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture
def pems(tmp_path: Path) -> dict[str, Path]:
    """Write two pairs of certificate and key, an encrypted key, and invalid files; return them by name."""
    found = {
        name: tmp_path / f"{name}.pem" for name in ("cert", "key", "cert2", "key2", "locked", "text", "broken", "der")
    }
    for number in ("", "2"):
        openssl(
            *(
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=n",
            ),
            *("-keyout", str(found[f"key{number}"]), "-out", str(found[f"cert{number}"])),
        )
    openssl("pkey", "-in", str(found["key"]), "-aes256", "-passout", "pass:open sesame", "-out", str(found["locked"]))
    openssl("x509", "-in", str(found["cert"]), "-outform", "DER", "-out", str(found["der"]))
    found["text"].write_text("hello\n")
    lines = found["cert"].read_text().splitlines()
    found["broken"].write_text("\n".join([lines[0], "AAAA", lines[-1], ""]))
    return found


def test_a_pair_is_taken(pems: dict[str, Path]) -> None:
    tls_context(pems["cert"], pems["key"])


@pytest.mark.parametrize(
    ("certificate", "key", "says"),
    [
        ("key", "cert", r"key\.pem: there is no certificate in it; check that --certificate and --key are not swapped"),
        ("cert", "cert", r"cert\.pem: there is no private key in it"),
        ("cert", "key2", r"key2\.pem is not the key of .*cert\.pem"),
        ("text", "key", r"text\.pem: this is not PEM; --certificate"),
        ("der", "key", r"der\.pem: this is not PEM"),
        ("cert", "text", r"text\.pem: this is not PEM; --key"),
        ("broken", "key", r"broken\.pem, .*key\.pem: "),
        ("cert", "locked", r"locked\.pem: it is encrypted; give its password with RASHPA_KEY_PASSWORD"),
        ("cert", "absent", r"absent\.pem: No such file or directory"),
    ],
)
def test_what_is_no_pair_is_explained(
    pems: dict[str, Path], certificate: str, key: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(PASSWORD, raising=False)
    pems["absent"] = pems["text"].with_name("absent.pem")
    with pytest.raises(ServeError, match=says):
        tls_context(pems[certificate], pems[key])


def test_an_encrypted_key_takes_its_password_from_the_environment(
    pems: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PASSWORD, "open sesame")
    tls_context(pems["cert"], pems["locked"])
    monkeypatch.setenv(PASSWORD, "open barley")
    with pytest.raises(ServeError, match=r"locked\.pem: the password does not open it"):
        tls_context(pems["cert"], pems["locked"])
