// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A cable that loses, doubles and disorders packets, each way for itself.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>

#include "network.hpp"

namespace rashpa::net {

/// What happens to RoCE packets that go one way: the probability of each, for each packet.
struct Wear {
  double drop = 0;
  double duplicate = 0;  ///< a second copy, in front of the packet
  double reorder = 0;    ///< one to four others overtake it, or as many as come within a millisecond
};

/// What happened to them.
struct Worn {
  std::uint64_t packets = 0;  ///< put into the cable
  std::uint64_t dropped = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t forwarded = 0;   ///< came out of it: packets - dropped + duplicated, once nothing is held back
  std::uint64_t overflowed = 0;  ///< frames of any kind that were lost because the relay was too slow: must be 0
};

/// Ends joined by two veth pairs and a relay between them: a thread that takes whole Ethernet frames from one and gives
/// them to the other. UDP and RoCEv1 frames wear; what the hosts need to find each other passes. The kernel cuts
/// merged datagrams before the relay sees them. The same seed does the same to the n-th packet of a direction.
class LossyCable : public Ends {
 public:
  /// Told of each RoCE frame and whether it is lost, by the relay's thread, in the order in which they were put in.
  using Witness = std::function<void(std::span<const std::byte> frame, bool lost)>;

  /// `there`: from one to two; `back`: from two to one. Throws std::runtime_error as Cable does.
  LossyCable(const Wear& there, const Wear& back, std::uint64_t seed, Witness there_witness = {});
  ~LossyCable();
  LossyCable(const LossyCable&) = delete;
  LossyCable& operator=(const LossyCable&) = delete;

  [[nodiscard]] Worn there() const;
  [[nodiscard]] Worn back() const;
  /// Cuts the cable: nothing passes any more, and what the witness was told may be read.
  void cut();

 private:
  class Way;
  Host middle_{3};
  std::unique_ptr<Way> there_;
  std::unique_ptr<Way> back_;
  std::jthread relay_;
};

}  // namespace rashpa::net
