#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Prints the version of this tree, which stands in CMakeLists.txt alone.
set -euo pipefail
cd "$(dirname "$0")/../.."
sed -nE 's/^project\(rashpa VERSION ([0-9.]+).*/\1/p' CMakeLists.txt
