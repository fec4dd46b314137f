#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Clones the last commit into a new folder and types `make demo` there, with what is cached on this machine. Says how long it took.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# the same folder each time: ccache knows files of unity builds by it
place=$root/build/test-demo
rm -rf "$place"
mkdir -p "$place"
trap 'rm -rf "$place"' EXIT
git clone --quiet "$root" "$place/clone"
cd "$place/clone"
start=$SECONDS
env -u MAKEFLAGS -u MAKELEVEL -u CCACHE_BASEDIR make demo >"$place/demo.txt" 2>&1 || {
  tail -n 60 "$place/demo.txt"
  exit 1
}
grep "^This build" "$place/demo.txt"
test -s out/demo/report.html
"$root/.venv/bin/python" -c 'import json, sys; run = json.load(open("out/demo/report.json"))["run"]; sys.exit(0 if run["good"] else str(run["reasons"]))'
echo "demo: a report in $((SECONDS - start)) s"
