// SPDX-License-Identifier: Apache-2.0
/// A shared object that is no plugin.
extern "C" int rashpa_nothing();
extern "C" int rashpa_nothing() { return 0; }
