// SPDX-License-Identifier: Apache-2.0
/// The senders of a card.
#include "rashpa/link/factory/ends.hpp"
#include "rashpa/link/fpga/descriptor_ring.hpp"
#include "rashpa/link/fpga/sender.hpp"

namespace rashpa::link {

std::unique_ptr<Sender> Senders::make(const fpga::Options& options, const SenderDtp& dtp) {
  if (card_ == nullptr) card_ = std::make_shared<fpga::DescriptorRing>(options.card);
  fpga::SenderConfig config{};
  config.card = card_;
  config.destination = dtp.destination;
  config.options = options;
  config.address = options_.address;
  if (options_.peer == Kind::verbs) config.credit_port = kRocePort;
  config.flow = options_.flow;
  config.poll = options_.poll;
  config.dtp = dtp.id;
  config.slots = dtp.slots;
  config.images = dtp.images;
  config.payload_bytes = dtp.payload_bytes;
  config.faults = faults_;
  return std::make_unique<fpga::FpgaSender>(config);
}

}  // namespace rashpa::link
