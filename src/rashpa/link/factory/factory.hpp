// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes the two ends of DTPs, each side from its own options. `roce` and `verbs` exchange the same packets; `pcie`
/// works only with itself.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/factory/link_options.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::link {

namespace fpga {
class DescriptorRing;
}  // namespace fpga
namespace pcie {
class CudaSource;
class RemoteMemory;
}  // namespace pcie
namespace roce {
class CreditListener;
}  // namespace roce
namespace verbs {
struct SourceMemory;
}  // namespace verbs

/// The options that both ends of all DTPs of a node share.
struct EndOptions {
  LinkOptions link{};      ///< options of this end
  Kind peer = Kind::roce;  ///< kind of the other end
  /// address of this end. verbs: one of an RNIC, for a sender also a wildcard; pcie: unused; fpga: the card's, or this
  /// machine's for a simulated card
  std::string address{};
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
};

/// The facts of one DTP that its sender needs.
struct SenderDtp {
  Endpoint destination;
  std::uint32_t id = 0;
  std::uint64_t images = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t slots = 0;   ///< slots of the receiver; 0: unknown
  std::uint32_t events = 1;  ///< events of an image
};

/// Makes the senders of one emulator. Senders of one local address share the device, the registered frames and the
/// socket for credits. Senders to one pcie receiver share its mapped memory, and all of fpga share their card. Set-up
/// thread only.
class Senders {
 public:
  /// Prepares the senders. `frames` are the blocks of all source memory, which outlive the senders. Throws ConfigError
  /// or ResourceError.
  Senders(const EndOptions& options, std::vector<std::span<const std::byte>> frames, std::optional<FaultConfig> faults);
  ~Senders();

  [[nodiscard]] std::unique_ptr<Sender> make(const SenderDtp& dtp);
  /// Returns how the frames were registered, as text; empty when no registration is needed.
  [[nodiscard]] std::string registration() const;

 private:
  [[nodiscard]] std::unique_ptr<Sender> make(const roce::Options& options, const SenderDtp& dtp);
  [[nodiscard]] std::unique_ptr<Sender> make(const verbs::Options& options, const SenderDtp& dtp);
  [[nodiscard]] std::unique_ptr<Sender> make(const pcie::Options& options, const SenderDtp& dtp);
  [[nodiscard]] std::unique_ptr<Sender> make(const fpga::Options& options, const SenderDtp& dtp);
  [[nodiscard]] std::unique_ptr<Sender> make(const sls::Options& options, const SenderDtp& dtp);
  [[nodiscard]] std::unique_ptr<Sender> make(const stream2::Options& options, const SenderDtp& dtp);
  [[nodiscard]] std::string verbs_registration() const;

  EndOptions options_;
  std::vector<std::span<const std::byte>> frames_;
  std::optional<FaultConfig> faults_;
  // By address of this end: with a wildcard, receivers behind different interfaces are reached from different ones.
  std::map<std::string, std::shared_ptr<roce::CreditListener>> credits_;
  std::map<std::string, std::shared_ptr<verbs::SourceMemory>> memory_;
  std::shared_ptr<const pcie::RemoteMemory> remote_;
  std::unique_ptr<pcie::CudaSource> gpu_;
  std::shared_ptr<fpga::DescriptorRing> card_;
};

struct ReceiverOptions {
  EndOptions end;
  std::uint16_t port = 4791;  ///< for roce: thread i listens on port + i; 0: any free ports
  std::uint32_t threads = 1;
  int first_processor = -1;
  int region_file = -1;  ///< for pcie: memory::Buffer::shared_file() of the memory
};

/// Makes the receiver of a link. The memory, the queues and the bell outlive it. Throws ConfigError, also when the link
/// cannot write to that kind of memory, or ResourceError.
std::unique_ptr<Receiver> make_receiver(const ReceiverOptions& options, const ReceiverMemory& memory,
                                        const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell);

}  // namespace rashpa::link
