// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "chain.hpp"
#include "network.hpp"

namespace rashpa::net {

/// An end of a chain on `host`, which outlives it.
inline chain::Place place(const Host& host, const std::string& address) {
  return {address, [&host](const std::function<void()>& make) { host.within(make); }};
}

}  // namespace rashpa::net
