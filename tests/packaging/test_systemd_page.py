# SPDX-License-Identifier: Apache-2.0
"""Types the page about services in namespaces with separate system folders: a node by the page's and the unit's commands, as another user."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "run_nodes_as_services.md").read_text(encoding="utf-8")
UNIT = (ROOT / "packaging" / "systemd" / "rashpa-node@.service").read_text(encoding="utf-8")
INSTALLED = "sudo python3 -m venv /opt/rashpa && sudo /opt/rashpa/bin/pip install rashpa-*.whl\n"
MACHINE = """\
cp -a /etc "$1/etc" && mount --bind "$1/etc" /etc
for folder in /opt /data /var/lib /var/log /etc/systemd/system; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
mkdir "$1/python" && mount --bind "$2" "$1/python"
way=
for part in $(echo "$2" | tr / ' '); do
  way="$way/$part"
  [ "$way" != "$2" ] || break
  case $(stat -c %A "$way") in *[xt]) continue;; esac  # the first folder on the way that others may not enter
  mount -t tmpfs -o mode=755 tmpfs "$way"; mkdir -p "$2"; mount --bind "$1/python" "$2"
  break
done
ip link set lo up && ip address add 10.0.0.2/32 dev lo
sudo() { "$@"; }
"""
WRAPPER = """\
mkdir -p /opt/rashpa/bin
printf '%s\\n' '#!/bin/sh' "exec env PYTHONPATH='{path}' '{python}' -m rashpa.cli.entry \\"\\$@\\"" > /opt/rashpa/bin/rashpa
chmod 755 /opt/rashpa/bin/rashpa
"""
ASK = """\
import ssl, sys, urllib.request
request = urllib.request.Request(sys.argv[1] + "/status", headers={"Authorization": "Bearer " + sys.argv[2]})
trusted = ssl.create_default_context(cafile="/etc/rashpa/node.pem")
print(urllib.request.urlopen(request, context=trusted, timeout=30).read().decode())
"""


def can_have_namespaces() -> bool:
    if os.geteuid() != 0 or any(
        shutil.which(name) is None for name in ("unshare", "setpriv", "useradd", "openssl", "ip")
    ):
        return False
    words = ["unshare", "-m", "-n", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(
    not can_have_namespaces(), reason="namespaces need root, util-linux, iproute2 and OpenSSL"
)


def blocks() -> list[str]:
    """Return the commands of the page, up to the start of the service."""
    found = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return [text.partition("sudo systemctl")[0] for text in found]


def of_unit(key: str) -> str:
    (value,) = re.findall(rf"^{key}=(.*)$", UNIT, re.MULTILINE)
    return str(value)


def environment_of(text: str) -> dict[str, str]:
    """Return the variables as systemd.exec(5) reads them: comments are separate lines, and everything after `=` is the value."""
    lines = [line.strip() for line in text.splitlines()]
    return dict(line.split("=", 1) for line in lines if line and line[0] not in "#;")


def command_of(environment: dict[str, str]) -> list[str]:
    """Return the words of ExecStart: `$NAME` becomes several words, `${NAME}` one."""
    words: list[str] = []
    for word in shlex.split(of_unit("ExecStart").replace("%i", "receiver")):
        whole = re.fullmatch(r"\$(\w+)", word)
        words += environment[whole[1]].split() if whole else [re.sub(r"\$\{(\w+)\}", lambda m: environment[m[1]], word)]
    return words


def main() -> None:
    """Run the rest of the test inside the namespaces, as systemd would."""
    environment = environment_of(Path("/etc/rashpa/receiver.env").read_text())
    assert re.fullmatch(r"[0-9a-f]{64}", environment["RASHPA_TOKEN"])
    assert environment["RASHPA_DATA"] == "/data"
    assert Path("/etc/rashpa/receiver.env").stat().st_mode & 0o777 == 0o600
    user, group, cwd = of_unit("User"), of_unit("Group"), of_unit("WorkingDirectory")
    for folder in (cwd, f"/var/log/{of_unit('LogsDirectory')}"):
        subprocess.run(["install", "-d", "-o", user, "-g", group, folder], check=True)
    as_user = ["setpriv", "--reuid", user, "--regid", group, "--init-groups", "--inh-caps=-all", "--bounding-set=-all"]
    own = {"PATH": os.environ["PATH"], **environment}
    command = command_of(environment)
    with subprocess.Popen([*as_user, *command], cwd=cwd, env=own, stdout=subprocess.PIPE, text=True) as node:
        assert node.stdout is not None
        said = node.stdout.readline()
        assert '"url": "https://10.0.0.2:' in said, said
        assert Path(f"/proc/{node.pid}").stat().st_uid != 0
        url = re.findall(r"https://[\d.:]+", said)[0]
        words = [sys.executable, "-c", ASK, url, environment["RASHPA_TOKEN"]]
        asked = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "storage" in asked.stdout, asked.stderr
        assert "listens at" in Path("/var/log/rashpa/receiver.log").read_text()
        node.terminate()
    assert node.returncode == 0
    wrong = [word for word in command if word not in ("--certificate", "/etc/rashpa/node.pem")]
    done = subprocess.run([*as_user, *wrong], cwd=cwd, env=own, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == int(of_unit("RestartPreventExitStatus")), done.stderr
    print("as typed")


def test_a_node_starts_by_the_words_of_the_page_as_another_user(tmp_path: Path) -> None:
    typed = "".join(blocks())
    assert INSTALLED in typed
    wrapper = WRAPPER.format(path=":".join(path for path in sys.path if path), python=sys.executable)
    script = MACHINE + typed.replace(INSTALLED, wrapper) + f'cd / && exec "{sys.executable}" "{__file__}"\n'
    done = subprocess.run(
        ["unshare", "-m", "-n", "--propagation", "private", "bash", "-ec", script, "-", str(tmp_path), sys.base_prefix],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("as typed\n")


def test_whoever_ends_again_and_again_is_left_alone() -> None:
    unit = UNIT[: UNIT.index("[Service]")]
    assert re.search(r"^StartLimitIntervalSec=", unit, re.MULTILINE), "they belong to [Unit]"
    seconds, burst, wait = (int(of_unit(key)) for key in ("StartLimitIntervalSec", "StartLimitBurst", "RestartSec"))
    assert burst * wait < seconds, "otherwise it is started for ever"


def test_no_option_shuts_devices() -> None:
    assert "\nProtectClock=" not in UNIT, "before systemd 252.6 it also closes /dev of GPUs, RNICs and cards"


if __name__ == "__main__":
    main()
