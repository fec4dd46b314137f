#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the wheel of build/wheel/dist in a new virtual environment of the Python $1 and runs the demo with it, outside the tree and
# with no compiler in reach. The versions of other packages are those of requirements/run.lock.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
sed -nE 's/^([A-Za-z0-9_.-]+==[^ ]+).*/\1/p' requirements/run.lock > "$place/constraints.txt"
"$python" -m venv "$place/venv"
"$place/venv/bin/python" -m pip install --quiet --constraint "$place/constraints.txt" "$root"/build/wheel/dist/rashpa-*.whl
mkdir "$place/bin"
for tool in cat env hostname ls uname; do ln -s "$(command -v $tool)" "$place/bin/"; done
cp "$root/examples/01_first_light.toml" "$place"
cd "$place"
env -i HOME="$place" PATH="$place/venv/bin:$place/bin" LANG=C.UTF-8 rashpa run 01_first_light.toml --report report
"$place/venv/bin/python" - <<'PYTHON'
import json, pathlib, rashpa
report = json.loads(pathlib.Path("report/report.json").read_text())
assert report["run"]["good"], report["run"]["reasons"]
assert "site-packages" in rashpa.__file__, rashpa.__file__
print("wheel: the demo ran from", rashpa.__file__)
PYTHON
if command -v chromium > /dev/null; then
  cd "$root"
  "$python" -m tests.packaging.newcomer
else
  echo "wheel: the README's way to a live image is not tried: no chromium (packages-browser.txt)"
fi
