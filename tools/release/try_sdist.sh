#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel from the source archive $2 in an empty folder, outside the tree, with the tools of `make wheel`. The Python $1 runs pip.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/build/wheel/tools
archive=$(realpath "$2")
python=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
tar xzf "$archive" -C "$place"
cd "$place"/rashpa-*
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
PYTHONPATH=$tools "$python" -m pip wheel . --no-build-isolation --no-deps --no-index --wheel-dir "$place/wheel" \
  --config-settings=build-dir=build/wheel > "$place/log" 2>&1 || { tail -n 30 "$place/log" >&2; exit 1; }
unzip -Z1 "$place"/wheel/rashpa-*.whl > "$place/files"
grep -q "^rashpa/_native.*\.so$" "$place/files" || { echo "try_sdist: the wheel has no native module" >&2; exit 1; }
echo "try_sdist: $(basename "$archive"): $(basename "$place"/wheel/*.whl) built of it"
