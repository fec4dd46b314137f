// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace rashpa {

/// The decision of a processing unit on an image.
enum class Decision : std::uint8_t {
  none = 0,      ///< no decision, since the image is missing
  accepted = 1,  ///< the image goes to the sinks
  vetoed = 2,    ///< the image is not kept; VetoReason tells why
  errored = 3,   ///< the image should have been kept, but an error prevented that; ErrorReason tells why
};

/// The number of the reason for a veto, among the reasons of the pipeline (VetoReasons in core/frame/results.hpp). The
/// unit itself gives dark and partial; verdicts of the pipeline's steps name all others.
enum class VetoReason : std::uint8_t {
  none = 0,
  too_few = 1,  ///< a number that files have always used; only its name has a meaning
  too_many = 2,
  dark = 3,     ///< a dark frame (flag of the frame record), not wanted in the output
  partial = 4,  ///< lines are missing, and the policy refuses such images
};

/// The reason why an image that should have been kept was lost.
enum class ErrorReason : std::uint8_t {
  none = 0,
  unit = 1,  ///< the processing unit failed, or was stopped before it finished
  /// its slot was overwritten before it was stored: by a later image, or by late lines that had been given up
  overwritten = 2,
  storage = 3,  ///< writing failed, or the written image was lost again
  dropped = 4,  ///< the sink's queue was full, and the sink may drop (on_full)
};

/// The text of `overwritten`, for messages.
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
