#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# An environment of its own for a peer of the benchmarks: bench/peers/PEER.txt pins what it needs.
# Prints the path of its Python. PEER.build, where it is there, holds flags for what is compiled here (NAME=VALUE lines).
set -euo pipefail
root="$(cd "$(dirname "$0")/.." && pwd)"
if [ $# -ne 1 ] || [ ! -f "$root/bench/peers/$1.txt" ]; then
  echo "usage: tools/peer_environment.sh PEER; there are: $(cd "$root/bench/peers" 2>/dev/null && ls ./*.txt | sed 's,^\./,,; s,\.txt$,,' | tr '\n' ' ')" >&2
  exit 2
fi
pins="$root/bench/peers/$1.txt"
place="$root/build/peers/$1"
if [ ! -f "$place/.made" ] || [ "$pins" -nt "$place/.made" ]; then
  rm -rf "$place"
  python3 -m venv "$place"
  if [ -f "$root/bench/peers/$1.build" ]; then
    set -a
    # shellcheck disable=SC1090
    . "$root/bench/peers/$1.build"
    set +a
  fi
  "$place/bin/pip" install --quiet --requirement "$pins" >&2
  touch "$place/.made"
fi
echo "$place/bin/python"
