// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The ports of a detector that sends through several sockets (slsReceivers). Frame numbers begin anywhere and are the
/// same at all ports; each port announces its own end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/link/sls/frame_counts.hpp"

namespace rashpa::link::stream2 {

/// Turns frame numbers of ports into frames of the run, and counts the ports that have ended. One thread uses it.
class PortCounts {
 public:
  /// Creates the counts. `first` is the number of frame 0; 0: the lowest number among the first images of all ports.
  PortCounts(std::uint64_t first, std::size_t ports) : counts_(first, ports), ends_(ports, End::none) {}

  /// Returns the run's frame of an image, negative before the run. Returns nothing while the number of frame 0 is
  /// unknown.
  [[nodiscard]] std::optional<std::int64_t> frame(std::size_t port, std::uint64_t number, std::int64_t now) noexcept;
  /// Records that a port sends nothing more. `begun`: an image of the run has come. Before, the end may be that of an
  /// earlier acquisition; it holds as long as the port sends no image.
  void end(std::size_t port, bool begun) noexcept { ends_[port] = begun ? End::of_run : End::before; }
  /// Returns true when no port sends anything more.
  [[nodiscard]] bool ended() const noexcept;
  /// Returns true when the end of some port came before the run's first image.
  [[nodiscard]] bool ended_before() const noexcept;

 private:
  enum class End : std::uint8_t { none, before, of_run };
  sls::FrameCounts counts_;
  std::vector<End> ends_;  // by port, since its latest image
};

}  // namespace rashpa::link::stream2
