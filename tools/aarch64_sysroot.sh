#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The libraries of packages-run.txt and packages-test.txt for aarch64, unpacked in the folder $1: what a cross compiler needs besides itself.
# Nothing of this machine changes: apt works in a folder of its own, and the packages are unpacked, not installed.
set -euo pipefail
sysroot=$1
root=$PWD/$(dirname "$sysroot")/apt
if ! command -v apt-get >/dev/null; then
  echo "aarch64: apt-get is needed; elsewhere unpack the libraries of packages-run.txt and packages-test.txt for aarch64 in $sysroot" >&2
  exit 1
fi
# The libraries alone: programs of packages-run.txt and packages-test.txt run on this machine.
mapfile -t wanted < <(sed 's/#.*//' packages-run.txt packages-test.txt | awk '/^(lib|cppzmq|opencl-c-headers)/ && !/^libclang/ {print $1}')
mkdir -p "$root"/{state/lists/partial,cache/archives/partial,etc}
: > "$root/status"
if grep -q '^ID=ubuntu' /etc/os-release; then
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  echo "deb [arch=arm64] http://ports.ubuntu.com/ubuntu-ports $release main universe" > "$root/etc/sources.list"
  sources=(-o "Dir::Etc::sourcelist=$root/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null)
else
  sources=()
fi
apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 "${sources[@]}" \
    -o "Dir::State=$root/state" -o "Dir::State::status=$root/status" -o "Dir::Cache=$root/cache" \
    -o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
}
apt update
apt install --yes --no-install-recommends --download-only libc6-dev libstdc++-12-dev "${wanted[@]}" >/dev/null
rm -rf "$sysroot.new"
mkdir -p "$sysroot.new"
for package in "$root"/cache/archives/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$sysroot.new" --exclude=./usr/share/doc --exclude=./usr/share/man
done
rm -rf "$sysroot"
mv "$sysroot.new" "$sysroot"
echo "aarch64: $(find "$root/cache/archives" -name '*.deb' | wc -l) packages in $sysroot"
