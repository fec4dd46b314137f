// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/photons/photons.hpp"

#include <fmt/core.h>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {

PixelFormat format_of(PixelType type, std::optional<Masked> masked, std::int64_t largest_count) {
  PixelFormat format = delivered(type, largest_count);
  if (!masked) return format;
  format.masked = *masked;
  const bool with_sign = is_signed(format), real = type == PixelType::f32;
  const bool fits = *masked == Masked::none           ? !real && largest_count == kNoLargestCount
                    : *masked == Masked::maximum      ? !real && !with_sign
                    : *masked == Masked::not_a_number ? real
                    : *masked == Masked::minimum      ? with_sign && largest_count == kNoLargestCount
                                                      : with_sign;
  if (!fits) {
    throw ConfigError(
        fmt::format("masked: {} pixels {}cannot be masked so; maximum is for unsigned ones, negative and minimum "
                    "for signed ones, not_a_number for float32, and a largest count goes with maximum and negative",
                    pixel_name(type), largest_count == kNoLargestCount ? "" : "with a largest count "));
  }
  return format;
}

void check_threshold(const char* kernel, PixelFormat format, std::int32_t threshold) {
  const std::int64_t most = photon_range(format).most;
  if (threshold > most) {
    throw ConfigError(fmt::format("kernel {}: threshold: {} is above the largest value of {} pixels; give {} or less",
                                  kernel, threshold, pixel_name(format.type), most));
  }
}

}  // namespace rashpa::kernel
