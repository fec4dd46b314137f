#pragma once
/// Which implementation a DTP's ends use: each side chooses its own, by name, and both kinds speak the same packets.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/faults.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/verbs/options.hpp"

namespace rashpa::link {

namespace roce {
class CreditListener;
class RoceReceiver;
class RoceSender;
}  // namespace roce
namespace verbs {
class VerbsReceiver;
class VerbsSender;
struct SourceMemory;
}  // namespace verbs

/// `roce`: RoCE in user space. `verbs`: an RNIC or the kernel's Soft-RoCE.
enum class Kind : std::uint8_t { roce, verbs };

/// Throws ConfigError that lists the kinds when `name` is none of them.
Kind kind_of(std::string_view name);
std::string_view name_of(Kind kind) noexcept;

/// What both ends of all DTPs of a node have in common.
struct EndOptions {
  Kind kind = Kind::roce;  ///< of this end
  Kind peer = Kind::roce;  ///< of the other end
  std::string address;     ///< of this end; verbs: one that an RNIC has, on the source side also a wildcard
  roce::Options roce{};    ///< pmtu, packetisation and window are for both kinds
  verbs::Options verbs{};
  roce::Flow flow = roce::Flow::credits;
  roce::Poll poll = roce::Poll::event;
};

/// One DTP's sender, whatever its kind.
class SourceLink {
 public:
  explicit SourceLink(std::unique_ptr<roce::RoceSender> sender);
  explicit SourceLink(std::unique_ptr<verbs::VerbsSender> sender);
  SourceLink(SourceLink&&) noexcept;
  ~SourceLink();

  [[nodiscard]] Sender& sender() noexcept;
  [[nodiscard]] const Sender& sender() const noexcept;
  /// Where its credits are to be written.
  [[nodiscard]] roce::Endpoint endpoint() const;
  /// Faults injected so far; all 0 without a FaultConfig.
  [[nodiscard]] roce::FaultCounts injected() const noexcept;
  /// Fates by the injector's log; null without a FaultConfig.
  [[nodiscard]] const roce::FateLog* fates() const noexcept;

 private:
  std::unique_ptr<roce::RoceSender> roce_;
  std::unique_ptr<verbs::VerbsSender> verbs_;
};

/// One DTP as its sender must know it.
struct SourceDtp {
  roce::Endpoint destination;
  std::uint32_t id = 0;
  std::uint64_t images = 0;
  std::uint64_t payload_bytes = 0;
};

/// Makes the senders of one emulator: they share the device, the registered frames, the socket for credits.
class SourceLinks {
 public:
  /// `frames`: all source memory; it outlives the senders. Throws ConfigError or ResourceError.
  SourceLinks(const EndOptions& options, std::span<const std::byte> frames, std::optional<roce::FaultConfig> faults);
  ~SourceLinks();

  [[nodiscard]] SourceLink make(const SourceDtp& dtp);
  /// How the frames were registered, in words; empty when they need not be.
  [[nodiscard]] std::string registration() const;

 private:
  [[nodiscard]] SourceLink make_roce(const SourceDtp& dtp);
  [[nodiscard]] SourceLink make_verbs(const SourceDtp& dtp);
  EndOptions options_;
  std::span<const std::byte> frames_;
  std::optional<roce::FaultConfig> faults_;
  std::shared_ptr<roce::CreditListener> credits_;
  std::unique_ptr<verbs::SourceMemory> memory_;
};

struct DestinationOptions {
  EndOptions end;
  std::uint16_t port = 4791;  ///< roce: thread i listens on port + i; 0: any free ones
  std::uint32_t threads = 1;
  int first_processor = -1;
};

/// The destination side of one receiver, whatever its kind: what set-up needs besides the contract.
class DestinationLink {
 public:
  /// As RoceReceiver and VerbsReceiver: the region, the rings and the bell outlive the link.
  DestinationLink(const DestinationOptions& options, std::span<std::byte> region, std::vector<DestinationDtp> dtps,
                  std::vector<ArrivalRing*> rings, Doorbell& bell);
  ~DestinationLink();

  [[nodiscard]] ReceiverLink& receiver() noexcept;
  [[nodiscard]] const ReceiverLink& receiver() const noexcept;
  /// One per DTP, in order.
  [[nodiscard]] std::vector<roce::Endpoint> endpoints() const;
  /// What sources must add to every offset; 0 but for an RNIC that cannot register at iova 0.
  [[nodiscard]] std::uint64_t base() const noexcept;
  /// How the region was registered, in words; empty when it need not be.
  [[nodiscard]] std::string registration() const;
  /// The sources, one per DTP in order; before start().
  void connect(std::span<const roce::Endpoint> sources);

 private:
  std::unique_ptr<roce::RoceReceiver> roce_;
  std::unique_ptr<verbs::VerbsReceiver> verbs_;
};

}  // namespace rashpa::link
