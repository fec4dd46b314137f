#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs into build/release-tools, with the Python $1, programs that a release alone needs: they are in no lock.
set -euo pipefail
cd "$(dirname "$0")/../.."
wanted="towncrier==26.9.0 cyclonedx-bom==7.5.0 py-rattler-build==0.73.0"
[ "$(cat build/release-tools/.installed 2>/dev/null)" != "$wanted" ] || exit 0
rm -rf build/release-tools
mkdir -p build
# shellcheck disable=SC2086 # words
"$1" -m pip install --quiet --only-binary :all: --target build/release-tools $wanted
echo "$wanted" > build/release-tools/.installed
