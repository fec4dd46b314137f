#!/usr/bin/env bash
# On a machine with a GPU, from the project's root: all device tests of the bundle $1, the small ones again under
# compute-sanitizer, then the benchmarks. Results go to folder $2 as JSON with machine facts. `quick` as $3 leaves the
# sanitizer out.
set -uo pipefail
bundle=$(cd "$1" && pwd)
out=$2
tools=$(cd "$(dirname "$0")" && pwd)
mode=${3:-all}
mkdir -p "$out"
out=$(cd "$out" && pwd)
failed=0
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || { echo "device tests: no GPU here" >&2; exit 1; }
export LD_LIBRARY_PATH=$bundle/lib
cd "$bundle/bin" || exit 1  # the recorded frames lie in ../shared
chmod +x ./*

step() {  # name, command …: its output goes to the log, its end to the terminal
  local name=$1 begin=$SECONDS output
  shift
  if output=$("$@" 2>&1); then
    echo "ok      $name, $((SECONDS - begin)) s: $(grep -E 'PASSED|SKIPPED|SUMMARY|RASHPA_SEED' <<< "$output" | sort -u | tr '\n' ' ')"
  else
    echo "FAILED  $name, $((SECONDS - begin)) s"
    tail -30 <<< "$output"
    failed=1
  fi
  printf '==== %s\n%s\n' "$name" "$output" >> "$out/device_tests.log"
}

for test in ./*_test; do step "$(basename "$test")" "$test"; done
if [ "$mode" != quick ]; then
  for tool in memcheck racecheck; do
    for test in ./*_test; do
      step "${tool}_$(basename "$test")" compute-sanitizer --tool "$tool" --error-exitcode 9 "$test" --gtest_filter='-*Large*'
    done
  done
fi
rows=$(mktemp)
if ./rashpa_gpu_bench --json > "$rows"; then
  python3 "$tools/store_rows.py" gpu "$bundle/build.json" "$rows" "$out/gpu.json" || failed=1
else
  echo "FAILED  rashpa_gpu_bench"
  failed=1
fi
exit $failed
