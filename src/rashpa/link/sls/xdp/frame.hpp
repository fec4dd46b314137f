// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads untrusted Ethernet frames. The caller owns the memory; any thread.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rashpa/link/arrivals/scattered_bytes.hpp"

namespace rashpa::link::sls::xdp {

inline constexpr std::size_t kFrameHeaders = 42;  ///< Ethernet, IPv4 without options, UDP

/// The judgement of a frame.
enum class Verdict : std::uint8_t { datagram, malformed, bad_checksum };

/// A frame's verdict and, for a datagram, its payload.
struct ParsedFrame {
  Verdict verdict = Verdict::malformed;
  ScatteredBytes payload{};
};

/// Finds the payload of a UDP datagram on IPv4. The frame's padding is left out. Fragments, IP options, tags and
/// contradictory lengths are malformed. Checksums are those of IP and UDP; a UDP checksum of 0 means none, and one that
/// covers only the addresses means that this machine has sent the datagram.
[[nodiscard]] ParsedFrame parse_frame(const ScatteredBytes& frame) noexcept;

}  // namespace rashpa::link::sls::xdp
