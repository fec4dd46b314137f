// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rashpa {

/// A time, nanoseconds since 1970 UTC, as ISO 8601 with milliseconds and Z.
std::string iso_time(std::uint64_t utc_ns);
/// The time that such a text names, with or without a part of a second, with Z or an offset; empty for any other text.
std::optional<std::uint64_t> utc_of_iso(std::string_view text);

}  // namespace rashpa
