// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace rashpa {

/// The decision of a processing unit on an image.
enum class Decision : std::uint8_t {
  none = 0,      ///< nothing: the image is missing
  accepted = 1,  ///< it goes to the sinks
  vetoed = 2,    ///< it does not, for the reason given
  errored = 3,   ///< it should have, but could not be: ErrorReason
};

/// Gives the reason why an image is not kept: its number among the reasons of the pipeline (VetoReasons in
/// core/frame/results.hpp). dark and partial are the unit's own; the others are named by the verdicts of the pipeline's
/// steps.
enum class VetoReason : std::uint8_t {
  none = 0,
  too_few = 1,  ///< numbers that files have had from the beginning; the name is all that they say
  too_many = 2,
  dark = 3,     ///< a dark frame (flag of the frame record), not wanted in the output
  partial = 4,  ///< lines are missing and the policy refuses such images
};

/// Gives the reason why an image that should have been kept is not.
enum class ErrorReason : std::uint8_t {
  none = 0,
  unit = 1,         ///< the processing unit failed, or was ended before it was done
  overwritten = 2,  ///< its slot was written before it was stored: by a later image, or by lines that had been given up
  storage = 3,      ///< writing failed, or the written image is not there any more
  dropped = 4,      ///< the sink's queue was full, and the sink may drop (on_full)
};

/// The meaning of `overwritten`, for messages.
inline constexpr std::string_view kWrittenAgain =
    "its slot was written again before it was stored: by a later image, by lines that came after they were given up, "
    "or by another process";
inline constexpr std::uint8_t kErrorReasons = 5;

constexpr std::string_view name_of(Decision decision) noexcept {
  constexpr std::string_view names[] = {"none", "accepted", "vetoed", "errored"};
  return names[static_cast<std::uint8_t>(decision) & 3U];
}
constexpr std::string_view name_of(ErrorReason reason) noexcept {
  constexpr std::string_view names[] = {"none", "unit", "overwritten", "storage", "dropped"};
  return static_cast<std::uint8_t>(reason) < kErrorReasons ? names[static_cast<std::uint8_t>(reason)] : "unknown";
}

}  // namespace rashpa
