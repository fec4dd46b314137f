#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a Debian package of the wheel in build/wheel/dist that fits Python $2 (3.11, 3.12 …), into folder $3. The package holds all Python
# packages of a run in the versions of requirements/run.lock below /usr/lib/rashpa, and asks for the distribution's Python alone. The Python
# $1 runs pip; the Python $2 itself is not needed.
set -euo pipefail
cd "$(dirname "$0")/../.."
tool_python=$1
python=$2
out=$3
version=$(tools/release/version.sh)
digits=${python/./}
[ "$digits" = 311 ] && tag=cp311-cp311 || tag=cp312-abi3
wheel=$(echo build/wheel/dist/rashpa-"$version"-"$tag"-*.whl)
[ -e "$wheel" ] || { echo "make_deb: there is no wheel of $version for $tag; make wheel" >&2; exit 1; }
glibc=$(sed -nE 's/.*manylinux_([0-9]+)_([0-9]+)_.*/\1.\2/p' <<< "$wheel")
architecture=$(dpkg --print-architecture)
root=build/deb/$python
rm -rf "$root"
home=$root/usr/lib/rashpa # a virtual environment: nodes are started by its Python, too
site=$home/lib/python$python/site-packages
mkdir -p "$site" "$home/bin" "$root/usr/bin" "$root/usr/share/man/man1" "$root/usr/share/doc/rashpa" "$root/usr/lib/systemd/system" "$root/DEBIAN" "$out"
sed -nE 's/^([A-Za-z0-9_.-]+==[^ ]+).*/\1/p' requirements/run.lock > build/deb/constraints.txt
platforms=()
for minor in $(seq "${glibc#*.}" -1 17); do platforms+=(--platform "manylinux_2_${minor}_$(uname -m)"); done
platforms+=(--platform "manylinux2014_$(uname -m)" --platform "linux_$(uname -m)")
"$tool_python" build/wheel/tools/pip --quiet install --target "$site" --only-binary :all: --implementation cp --python-version "$python" \
  --abi "cp$digits" --abi abi3 --abi none "${platforms[@]}" --no-compile --constraint build/deb/constraints.txt "$wheel"
rm -rf "${site:?}/bin"
find "$site" -name '*.so*' -exec chmod 755 {} +
printf 'home = /usr/bin\ninclude-system-site-packages = false\nversion = %s\n' "$python" > "$home/pyvenv.cfg"
ln -s "/usr/bin/python$python" "$home/bin/python"
printf '#!/usr/lib/rashpa/bin/python\nfrom rashpa.cli.entry import main\n\nmain()\n' > "$home/bin/rashpa"
chmod 755 "$home/bin/rashpa"
ln -s ../lib/rashpa/bin/rashpa "$root/usr/bin/rashpa"
for page in packaging/man/*.1; do gzip -9nc "$page" > "$root/usr/share/man/man1/$(basename "$page").gz"; done
cp packaging/systemd/*.service "$root/usr/lib/systemd/system/"
sed -i 's#/opt/rashpa/bin/rashpa#/usr/bin/rashpa#g' "$root"/usr/lib/systemd/system/*.service
cp LICENSE "$root/usr/share/doc/rashpa/copyright"
gzip -9nc CHANGELOG.md > "$root/usr/share/doc/rashpa/changelog.gz"
"$tool_python" tools/release/notices.py "$site" > "$root/usr/share/doc/rashpa/third_party_licenses.txt"
cat > "$root/DEBIAN/control" <<CONTROL
Package: rashpa
Version: $version~py$digits
Section: science
Priority: optional
Architecture: $architecture
Maintainer: rashpa maintainers <maintainers@users.noreply.rashpa.example>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: python$python, libc6 (>= $glibc), ca-certificates
Description: RDMA-based data acquisition for 2D X-ray detectors
 Detectors, or their emulators, push image regions into the memory of the computers and accelerators that process them. The program rashpa
 runs receivers, emulators and managers, and reads what they store.
CONTROL
cat > "$root/DEBIAN/postinst" <<SCRIPT
#!/bin/sh
set -e
[ "\$1" != configure ] || python$python -m compileall -q /usr/lib/rashpa/lib || true
SCRIPT
cat > "$root/DEBIAN/prerm" <<SCRIPT
#!/bin/sh
set -e
find /usr/lib/rashpa/lib -name __pycache__ -prune -exec rm -rf {} +
SCRIPT
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
dpkg-deb --root-owner-group -Zzstd --build "$root" "$out/rashpa_${version}~py${digits}_$architecture.deb" > /dev/null
du -k "$out/rashpa_${version}~py${digits}_$architecture.deb" | awk '{printf "make_deb: %.1f MB  %s\n", $1 / 1024, $2}'
