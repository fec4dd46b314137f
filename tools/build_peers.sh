#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds foreign programs for tests/peers from sources that somebody has put beside the project: build_peers.sh SOURCES INTO. Says what is absent, and goes on.
set -e
sources=$(realpath -m "$1") into=$(realpath -m "$2")
mkdir -p "$into"
sls=$sources/slsDetectorPackage
if [ -f "$sls/CMakeLists.txt" ]; then
  cmake -S "$sls" -B "$into/slsDetectorPackage" -DCMAKE_BUILD_TYPE=Release -DSLS_USE_SIMULATOR=ON -DSLS_USE_GUI=OFF > "$into/slsDetectorPackage.log" 2>&1 &&
    cmake --build "$into/slsDetectorPackage" --parallel "${JOBS:-2}" --target slsReceiver sls_detector_put sls_detector_get jungfrauDetectorServer_virtual \
      eigerDetectorServer_virtual >> "$into/slsDetectorPackage.log" 2>&1 ||
    { echo "slsDetectorPackage cannot be built; see $into/slsDetectorPackage.log"; exit 1; }
  echo "slsDetectorPackage: $(head -1 "$sls/VERSION" 2>/dev/null) in $into/slsDetectorPackage/bin"
else
  echo "slsDetectorPackage is absent: its tests are left out. git clone https://github.com/slsdetectorgroup/slsDetectorPackage $sls"
fi
# Its own build wants Conan packages of PSI's server, which are not public. The receiver alone needs two libraries in one file each beside it, and packages
# of the distribution: libspdlog-dev nlohmann-json3-dev librange-v3-dev protobuf-compiler libprotobuf-dev libzmq3-dev liblz4-dev libfmt-dev.
std=$sources/std_detector_buffer/source argparse=$sources/argparse/include hash=$sources/hash-library
if [ -d "$std" ] && [ -d "$argparse" ] && [ -d "$hash" ]; then
  mkdir -p "$into/std_detector_buffer/utils"
  (cd "$std/interface" && protoc --cpp_out="$into/std_detector_buffer" std_buffer/*.proto)
  sed 's/@[A-Za-z_]*@/0/g' "$std/utils/version/include/utils/version.hpp.in" > "$into/std_detector_buffer/utils/version.hpp"
  includes=(-I"$into/std_detector_buffer" -I"$argparse" -I"$hash" -I"$std/detectors/include" -I"$std/external" -I"$std/std-udp-recv/include")
  for part in core-buffer utils; do includes+=(-I"$std/$part/include" -I"$std/$part/include/${part/-/_}"); done
  for part in log stats stream; do includes+=(-I"$std/utils/$part/include"); done
  g++ -std=c++23 -O3 -march=native -w "${includes[@]}" -o "$into/std_detector_buffer/std_udp_recv_jf" "$std"/std-udp-recv/src/jungfrau/main.cpp \
    "$std"/std-udp-recv/src/*.cpp "$std"/core-buffer/src/*.cpp "$std"/utils/src/*.cpp "$hash/md5.cpp" "$std"/external/bitshuffle/{bitshuffle,bitshuffle_core,iochain}.c \
    -lzmq -lfmt -lspdlog -llz4 -lprotobuf > "$into/std_detector_buffer.log" 2>&1 ||
    { echo "std_udp_recv_jf cannot be built; see $into/std_detector_buffer.log"; exit 1; }
  echo "std_detector_buffer: std_udp_recv_jf in $into/std_detector_buffer"
else
  echo "std_detector_buffer is left out. It is built of three folders in $sources, clones of https://github.com/paulscherrerinstitute/std_detector_buffer," \
    "https://github.com/p-ranav/argparse (v3.0) and https://github.com/stbrumme/hash-library"
fi
