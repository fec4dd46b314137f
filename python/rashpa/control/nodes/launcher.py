# SPDX-License-Identifier: Apache-2.0
"""Starts the nodes of a run that have no URL: as processes of this machine, or with a job scheduler on other machines."""

import os
import shlex
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rashpa.control.nodes.local_node import READY_S, local_command
from rashpa.control.plan.planned_node import PlannedNode
from rashpa.data.base.rashpa_error import RashpaError

_SCRIPT = 'exec "$@" --host "${SLURMD_NODENAME:-$(hostname)}"'  # where the step is, as its own machine calls it


class LauncherError(RashpaError, RuntimeError):
    """Reports that a launcher cannot be used; the text gives reason and remedy."""


@dataclass(frozen=True)
class RunCertificate:
    """Holds the certificate of the nodes of one run, in PEM, and of nothing else: a process with its key is one of these nodes."""

    certificate: str
    key: str = ""

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a client. It trusts this certificate only, and ignores the name in it."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(cadata=self.certificate)
        return context


class Launcher(Protocol):
    """Declares the interface that starts nodes."""

    @property
    def ready_s(self) -> float:
        """Return the longest time, in seconds, that a node may take to announce its address."""
        ...

    @property
    def certificate(self) -> RunCertificate | None:
        """Return the certificate of nodes that may run on other machines, None without such nodes."""
        ...

    def command(self, node: PlannedNode) -> tuple[str, ...]:
        """Return the command that starts the node. Its process has the node's standard streams, and ends with the node."""
        ...


@dataclass(frozen=True)
class LocalLauncher:
    """Starts processes of this machine. `words`: returns the command of a node from its role and label."""

    words: Callable[[str, str], tuple[str, ...]] = local_command
    ready_s: float = READY_S
    certificate: RunCertificate | None = None

    def command(self, node: PlannedNode) -> tuple[str, ...]:
        return self.words(node.role, node.label)


LOCAL = LocalLauncher()


class SlurmLauncher:
    """Starts each node as a job step with `srun`, in the run's allocation or in an allocation of its own. `options`: options for all steps; each node
    adds its own from the key `launch`. Nodes must find the run's files and this installation at the manager's paths."""

    def __init__(self, options: Sequence[str] = (), ready_s: float = 300.0) -> None:
        if shutil.which("srun") is None:
            raise LauncherError("srun is not there; run where Slurm's commands are, or without --launcher slurm")
        self._options = tuple(options)
        self.ready_s = ready_s
        self.certificate: RunCertificate | None = run_certificate()

    def command(self, node: PlannedNode) -> tuple[str, ...]:
        # one task that has a terminal's streams and leaves processors to the node; within an allocation steps share it
        step = ["srun", "--nodes=1", "--ntasks=1", "--unbuffered", "--mpi=none", f"--job-name=rashpa-{node.name}"]
        if "SLURM_JOB_ID" in os.environ:
            step.append("--overlap")
        return (
            *step,
            *self._options,
            *node.launch,
            "sh",
            "-c",
            _SCRIPT,
            "rashpa",
            *local_command(node.role, node.label),
        )


@dataclass(frozen=True)
class AdoptedLauncher:
    """Represents nodes that are already started; it starts none."""

    certificate: RunCertificate | None
    ready_s: float = READY_S

    def command(self, node: PlannedNode) -> tuple[str, ...]:
        raise LauncherError(f"{node.label} is started already")


def launcher_of(
    name: str, options: str, ready_s: float, local: Callable[[str, str], tuple[str, ...]] = local_command
) -> Launcher:
    """Return the launcher of that name. `options`: a text as for a shell; `local`: returns the command of a process of this machine. Raise
    LauncherError."""
    try:
        words = shlex.split(options)
    except ValueError as error:
        raise LauncherError(f"--launcher-options {options!r}: {error}; write them as in a shell") from None
    if name == "slurm":
        return SlurmLauncher(words, ready_s)
    if words:
        raise LauncherError("--launcher-options are for --launcher slurm; processes of this machine take none")
    return LocalLauncher(local)


def run_certificate() -> RunCertificate:
    """Make a certificate that is valid for a month, the longest time for which books are kept. Raise LauncherError."""
    subject = ("-subj", "/CN=a node of one run of rashpa", "-days", "31")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    with tempfile.TemporaryDirectory(prefix="rashpa-") as folder:
        certificate, key = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        words = ("openssl", "req", "-x509", *curve, *subject, "-keyout", str(key), "-out", str(certificate))
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=30.0)  # noqa: S603  words of this file
            return RunCertificate(certificate.read_text(encoding="ascii"), key.read_text(encoding="ascii"))
        except FileNotFoundError:
            raise LauncherError(
                "openssl is not there; it makes the certificate of a run whose nodes are elsewhere: install it"
            ) from None
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
            raise LauncherError(f"openssl cannot make the certificate of the run: {error}; install openssl") from None
