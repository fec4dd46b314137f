# SPDX-License-Identifier: Apache-2.0
"""Types the page about clusters in namespaces with a separate machine name and addresses: its command, and its words for one node."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import pytest
from tests.slurm.cluster import cluster, missing

from rashpa.testing.run_file import small_run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "run_on_a_cluster.md").read_text(encoding="utf-8")
WRAPPER = """\
#!/bin/sh
exec env PYTHONPATH='{path}' '{python}' -m rashpa.cli.entry "$@"
"""
NAMED = re.findall(r"--nodelist=(\w+)", PAGE)
ADDRESS = re.findall(r'^address = "([\d.]+)"', PAGE, re.MULTILINE)
MACHINE = """\
cp -a /etc "$1/etc" && mount --bind "$1/etc" /etc
hostname "$2" && echo "127.0.0.1 $2 localhost" > /etc/hosts
ip link set lo up && ip address add "$3/32" dev lo
cd "$1" && exec "$4" "$5" "$1"
"""

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(bool(missing()), reason=f"not installed: {', '.join(missing())} (make test-slurm)"),
    pytest.mark.skipif(
        os.geteuid() != 0 or any(shutil.which(name) is None for name in ("unshare", "ip", "hostname")),
        reason="namespaces need root, util-linux, iproute2 and hostname",
    ),
]


def blocks(language: str) -> list[str]:
    """Return the commands of the page."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_a_run_is_carried_out_by_the_words_of_the_page(tmp_path: Path) -> None:
    (name,), (address,) = NAMED, ADDRESS
    words = ["unshare", "-m", "-n", "-u", "--propagation", "private", "bash", "-ec", MACHINE, "-"]
    words += [str(tmp_path), name, address, sys.executable, __file__]
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    done = subprocess.run(
        words, cwd=ROOT, env=os.environ | path, capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("as typed\n")


def main(folder: Path) -> None:
    """Run the rest of the test inside the namespaces."""
    (command,), (node,) = blocks("sh"), blocks("toml")
    programs = folder / "bin"
    programs.mkdir()
    (programs / "rashpa").write_text(WRAPPER.format(path=os.environ["PYTHONPATH"], python=sys.executable))
    (programs / "rashpa").chmod(0o755)
    state = Path(tempfile.mkdtemp(dir=folder))
    with cluster(state, cpus=8) as environment:
        environment = environment | {"PATH": f"{programs}:{environment['PATH']}"}
        for extra, steps in (("", False), (node, True)):
            run = folder / ("named" if steps else "any")
            run.mkdir()
            text = small_run(run={"frames": 60})
            (run / "run.toml").write_text(text.replace("[[buffer]]", f"{extra}[[buffer]]", 1))
            done = subprocess.run(
                ["bash", "-ec", command],
                cwd=run,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=150,
            )
            if done.returncode != 0:
                logs = "".join(path.read_text(errors="replace")[-3000:] for path in state.glob("*.log"))
                raise SystemExit(done.stdout + done.stderr + logs)
            with h5py.File(run / "out" / "small_full_master.h5") as file:
                assert int(file["/entry/rashpa/books/written"][()]) == 60
    print("as typed")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
