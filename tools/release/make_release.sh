#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes all files of a release in build/release-files from wheels (make test-wheel) and pages (make docs), tries each in an empty
# environment, and tags the commit of check_tree.sh, from which everything was built. The Python $1 runs the tools. With DRAFT=1 the tree may
# have changes, and there is no tag. A file that could not be tried leaves the commit without a tag, and the script ends with 1; with UNTRIED=1
# it tags all the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=$(realpath --no-symlinks "$1")
draft=${DRAFT:-}
version=$(tools/release/version.sh)
out=build/release-files
tools=$PWD/build/release-tools
refuse() { echo "make release: $1" >&2; exit 1; }
check_same() {
  [ -e build/release-commit ] || refuse "no commit is chosen; begin with make release"
  [ "$(git rev-parse HEAD):$(git status --porcelain)" = "$(cat build/release-commit):" ] \
    || refuse "the tree is not the one with which make release began, $(cut -c 1-12 build/release-commit); make release again"
}
[ -n "$draft" ] || check_same
tools/release/release_tools.sh "$python"
rm -rf "$out"
mkdir -p "$out"
said=()
untried=

"$python" -c "import sys; from scikit_build_core.build import build_sdist; build_sdist('$out')" > build/release-sdist.log 2>&1 \
  || { tail -n 20 build/release-sdist.log >&2; exit 1; }
tools/release/try_sdist.sh "$python" "$out/rashpa-$version.tar.gz"
said+=("source: a wheel is built of it")

for wheel in build/wheel/dist/rashpa-"$version"-*.whl; do
  cp "$wheel" "$out/"
  name=$(basename "$wheel")
  if grep -qxF "$name" build/wheel/tried; then
    said+=("$name: rashpa demo in an empty environment")
  else
    said+=("$name: NOT TRIED")
    untried=yes
  fi
done
tar czf "$out/rashpa-$version-docs.tar.gz" -C build/docs --transform "s/^site/rashpa-$version-docs/" site

while read -r suite minor archive; do
  tools/release/make_deb.sh "$python" "$minor" "$out"
  if tools/release/try_deb.sh "$suite" "$archive" "$(echo "$out/rashpa_$version~py${minor/./}_"*.deb)"; then
    said+=("package for $suite: rashpa demo in an empty root")
  elif [ $? = 77 ]; then
    said+=("package for $suite: NOT TRIED")
    untried=yes
  else
    refuse "the package for $suite does not work"
  fi
done < packaging/distributions.txt

home=build/deb/$(sed -n '1s/^[^ ]* \([^ ]*\) .*/\1/p' packaging/distributions.txt)/usr/lib/rashpa
site=$(echo "$home"/lib/python*/site-packages)
"$python" tools/release/notices.py "$site" > "$out/third_party_licenses.txt"
PYTHONPATH=$tools "$python" tools/release/bill_of_materials.py "$site" > "$out/rashpa-$version.cdx.json"
PYTHONPATH=$tools "$python" tools/release/check_recipe.py packaging/conda/recipe.yaml
sed "s/@VERSION@/$version/g" packaging/Containerfile > "$out/Containerfile"
if tools/release/try_container.sh "$out"; then
  said+=("container: built with buildah, rashpa demo in it")
elif [ $? = 77 ]; then
  said+=("container: NOT TRIED")
  untried=yes
else
  refuse "the container does not work"
fi
(cd "$out" && sha256sum -- * > SHA256SUMS)
(cd "$out" && du -k -- * | awk '{printf "%8.1f MB  %s\n", $1 / 1024, $2}')
printf 'make release: %s\n' "${said[@]}"
[ -z "$draft" ] || exit 0
[ -z "$untried" ] || [ -n "${UNTRIED:-}" ] \
  || refuse "no tag, since files were not tried; install the packages of packages-release.txt as root, and make pythons, or UNTRIED=1"
check_same
git tag -a "v$version" -m "rashpa $version" "$(cat build/release-commit)"
