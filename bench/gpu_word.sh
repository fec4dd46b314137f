#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of trigger word, and of an RNIC's writes into memory of a GPU, on a machine with a GPU. It prints the times from the last
# store of a source to the first effect. Programs: rashpa_cuda_word_test, rashpa_rnic_cuda_test and libibverbs.so.1, the stand-in beside it.
#
# Usage: bench/gpu_word.sh [BUILD]   (build/release)
set -u
build=${1:-build/release}
failed=0
"$build"/src/rashpa/unit/rashpa_cuda_word_test || failed=1
LD_LIBRARY_PATH=$build/src/rashpa/link/stand_in_rnic "$build"/src/rashpa/receiver/rashpa_rnic_cuda_test || failed=1
exit $failed
