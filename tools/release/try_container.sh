#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the container file in the folder $1 with buildah, and runs `rashpa demo` in what it made. The base is the minimal root of
# packaging/distributions.txt's first line that try_deb.sh keeps in build/roots: no registry of images is asked. Needs root, buildah
# and that root; says so and ends with 77 where one of them is missing. Images are in build/container, and go at the end.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=$1
suite=$(sed -n '1s/ .*//p' packaging/distributions.txt)
root=$PWD/build/roots/$suite
if [ "$(id -u)" != 0 ] || ! command -v buildah > /dev/null || [ ! -e "$root/.made" ]; then
  echo "try_container: not tried; it needs root, buildah and $root (tools/release/try_deb.sh makes it)" >&2
  exit 77
fi
store=$PWD/build/container
log=$PWD/build/container.log
# Nothing of the machine's own storage is touched, and no kernel module for layers is needed.
pot() { buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }
remove() { pot rm --all > /dev/null 2>&1 || true; pot rmi --all --force > /dev/null 2>&1 || true; rm -rf "$store"; }
trap remove EXIT
quietly() { "$@" > "$log" 2>&1 || { tail -n 20 "$log" >&2; exit 1; }; }

base=$(pot from scratch)
quietly pot add "$base" "$root" /
quietly pot commit "$base" localhost/rashpa-base
quietly pot bud --isolation chroot --pull-never --build-arg BASE=localhost/rashpa-base --tag rashpa --file "$files/Containerfile" "$files"
made=$(pot from --pull-never rashpa)
pot run --isolation chroot "$made" -- rashpa --version
quietly pot run --isolation chroot --workingdir /tmp "$made" -- rashpa demo --quiet
pot run --isolation chroot "$made" -- test -s /tmp/rashpa-demo/report.html
echo "try_container: built of $suite, rashpa demo in it"
