#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzzers for $2 seconds each, FUZZ_JOBS at a time (1): the libFuzzer programs under the build folder $1, then the targets of
# tests/fuzz/targets.py with $3 (a Python that has rashpa) and atheris in build/atheris. Any more arguments name those that are wanted.
# They begin with tests/fuzz/corpus/NAME; what they find on the way is kept in $1/corpus, what fails in $1/found. Status 1 when any failed.
set -uo pipefail
build=$1 seconds=$2 python=$3
shift 3
wanted=" $* "
found=$build/found
mkdir -p "$found"
rm -f "$found"/*.log
running=()
count=0

# fuzz NAME COMMAND...: when it is wanted, and a job is free; an input may take 10 s and 2 GiB.
fuzz() {
  local name=$1 corpus=$build/corpus/$1
  shift
  [ "$wanted" = "  " ] || [[ $wanted == *" $name "* ]] || return 0
  count=$((count + 1))
  mkdir -p "$corpus"
  [ ! -d "tests/fuzz/corpus/$name" ] || cp "tests/fuzz/corpus/$name"/* "$corpus"
  while [ "$(jobs -rp | wc -l)" -ge "${FUZZ_JOBS:-1}" ]; do sleep 1; done
  echo "fuzz: $name for $seconds s, log in $found/$name.log"
  one "$name" "$corpus" "$@" &
  running+=($!)
}

# one NAME CORPUS COMMAND...: status 1, and its log, when it failed.
one() {
  local name=$1 corpus=$2
  shift 2
  "$@" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$found/$name-" "$corpus" >"$found/$name.log" 2>&1 && return 0
  echo "fuzz: $name FAILED; log and input are in $found" >&2
  tail -n 40 "$found/$name.log" >&2
  return 1
}

while read -r fuzzer; do
  name=$(basename "$fuzzer" _fuzz)
  fuzz "${name#rashpa_}" "$fuzzer" -max_len=1024
done < <(find "$build" -type f -name 'rashpa_*_fuzz' -perm -u+x | sort)
while read -r name; do
  PYTHONPATH=build/atheris fuzz "$name" "$python" tests/fuzz/fuzz.py "$name" -max_len=65536
done < <(PYTHONPATH=tests/fuzz "$python" -c 'import targets; print(*targets.TARGETS, sep="\n")')
status=0
for job in "${running[@]}"; do wait "$job" || status=1; done
grep -H stat::number_of_executed_units "$found"/*.log || true
[ "$count" -gt 0 ] || { echo "fuzz: there is no fuzzer$wanted" >&2; exit 1; }
exit "$status"
