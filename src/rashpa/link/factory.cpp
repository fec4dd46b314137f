#include "rashpa/link/factory.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/roce/credits/credit_listener.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/route.hpp"
#include "rashpa/link/verbs/receiver.hpp"
#include "rashpa/link/verbs/sender.hpp"
#include "rashpa/wire/address.hpp"

namespace rashpa::link {

namespace {

constexpr std::uint16_t kRocePort = 4791;
constexpr std::array<std::pair<Kind, std::string_view>, 3> kKinds{
    {{Kind::roce, "roce"}, {Kind::verbs, "verbs"}, {Kind::pcie, "pcie"}}};

// A wildcard becomes the address from which packets to `destination` leave.
std::string source_address(const EndOptions& options, const roce::Endpoint& destination) {
  const wire::Address address(options.address, 0);
  if (!address.wildcard()) return options.address;
  return roce::local_towards(wire::Address(destination.address, destination.port)).text();
}

void check(const EndOptions& options) {
  if (options.roce.transport == roce::Transport::ud && (options.kind != Kind::roce || options.peer != Kind::roce)) {
    throw ConfigError("link: transport ud needs the link roce on both sides; use transport uc or rc with verbs");
  }
  if ((options.kind == Kind::pcie) != (options.peer == Kind::pcie)) {
    throw ConfigError(fmt::format("link: pcie is memory that both sides map, but one side has {}; choose pcie for both",
                                  name_of(options.kind == Kind::pcie ? options.peer : options.kind)));
  }
  if (options.roce.framing == roce::Framing::v1 && (options.kind != Kind::roce || options.peer != Kind::roce)) {
    throw ConfigError("link: framing v1 needs the link roce on both sides; use framing v2");
  }
}

}  // namespace

Kind kind_of(std::string_view name) {
  for (const auto& [kind, text] : kKinds) {
    if (text == name) return kind;
  }
  throw ConfigError(fmt::format("link: no kind '{}'; choose roce, verbs or pcie", name));
}

std::string_view name_of(Kind kind) noexcept {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "unknown";
}

memory::Sharing sharing_of(Kind kind) noexcept {
  return kind == Kind::pcie ? memory::Sharing::machine : memory::Sharing::process;
}

SourceLinks::SourceLinks(const EndOptions& options, std::span<const std::byte> frames,
                         std::optional<roce::FaultConfig> faults)
    : options_(options), frames_(frames), faults_(faults) {
  check(options);
  if (options.kind == Kind::verbs && faults) {
    throw ConfigError("link: an RNIC injects no packet faults; use link roce on the source side, or no faults");
  }
  if (options.kind == Kind::pcie && faults) {
    throw ConfigError("link: pcie has no packets that faults could hit; use link roce, or no packet faults");
  }
  // Bytes are acknowledged by user-space receivers, and by rc to user-space senders. Elsewhere a window of them would
  // only wait for its timeout.
  const bool rc = options.roce.transport == roce::Transport::rc;
  if (rc ? options.kind == Kind::verbs : options.peer == Kind::verbs) options_.roce.window_bytes = 0;
}

SourceLinks::~SourceLinks() = default;

std::unique_ptr<SourceLink> SourceLinks::make(const SourceDtp& dtp) {
  if (options_.kind == Kind::pcie) return make_pcie(dtp);
  return options_.kind == Kind::roce ? make_roce(dtp) : make_verbs(dtp);
}

std::unique_ptr<SourceLink> SourceLinks::make_roce(const SourceDtp& dtp) {
  const bool listens = options_.flow == roce::Flow::credits || options_.roce.transport == roce::Transport::rc;
  roce::SenderConfig config{};
  if (options_.peer == Kind::verbs && listens) {
    const std::string address = source_address(options_, dtp.destination);
    std::shared_ptr<roce::CreditListener>& credits = credits_[address];
    if (credits == nullptr) credits = std::make_shared<roce::CreditListener>(address, kRocePort);
    config.credits = credits;
  }
  config.bind_address = options_.address;
  config.destination = dtp.destination;
  config.options = options_.roce;
  config.flow = options_.flow;
  config.dtp = dtp.id;
  config.images = dtp.images;
  config.payload_bytes = dtp.payload_bytes;
  config.faults = faults_;
  return std::make_unique<roce::RoceSender>(config);
}

std::unique_ptr<SourceLink> SourceLinks::make_verbs(const SourceDtp& dtp) {
  const std::string address = source_address(options_, dtp.destination);
  std::unique_ptr<verbs::SourceMemory>& memory = memory_[address];
  if (memory == nullptr) {
    // The device only reads: the block's type has no way to say so.
    const memory::DmaBlock block{.data = const_cast<std::byte*>(frames_.data()), .bytes = frames_.size()};  // NOLINT
    memory =
        std::make_unique<verbs::SourceMemory>(verbs::register_sources(options_.verbs.device, address, {&block, 1}));
  }
  verbs::SenderConfig config{};
  config.memory = *memory;
  config.destination = dtp.destination;
  config.packets = options_.roce;
  config.options = options_.verbs;
  config.flow = options_.flow;
  config.poll = options_.poll;
  config.dtp = dtp.id;
  return std::make_unique<verbs::VerbsSender>(config);
}

std::unique_ptr<SourceLink> SourceLinks::make_pcie(const SourceDtp& dtp) {
  if (remote_ == nullptr || !remote_->is(dtp.destination)) remote_ = pcie::RemoteMemory::open(dtp.destination);
  return std::make_unique<pcie::PcieSender>(pcie::SenderConfig{
      .memory = remote_, .destination = dtp.destination, .flow = options_.flow, .poll = options_.poll});
}

std::string SourceLinks::registration() const {
  return memory_.empty() ? std::string{} : memory_.begin()->second->blocks.front()->how();
}

std::unique_ptr<DestinationLink> make_destination(const DestinationOptions& options, std::span<std::byte> region,
                                                  const std::vector<DestinationDtp>& dtps, ArrivalQueues& queues,
                                                  Doorbell& bell) {
  const EndOptions& end = options.end;
  check(end);
  if (end.kind == Kind::pcie) {
    const pcie::ReceiverConfig config{.region_file = options.region_file,
                                      .threads = options.threads,
                                      .verify = end.verbs.verify,
                                      .flow = end.flow,
                                      .poll = end.poll,
                                      .first_processor = options.first_processor};
    return std::make_unique<pcie::PcieReceiver>(config, region, dtps, queues, bell);
  }
  if (end.kind == Kind::verbs) {
    const verbs::ReceiverConfig config{.address = end.address,
                                       .threads = options.threads,
                                       .pmtu = end.roce.pmtu,
                                       .transport = end.roce.transport,
                                       .options = end.verbs,
                                       .flow = end.flow,
                                       .poll = end.poll,
                                       .first_processor = options.first_processor};
    return std::make_unique<verbs::VerbsReceiver>(config, region, dtps, queues, bell);
  }
  if (end.peer == Kind::verbs && (options.port != kRocePort || options.threads != 1)) {
    throw ConfigError(
        fmt::format("link: an RNIC sends to UDP port {} and no other; use that port and link_threads = 1, not port {} "
                    "and {} threads",
                    kRocePort, options.port, options.threads));
  }
  const roce::ReceiverConfig config{.bind_address = end.address,
                                    .port = options.port,
                                    .threads = options.threads,
                                    .options = end.roce,
                                    .flow = end.flow,
                                    .poll = end.poll,
                                    .first_processor = options.first_processor};
  return std::make_unique<roce::RoceReceiver>(config, region, dtps, queues, bell);
}

}  // namespace rashpa::link
