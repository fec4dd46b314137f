#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
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
tar xzf "$bundle/programs.tar.gz" -C "$bundle"
export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
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

for test in ./*_test; do step "$(basename "$test")" timeout 120 "$test"; done
# The sanitizer runs one kernel at a time and waits for it: what waits for the host, or for another device, while others
# run would wait for ever. Faults made on purpose are none that it should find, and what counts on a source that is fast
# finds none. Of the resident kernel racecheck reports hazards: docs/explanations/gpu.md.
declare -A small=([memcheck]='-*Fault*:*that_faults*:*Large*:*thousand*:*/stream:*two_units*:*any_state*:*CudaSums*/all:*NcclJoin*:*Split*:*without_credits*:*is_not_there*')
small[racecheck]="${small[memcheck]}:*/persistent:Resident*:*trigger_is_chosen*"
if [ "$mode" != quick ]; then
  for tool in memcheck racecheck; do
    for test in ./*_test; do
      [ "$test" != ./rashpa_cuda_fault_test ] || continue
      step "${tool}_$(basename "$test")" timeout 150 compute-sanitizer --tool "$tool" --error-exitcode 9 "$test" \
        --gtest_filter="${small[$tool]}"
    done
  done
fi
measure() {  # name of the result, command …
  local name=$1 rows
  shift
  rows=$(mktemp)
  if timeout 240 "$@" > "$rows"; then
    python3 "$tools/store_rows.py" "$name" "$bundle/build.json" "$rows" "$out/$name.json" || failed=1
  else
    echo "FAILED  $*"
    failed=1
  fi
}
# In parts, each with a limit of its own and a result of its own.
measure gpu ./rashpa_gpu_bench --json --only copies,triggers,kernels
measure gpu_passes ./rashpa_gpu_bench --json --only passes
measure gpu_azimuthal ./rashpa_gpu_bench --json --only azimuthal
measure gpu_latency ./rashpa_cuda_unit_bench --json --only latency
measure gpu_unit ./rashpa_cuda_unit_bench --json --only rate
measure gpu_unit_chunks ./rashpa_cuda_unit_bench --json --only chunks
measure gpu_dealt ./rashpa_cuda_unit_bench --json --only dealt
measure gpu_split ./rashpa_cuda_unit_bench --json --only split
# JUNGFRAU 4M at 2 kHz for a minute, then at full rate; a tenth kept, a tenth dark.
chain=(./rashpa_chain_bench --unit cuda --modules 8 --slots 240 --link-threads 4 --poll spin --json)
measure gpu_chain_stack10 "${chain[@]}" --rate 2000 --frames 120000 --stack 10
measure gpu_chain_stack1 "${chain[@]}" --rate 2000 --frames 40000 --stack 1
measure gpu_chain_full_rate "${chain[@]}" --frames 100000 --stack 10 --verify off
exit $failed
