#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Refuses, before anything is built, a tree of which there can be no release: one with changes that no commit has, with a version that has its
# tag, or without notes on it in CHANGELOG.md. Writes the commit into build/release-commit; make_release.sh tags this one. With DRAFT=1 every
# tree will do, and there is no such file.
set -euo pipefail
cd "$(dirname "$0")/../.."
refuse() { echo "make release: $1" >&2; exit 1; }
mkdir -p build
rm -f build/release-commit
[ -z "${DRAFT:-}" ] || exit 0
version=$(tools/release/version.sh)
[ -z "$(git status --porcelain)" ] || refuse "the tree has changes that no commit has; commit them, or DRAFT=1"
! git rev-parse -q --verify "refs/tags/v$version" > /dev/null || refuse "v$version has its tag; raise the version in CMakeLists.txt"
grep -q "^## $version " CHANGELOG.md || refuse "CHANGELOG.md has no $version; make changelog, and commit it"
git rev-parse HEAD > build/release-commit
