// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The ports of a detector that several sockets send together (slsReceivers): numbers of frames begin anywhere and are
/// the same at all ports, and each port says its own end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/link/sls/frame_counts.hpp"

namespace rashpa::link::stream2 {

/// Turns frame numbers of ports into frames of the run, and counts the ports that have ended. One thread uses it.
class PortCounts {
 public:
  /// `first`: number of frame 0; 0: the lowest one among the first images of all ports.
  PortCounts(std::uint64_t first, std::size_t ports) : counts_(first, ports), ended_(ports, false) {}

  /// The run's frame of an image, negative before the run. Empty: nobody knows yet which number is frame 0.
  [[nodiscard]] std::optional<std::int64_t> frame(std::size_t port, std::uint64_t number, std::int64_t now) noexcept;
  /// A port has said that nothing more comes. Returns true when all of them have.
  [[nodiscard]] bool end(std::size_t port) noexcept;

 private:
  sls::FrameCounts counts_;
  std::vector<bool> ended_;
};

}  // namespace rashpa::link::stream2
