#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian package $3 in a minimal root of the distribution $1 ($2: its archive), which is made in build/roots when it is not
# there, runs `rashpa demo` in it, and removes the package again. Needs root and debootstrap; says so and ends with 77 where it has not.
set -euo pipefail
cd "$(dirname "$0")/../.."
suite=$1
archive=$2
deb=$3
if [ "$(id -u)" != 0 ] || ! command -v debootstrap > /dev/null; then
  echo "try_deb: $suite: not tried; it needs root and debootstrap" >&2
  exit 77
fi
root=$PWD/build/roots/$suite
if [ ! -e "$root/.made" ]; then
  rm -rf "$root"
  mkdir -p build/roots
  script=${DEBOOTSTRAP_DIR:-/usr/share/debootstrap}/scripts/$suite
  [ -e "$script" ] || script=$(dirname "$script")/$([[ $archive = *ubuntu* ]] && echo gutsy || echo sid)
  debootstrap --variant=minbase --components=main,universe --include=python3,ca-certificates "$suite" "$root" "$archive" \
    "$script" > "build/roots/$suite.log" 2>&1 || { tail -n 5 "build/roots/$suite.log" >&2; exit 77; }
  touch "$root/.made"
fi
# in a mount namespace of its own: nothing stays mounted whatever happens
unshare --mount --pid --fork bash -euo pipefail -s "$root" "$(realpath "$deb")" <<'INSIDE'
root=$1
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
rm -rf "$root/root/release"
mkdir -p "$root/root/release"
cp "$2" "$root/root/release/rashpa.deb"
inside() { env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$root" "$@"; }
inside dpkg -i /root/release/rashpa.deb > "$root/root/release/log" 2>&1 || { cat "$root/root/release/log"; exit 1; }
inside rashpa --version
inside sh -c 'cd /root/release && rashpa demo --quiet > demo.txt 2>&1' || { cat "$root/root/release/demo.txt"; exit 1; }
inside test -s /root/release/rashpa-demo/report.html
inside dpkg --purge rashpa > /dev/null
! inside test -e /usr/lib/rashpa || { echo "the removed package leaves /usr/lib/rashpa" >&2; exit 1; }
rm -rf "$root/root/release"
INSIDE
echo "try_deb: $suite: installed, rashpa demo, removed: $(basename "$deb")"
