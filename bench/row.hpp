// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa::measured {

/// One measured value, and that of a peer from the same run.
struct Row {
  std::string what;
  double value = 0;
  std::string unit;
  std::string against = "none";
  double against_value = 0;

  /// 0: there is no peer.
  [[nodiscard]] double ratio() const noexcept { return against_value > 0 ? value / against_value : 0; }
};

}  // namespace rashpa::measured
