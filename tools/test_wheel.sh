#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the wheels of build/wheel/dist with each of the Pythons $2… in an empty environment and runs `rashpa demo` there, outside the
# tree and with no compiler in reach. Prints what both take beside what they may take; machines are loaded differently, so more is no error.
# The wheels that were tried are named in build/wheel/tried. The first is installed a second time, with pip's cache. The versions of other packages are those of requirements/run.lock. The Python $1 runs
# pip and the tests of the tutorial from a wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
tool_python=$(realpath --no-symlinks "$1")
shift
install_s=15
report_s=60
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
sed -nE 's/^([A-Za-z0-9_.-]+==[^ ]+).*/\1/p' requirements/run.lock > "$place/constraints.txt"
mkdir "$place/bin"
for tool in cat env hostname ls uname; do ln -s "$(command -v $tool)" "$place/bin/"; done

# Installs the wheel $2 into the empty folder $3 with the Python $1; $4: the cache of pip. Sets `seconds`.
install() {
  rm -rf "$3"
  "$1" -m venv --without-pip "$3"
  local start=$EPOCHREALTIME
  PIP_CACHE_DIR=$4 "$tool_python" build/wheel/tools/pip --python "$3/bin/python" install --quiet \
    --constraint "$place/constraints.txt" "$2"
  seconds=$(passed "$start")
}
passed() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN {printf "%.1f", to - from}'; }

"$tool_python" tools/release/wheel_notices.py --check build/wheel/dist/rashpa-*.whl
tried=" "
: > build/wheel/tried
for python in "$@"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  case $tried in *" $version "*) continue ;; esac
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2] if sys.version_info < (3, 12) else "cp312-abi3")')
  wheel=$(echo build/wheel/dist/rashpa-*-"$tag"-*.whl)
  if [ ! -e "$wheel" ]; then
    echo "wheel: no wheel of $tag for Python $version; make wheel PYTHONS=…" >&2
    exit 1
  fi
  here=$place/$version
  mkdir "$here"
  install "$python" "$wheel" "$here/venv" "$place/cache"
  cold=$seconds
  warm=""
  if [ "$tried" = " " ]; then
    install "$python" "$wheel" "$here/venv" "$place/cache"
    warm=", with pip's cache in $seconds s"
  fi
  # one wheel for machines with and without these: they are loaded when a run asks for them
  if find "$here/venv/lib" -path '*rashpa*' -name '*.so*' -exec readelf -d {} + | grep -E 'NEEDED.*lib(cuda|nvidia|OpenCL|ibverbs|python)'; then
    echo "wheel: $wheel needs these libraries; machines without them could not use it" >&2
    exit 1
  fi
  start=$EPOCHREALTIME
  (cd "$here" && env -i HOME="$here" PATH="$here/venv/bin:$place/bin" LANG=C.UTF-8 rashpa demo --quiet > demo.txt) || {
    cat "$here/demo.txt"
    exit 1
  }
  demo=$(passed "$start")
  # files that the package has beside its modules
  (cd "$here" && env -i HOME="$here" PATH="$here/venv/bin:$place/bin" LANG=C.UTF-8 rashpa example stored --output example --quiet)
  (cd "$here/example" && env -i HOME="$here" PATH="$here/venv/bin:$place/bin" LANG=C.UTF-8 rashpa run run.toml --quiet)
  (cd "$here" && venv/bin/python -) <<'PYTHON'
import json, pathlib, rashpa
report = json.loads(pathlib.Path("rashpa-demo/report.json").read_text())
assert report["run"]["good"], report["run"]["reasons"]
assert pathlib.Path("rashpa-demo/report.html").is_file()
assert "site-packages" in rashpa.__file__, rashpa.__file__
native = next(pathlib.Path(rashpa.__file__).parent.glob("_native*.so")).read_bytes()
assert b"\nkernel void " in native, "the sources of OpenCL kernels are missing"
print("wheel:", "with" if b".nv_fatbin" in native else "without", "CUDA kernels, with the sources of OpenCL kernels")
PYTHON
  all=$(awk -v a="$cold" -v b="$demo" 'BEGIN {printf "%.1f", a + b}')
  echo "wheel: Python $version, $tag: installed in $cold s$warm (budget $install_s s); a report after $all s (budget $report_s s)"
  rm -rf "$here"
  tried+="$version "
  basename "$wheel" >> build/wheel/tried
done
missing=""
for version in 3.11 3.12 3.13 3.14; do
  case $tried in *" $version "*) ;; *) missing+=" $version" ;; esac
done
echo "wheel: not tried, for they are not here (make pythons):${missing:- none}"
if command -v chromium > /dev/null; then
  "$tool_python" -m tests.packaging.newcomer
else
  echo "wheel: the tutorial's way to a live image is not tried: no chromium (packages-browser.txt)"
fi
