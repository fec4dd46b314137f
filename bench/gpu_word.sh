#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of trigger word, and of an RNIC's writes into memory of a GPU, with a real GPU. They print the device's attributes, and the times from
# the last store of a source to the first effect and to all results.
#
# Usage: bench/gpu_word.sh bundle [BUILD]  where it was built: programs and their libraries into build/gpu_word, which travels
#        bench/gpu_word.sh run [FOLDER]    on a machine with a GPU
set -euo pipefail
case ${1:-} in
bundle)
  build=${2:-build/release}
  folder=build/gpu_word
  rm -rf "$folder"
  mkdir -p "$folder/lib"
  for program in unit/rashpa_cuda_word_test receiver/rashpa_rnic_cuda_test; do
    cp "$build/src/rashpa/$program" "$folder/"
    ldd "$build/src/rashpa/$program" | awk '$2 == "=>" && $3 !~ /\/lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so/ { print $3 }'
  done | sort -u | while read -r library; do cp -L "$library" "$folder/lib/"; done
  strip --strip-unneeded "$folder"/rashpa_*
  du -sh "$folder"
  ;;
run)
  folder=${2:-build/gpu_word}
  failed=0
  for program in rashpa_cuda_word_test rashpa_rnic_cuda_test; do
    LD_LIBRARY_PATH=$folder/lib timeout 250 "$folder/$program" || failed=1
  done
  exit $failed
  ;;
*)
  sed -n '6,7s/^# //p' "$0" >&2
  exit 2
  ;;
esac
