#pragma once
#include <cstdint>
#include <string_view>

namespace rashpa {

/// What a processing unit decided about an image.
enum class Decision : std::uint8_t {
  none = 0,      ///< nothing: the image is missing
  accepted = 1,  ///< it goes to the sinks
  vetoed = 2,    ///< it does not, for the reason given
  errored = 3,   ///< it should have, but processing or writing failed
};

/// Why an image is not kept.
enum class VetoReason : std::uint8_t {
  none = 0,
  too_few = 1,   ///< fewer bright pixels than asked for
  too_many = 2,  ///< more bright pixels than allowed
  dark = 3,      ///< a dark frame (flag of the frame record), not wanted in the output
  partial = 4,   ///< lines are missing and the policy refuses such images
};

constexpr std::string_view name_of(Decision decision) noexcept {
  constexpr std::string_view names[] = {"none", "accepted", "vetoed", "errored"};
  return names[static_cast<std::uint8_t>(decision) & 3U];
}
constexpr std::string_view name_of(VetoReason reason) noexcept {
  constexpr std::string_view names[] = {"none", "too_few", "too_many", "dark", "partial"};
  return static_cast<std::uint8_t>(reason) < 5 ? names[static_cast<std::uint8_t>(reason)] : "unknown";
}

}  // namespace rashpa
