#!/usr/bin/env bash
# Runs every libFuzzer program under the build folder $1 for $2 seconds each; corpora are kept in the build folder.
set -euo pipefail
build=$1
seconds=$2
mapfile -t fuzzers < <(find "$build" -type f -name 'rashpa_*_fuzz' -perm -u+x | sort)
[ ${#fuzzers[@]} -gt 0 ] || { echo "fuzz: $build holds no fuzzer" >&2; exit 1; }
for fuzzer in "${fuzzers[@]}"; do
  name=$(basename "$fuzzer")
  corpus=$build/corpus/$name
  mkdir -p "$corpus"
  echo "fuzz: $name for $seconds s"
  "$fuzzer" -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -artifact_prefix="$corpus-" "$corpus"
done
