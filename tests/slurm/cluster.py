# SPDX-License-Identifier: Apache-2.0
"""Runs a Slurm cluster of one machine in a separate folder: Debian's munged, slurmctld and slurmd, on free ports, until the end of the test."""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from rashpa.testing.waiting import eventually

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo")
_READY_S = 90.0

CONF = """\
ClusterName=rashpa
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdTimeout=300
KillWait=15
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} Gres=gpu:1 State=UNKNOWN
PartitionName=daq Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
"""


def missing() -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextlib.contextmanager
def cluster(folder: Path, cpus: int | None = None) -> Iterator[dict[str, str]]:
    """Run the cluster during the context, and yield the environment for Slurm's commands. `cpus`: the number that Slurm assumes; it also assumes a
    GPU, which is never used."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    host = socket.gethostname().split(".")[0]
    conf = folder / "slurm.conf"
    values = {"host": host, "user": getpass.getuser(), "folder": folder, "cpus": cpus or os.cpu_count()}
    (folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/null\n")
    conf.write_text(CONF.format(controller=_free_port(), daemon=_free_port(), **values))
    environment = {**os.environ, "SLURM_CONF": str(conf), "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    files = [
        f"--{name}={folder}/munge.{name.removesuffix('-file')}"
        for name in ("socket", "pid-file", "log-file", "seed-file")
    ]
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", *files]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for words in (munge, ["slurmctld", "-D", "-c"], ["slurmd", "-D", "-c"]):
            log = (folder / f"{words[0]}.out").open("wb")
            with log:
                started.append(subprocess.Popen(words, env=environment, stdout=log, stderr=log))
            if words is munge:
                _await(lambda: (folder / "munge.socket").exists(), folder)
        _await(lambda: b"idle" in _state(environment), folder)
        yield environment
    finally:
        for process in reversed(started):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


def _state(environment: dict[str, str]) -> bytes:
    done = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, check=False, timeout=30)
    return done.stdout


def _await(what: Callable[[], bool], folder: Path) -> None:
    def logs() -> str:
        said = "\n".join(
            f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}" for path in folder.glob("*.[lo][ou]*")
        )
        return f"Slurm did not start within {_READY_S:g} s\n{said}"

    eventually(what, _READY_S, logs, look_s=0.1)
