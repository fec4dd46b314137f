#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh FIRST COUNT [SEED]: random configurations of the sender, its frames against software's, in all processors. A file of what each
# process said lies in ./logs; exit 1 when one failed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
first=$1 count=$2 seed=${3:-1}
each=60
rm -rf "$here/logs" && mkdir "$here/logs"
export LD_LIBRARY_PATH="$here" seed here

one() {  # FIRST COUNT
  "$here/sender_core_test" "$2" "$seed" "$1" > "$here/logs/$1.log" 2>&1 || { echo "FAILED: sender_core_test $2 $seed $1"; tail -5 "$here/logs/$1.log"; return 1; }
}
export -f one

status=0
for ((at = first; at < first + count; at += each)); do
  echo "$at $((first + count - at < each ? first + count - at : each))"
done | xargs -P "$(nproc)" -L 1 bash -c 'one "$@"' one || status=1
cat "$here"/logs/*.log | awk '
  /^configurations/ { whole += $8; aborted += $10 }
  /checks,/ { checks += $1; failed += $3; cycles += $5 }
  END { printf "%d configurations whole, %d aborted: %d checks, %d failed, %d cycles\n", whole, aborted, checks, failed, cycles }'
exit $status
