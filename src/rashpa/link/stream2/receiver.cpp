// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/receiver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/link/sls/header.hpp"
#include "rashpa/link/stream2/receiver_thread.hpp"

namespace rashpa::link::stream2 {

struct Stream2Receiver::Impl {
  ReceiverConfig config;
  std::vector<ReceiverDtp> known;
  StreamCounters counters;
  std::vector<std::unique_ptr<StreamDtp>> dtps;
  std::unique_ptr<ReceiverThread> thread;
};

Stream2Receiver::Stream2Receiver(const ReceiverConfig& config, const ReceiverMemory& memory,
                                 const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell)
    : ThreadedReceiver("stream2", dtps.size(), 1, queues.size()), impl_(std::make_unique<Impl>()) {
  check(config.options);
  if (config.threads == 0) throw ConfigError("stream2: 0 threads; 1 reads and unpacks, more are faster");
  const std::span<std::byte> region = host_block("stream2", memory);
  impl_->config = config;
  impl_->known = dtps;
  for (std::uint32_t d = 0; d < dtps.size(); ++d) {
    if (dtps[d].dealt) {
      throw ConfigError(
          fmt::format("stream2: DTP {} is dealt among receivers, which a stream is not; use one receiver", dtps[d].id));
    }
    impl_->dtps.push_back(std::make_unique<StreamDtp>(dtps[d], d, config.options.late, region, impl_->counters));
    add_dtp(*impl_->dtps.back());
  }
  impl_->thread = std::make_unique<ReceiverThread>(config, impl_->dtps, queues, bell, impl_->counters);
  add_thread(*impl_->thread, impl_->counters);
}

Stream2Receiver::~Stream2Receiver() { stop(); }

std::vector<Endpoint> Stream2Receiver::endpoints() const {
  std::vector<Endpoint> endpoints;
  for (const ReceiverDtp& dtp : impl_->known) {
    endpoints.push_back({.address = impl_->config.bind_address,
                         .qpn = dtp.placement.lines,
                         .rkey = dtp.placement.line_bytes,
                         .psn = static_cast<std::uint32_t>(dtp.pixel)});
  }
  return endpoints;
}

void Stream2Receiver::connect(std::span<const Endpoint> senders) {
  check_senders(senders.size());
  std::vector<StreamDtp*> detectors;
  for (std::size_t d = 0; d < senders.size(); ++d) {
    if (senders[d].port == 0) {
      detectors.push_back(impl_->dtps[d].get());
      continue;
    }
    if (impl_->config.options.dialect != Dialect::dectris) {
      throw ConfigError("link.stream2.dialect: emulators send Stream V2; use dectris, or a detector's address");
    }
    const Place place{senders[d].address, std::to_string(senders[d].port)};
    impl_->thread->add_sender({resolve(place)}, {impl_->dtps[d].get()}, true);
  }
  if (detectors.empty()) return;
  const std::string& address = impl_->config.options.address;
  if (address.empty()) throw ConfigError("link.stream2.address: it is empty; use tcp://ADDRESS:PORT of the detector");
  std::vector<SenderAddress> addresses;
  for (const Place& place : places_of(impl_->config.options)) addresses.push_back(resolve(place));
  impl_->thread->add_sender(addresses, std::move(detectors), false);
}

std::vector<Column> Stream2Receiver::header_columns() const {
  if (impl_->config.options.dialect == Dialect::sls) return sls::header_columns();
  return {{"real_time", Column::Type::i64, "ns", "exposure of the image, as its message says; 0: it does not", true}};
}

std::vector<std::string> Stream2Receiver::descriptions() const { return impl_->thread->starts(); }

}  // namespace rashpa::link::stream2
