// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rashpa {

/// Returns a time, nanoseconds since 1970 UTC, as ISO 8601 with milliseconds and Z.
std::string iso_time(std::uint64_t utc_ns);
/// Returns the time of an ISO 8601 text, with or without a fraction of a second, with Z or an offset. Returns nothing
/// for any other text.
std::optional<std::uint64_t> utc_of_iso(std::string_view text);

}  // namespace rashpa
