#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds foreign programs for tests/peers from sources that somebody has put beside the project: build_peers.sh SOURCES INTO. Says what is absent, and goes on.
set -e
sources=$(realpath -m "$1") into=$(realpath -m "$2")
mkdir -p "$into"
sls=$sources/slsDetectorPackage
if [ -f "$sls/CMakeLists.txt" ]; then
  cmake -S "$sls" -B "$into/slsDetectorPackage" -DCMAKE_BUILD_TYPE=Release -DSLS_USE_SIMULATOR=ON -DSLS_USE_GUI=OFF > "$into/slsDetectorPackage.log" 2>&1 &&
    cmake --build "$into/slsDetectorPackage" --parallel "${JOBS:-2}" --target slsReceiver sls_detector_put jungfrauDetectorServer_virtual \
      eigerDetectorServer_virtual >> "$into/slsDetectorPackage.log" 2>&1 ||
    { echo "slsDetectorPackage cannot be built; see $into/slsDetectorPackage.log"; exit 1; }
  echo "slsDetectorPackage: $(head -1 "$sls/VERSION" 2>/dev/null) in $into/slsDetectorPackage/bin"
else
  echo "slsDetectorPackage is absent: its tests are left out. git clone https://github.com/slsdetectorgroup/slsDetectorPackage $sls"
fi
echo "std_detector_buffer is left out: it needs Conan packages of PSI's own server, which are not public"
