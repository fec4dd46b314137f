// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::vm {

/// One DTP's end as it goes through a file; the placement is the destination's alone.
struct ExchangedEnd {
  link::Endpoint endpoint;
  Placement placement{};
};

/// Writes `<prefix><suffix>` for each prefix with its share of the ends, all shares equal and in order; each file
/// whole: other processes see nothing or all of it. Throws FileError.
void give(const std::vector<std::string>& prefixes, const std::string& suffix, const std::vector<ExchangedEnd>& ends);
/// Waits until the files are there; all their ends, in order. Throws FileError after `timeout_s`, or when one is not
/// what give() writes.
std::vector<ExchangedEnd> take(const std::vector<std::string>& prefixes, const std::string& suffix, double timeout_s);
/// True when all of them are there.
[[nodiscard]] bool there(const std::vector<std::string>& prefixes, const std::string& suffix);

}  // namespace rashpa::vm
