// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What must hold of a run that has ended, whatever its seed: each function says what does not.
#include <cstdint>
#include <string>
#include <vector>

#include "checks/checking_sink.hpp"
#include "network.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "scenario.hpp"

namespace rashpa::simulation {

/// What the product promises of this scenario, besides what it always does.
struct Promised {
  bool harmed_is_found = false;   ///< an image of which something was lost is never complete
  bool unharmed_arrives = false;  ///< an image that was sent, and of which nothing was lost, is complete
  bool all_arrives = false;       ///< what was sent is complete, whatever was lost
};

Promised promised_of(const Scenario& scenario, std::int64_t disturbed_ns, bool aborted, bool in_error, bool killed);
/// The first image from which on a DTP may have been silent for a whole stack: nobody waits for it then until it is
/// heard again. UINT64_MAX: none was.
[[nodiscard]] std::uint64_t silent_from(const std::vector<const PathLog*>& logs, std::uint32_t stack) noexcept;
/// The longest that a calm run may take: nobody sleeps past what wakes it.
[[nodiscard]] std::int64_t longest_of_calm(const Scenario& scenario) noexcept;
/// The books add up: of the buffer, of its DTPs, by image.
std::vector<std::string> books_wrong(const receiver::Status& status, const std::vector<Completeness>& fates,
                                     const std::vector<Decision>& decisions);
/// What a sink was given agrees with them.
std::vector<std::string> sink_wrong(const Findings& found, const Books& books);
/// `logs`: by DTP, what the network did to it; null: nothing was sent.
std::vector<std::string> fates_wrong(const Scenario& scenario, const Promised& promised,
                                     const std::vector<Completeness>& fates, const std::vector<const PathLog*>& logs);

}  // namespace rashpa::simulation
