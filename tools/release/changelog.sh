#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Joins the fragments of changes/ into CHANGELOG.md under the version of CMakeLists.txt, and removes them from changes/.
# `--draft` prints them alone. The Python $1 runs pip.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$1
tools/release/release_tools.sh "$python"
PYTHONPATH=build/release-tools "$python" -m towncrier build --version "$(tools/release/version.sh)" "${2:---yes}"
