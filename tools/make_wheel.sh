#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds wheels into build/wheel/dist: with the first of the Pythons $2… that is older than 3.12 one for its version alone, and with the
# first of the others one for all Pythons from 3.12 on (the stable ABI). The Python $1 runs the tools. The libraries that a wheel needs are
# inside it, with their licences: it serves every distribution whose C library is not older than this machine's.
set -euo pipefail
cd "$(dirname "$0")/.."
tool_python=$1
shift
tools=$PWD/build/wheel/tools
tools/wheel_tools.sh "$tool_python"
rm -rf build/wheel/plain build/wheel/dist build/wheel/tried
# whatever a Python was compiled with, the wheel is compiled as the rest of the build is, which ccache knows
export CC=${CC:-gcc} CXX=${CXX:-g++}
built=" "
for python in "$@"; do
  tag=$("$python" -c 'import sys; v = "cp%d%d" % sys.version_info[:2]; print(f"{v}-{v}" if sys.version_info < (3, 12) else "cp312-abi3")')
  case $built in *" $tag "*) continue ;; esac
  built+="$tag "
  # as deep as build/release, so that ccache finds what that one compiled
  PYTHONPATH=$tools "$python" -m pip wheel . --no-build-isolation --no-deps --no-index --wheel-dir "build/wheel/plain/$tag" \
    --config-settings="build-dir=build/wheel-$tag"
  PATH=$tools/bin:$PATH PYTHONPATH=$tools "$tool_python" -m auditwheel --verbose repair build/wheel/plain/"$tag"/*.whl \
    --plat auto --wheel-dir build/wheel/dist >"build/wheel/$tag.log" 2>&1 || { tail -n 30 "build/wheel/$tag.log" >&2; exit 1; }
  # the name promises what auditwheel finds in the libraries of the wheel, and no more
  wheel=$(echo build/wheel/dist/rashpa-*-"$tag"-*.whl)
  PYTHONPATH=$tools "$tool_python" tools/release/wheel_notices.py "$wheel"
  platform=$(PYTHONPATH=$tools "$tool_python" -m auditwheel show --json "$wheel" | "$tool_python" -c 'import json, sys; print(json.load(sys.stdin)["overall_tag"])')
  case $wheel:$platform in
    *-"$tag"-*"$platform".whl:manylinux_*_"$(uname -m)") ;;
    *)
      echo "make_wheel: $wheel is not a wheel of $tag for manylinux; auditwheel finds ${platform:-no platform}" >&2
      exit 1
      ;;
  esac
done
du -k build/wheel/dist/*.whl | awk '{printf "%.1f MB  %s\n", $1 / 1024, $2}'
