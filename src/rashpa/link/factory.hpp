#pragma once
/// Which implementation a DTP's ends use: each side chooses its own, by name. `roce` and `verbs` speak the same
/// packets; `pcie` speaks only with itself.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/ends.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/verbs/options.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link {

namespace pcie {
class RemoteMemory;
}  // namespace pcie
namespace roce {
class CreditListener;
}  // namespace roce
namespace verbs {
struct SourceMemory;
}  // namespace verbs

/// `roce`: RoCE in user space. `verbs`: an RNIC or the kernel's Soft-RoCE. `pcie`: memory that both processes map.
enum class Kind : std::uint8_t { roce, verbs, pcie };

/// Throws ConfigError that lists the kinds when `name` is none of them.
Kind kind_of(std::string_view name);
std::string_view name_of(Kind kind) noexcept;

/// Who must be able to map the RASHPA buffer of a receiver with this link.
[[nodiscard]] memory::Sharing sharing_of(Kind kind) noexcept;

/// What both ends of all DTPs of a node have in common.
struct EndOptions {
  Kind kind = Kind::roce;  ///< of this end
  Kind peer = Kind::roce;  ///< of the other end
  std::string address;   ///< of this end; verbs: one that an RNIC has, on the source side also a wildcard; pcie: unused
  roce::Options roce{};  ///< transport, pmtu, packetisation and window are for roce and verbs
  verbs::Options verbs{};  ///< `verify` is for verbs and pcie
  roce::Flow flow = roce::Flow::credits;
  roce::Poll poll = roce::Poll::event;
};

/// One DTP as its sender must know it.
struct SourceDtp {
  roce::Endpoint destination;
  std::uint32_t id = 0;
  std::uint64_t images = 0;
  std::uint64_t payload_bytes = 0;
};

/// Makes the senders of one emulator: those of one local address share the device, the registered frames and the socket
/// for credits, those to one receiver its mapped memory.
class SourceLinks {
 public:
  /// `frames`: all source memory; it outlives the senders. Throws ConfigError or ResourceError.
  SourceLinks(const EndOptions& options, std::span<const std::byte> frames, std::optional<roce::FaultConfig> faults);
  ~SourceLinks();

  [[nodiscard]] std::unique_ptr<SourceLink> make(const SourceDtp& dtp);
  /// How the frames were registered, in words; empty when they need not be.
  [[nodiscard]] std::string registration() const;

 private:
  [[nodiscard]] std::unique_ptr<SourceLink> make_roce(const SourceDtp& dtp);
  [[nodiscard]] std::unique_ptr<SourceLink> make_verbs(const SourceDtp& dtp);
  [[nodiscard]] std::unique_ptr<SourceLink> make_pcie(const SourceDtp& dtp);
  EndOptions options_;
  std::span<const std::byte> frames_;
  std::optional<roce::FaultConfig> faults_;
  // By address of this end: with a wildcard, receivers behind different interfaces are reached from different ones.
  std::map<std::string, std::shared_ptr<roce::CreditListener>> credits_;
  std::map<std::string, std::unique_ptr<verbs::SourceMemory>> memory_;
  std::shared_ptr<const pcie::RemoteMemory> remote_;
};

struct DestinationOptions {
  EndOptions end;
  std::uint16_t port = 4791;  ///< roce: thread i listens on port + i; 0: any free ones
  std::uint32_t threads = 1;
  int first_processor = -1;
  int region_file = -1;  ///< pcie: memory::Buffer::shared_file() of the region
};

/// As RoceReceiver, VerbsReceiver and PcieReceiver: the region, the queues and the bell outlive the link. Throws
/// ConfigError or ResourceError.
std::unique_ptr<DestinationLink> make_destination(const DestinationOptions& options, std::span<std::byte> region,
                                                  const std::vector<DestinationDtp>& dtps, ArrivalQueues& queues,
                                                  Doorbell& bell);

}  // namespace rashpa::link
