// SPDX-License-Identifier: Apache-2.0
// Nothing but the owner of the tests' precompiled headers (cmake/precompiled.cmake).
int main() { return 0; }
