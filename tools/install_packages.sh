#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages named in the files "$@" that are missing, in one call. Asks nothing; says what to do where it cannot.
set -euo pipefail
list="$*"
mapfile -t wanted < <(sed 's/#.*//' "$@" | awk 'NF {print $1}')

if ! command -v dpkg-query >/dev/null; then
  echo "packages: this is not Debian or Ubuntu; install the equivalents of $list yourself (the build says what it misses)" >&2
  exit 0
fi
missing=()
for package in "${wanted[@]}"; do
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo)
else
  echo "packages: not root and no sudo; ask an administrator for: apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "packages: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null >/dev/null
