#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Collects what a GPU machine without network needs to run the device programs of build folder $1 into folder $2: the programs,
# the shared libraries that such a machine may lack, the recorded frames of the tests, and facts about the build. The C
# and C++ run-time libraries stay here: those of the other machine may be newer, never older.
set -euo pipefail
build=$1
bundle=$2
most_mib=64
[ -s "$build/device_programs.txt" ] || { echo "device-bundle: $build has no device programs; CUDA was not found (nvcc in PATH?)" >&2; exit 1; }
rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib"
while read -r program; do
  [ -n "$program" ] || continue
  cp "$program" "$bundle/bin/"
  ldd "$program" | awk '$2 == "=>" && $3 !~ /\/lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so/ { print $3 }'
done < "$build/device_programs.txt" | sort -u | while read -r library; do cp -L "$library" "$bundle/lib/"; done
strip --strip-unneeded "$bundle"/bin/*
recorded=../shared/data/jungfrau_m049
if [ -d "$recorded" ]; then
  mkdir -p "$bundle/shared/data/jungfrau_m049"
  cp "$recorded"/mod5_raw?.bin.zst "$recorded"/mod5_pedeG?.bin.zst "$bundle/shared/data/jungfrau_m049/"
fi
cat > "$bundle/build.json" <<JSON
{"commit": "$(git rev-parse --short=12 HEAD)$(git diff --quiet HEAD || echo +)",
 "compiler": "$(c++ --version | head -1)", "cuda": "$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"}
JSON
chmod -R u+w "$bundle"
programs=$(ls "$bundle/bin" | tr '\n' ' ')
tar czf "$bundle/programs.tar.gz" -C "$bundle" bin lib  # device_tests.sh unpacks it
rm -r "$bundle/bin" "$bundle/lib"
mib=$(du -sm "$bundle" | cut -f1)
echo "device-bundle: $bundle, $mib MiB: $programs"
[ "$mib" -lt "$most_mib" ] || { echo "device-bundle: more than $most_mib MiB do not travel" >&2; exit 1; }
