#pragma once
/// What set-up needs of a link's two ends besides the contract (link.hpp): where each is, and how they find each other.
#include <span>
#include <string>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::link {

/// One DTP's source side.
class SourceLink : public Sender {
 public:
  /// Where its credits are to be written: for DestinationLink::connect().
  [[nodiscard]] virtual roce::Endpoint endpoint() const = 0;
  /// Faults injected so far; all 0 where none are asked for, or cannot be. Any thread.
  [[nodiscard]] virtual roce::FaultCounts injected() const noexcept { return {}; }
  /// Fates by the injector's log; null without one. Any thread.
  [[nodiscard]] virtual const roce::FateLog* fates() const noexcept { return nullptr; }
};

/// A receiver's destination side. Order of calls: construct, endpoints() → sources, connect(), start(), … stop().
class DestinationLink : public ReceiverLink {
 public:
  /// One per DTP, in order.
  [[nodiscard]] virtual std::vector<roce::Endpoint> endpoints() const = 0;
  /// The sources, one per DTP in order; before start(). Throws ConfigError or StateError.
  virtual void connect(std::span<const roce::Endpoint> sources) = 0;
  /// What sources must add to every offset; 0 but for an RNIC that cannot register at iova 0.
  [[nodiscard]] virtual std::uint64_t base() const noexcept { return 0; }
  /// How the region was registered, in words; empty when it need not be.
  [[nodiscard]] virtual std::string registration() const { return {}; }
};

}  // namespace rashpa::link
