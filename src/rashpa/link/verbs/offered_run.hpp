// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace rashpa::link::verbs {

static_assert(std::endian::native == std::endian::little, "offers are sent as they lie in memory");

/// One contiguous run of pixels that a source offers, as sent to the receiver that reads it. All addresses are those of
/// registrations.
struct OfferedRun {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::uint32_t bytes = 0;
  std::uint32_t rkey = 0;  ///< of the source
};
static_assert(sizeof(OfferedRun) == 24);

/// An offer is one message with 1 to kRunsOfOffer runs.
inline constexpr std::uint32_t kRunsOfOffer = 64;
inline constexpr std::uint32_t kOfferBytes = kRunsOfOffer * sizeof(OfferedRun);
/// RDMA READs in flight of a queue pair, the same at both ends; every RNIC in use has 16 or more.
inline constexpr std::uint8_t kReadsInFlight = 8;

}  // namespace rashpa::link::verbs
