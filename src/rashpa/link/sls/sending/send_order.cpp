// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/sending/send_order.hpp"

#include <algorithm>

namespace rashpa::link::sls {

namespace {
constexpr std::uint32_t kFarthest = 4;  // packets that a late one lets pass
}  // namespace

SendOrder::SendOrder(const std::optional<FaultConfig>& faults, std::uint32_t dtp, std::uint64_t images,
                     std::uint32_t packets)
    : packets_(packets), fates_(faults ? images : 0) {
  if (faults) dice_.emplace(*faults, dtp);
  order_.reserve(2 * std::size_t{packets});
  for (std::uint32_t packet = 0; packet < packets; ++packet) add(packet, 0, false);
}

void SendOrder::add(std::uint32_t packet, std::uint32_t behind, bool damaged) noexcept {
  constexpr unsigned kPlaces = 32;
  order_.push_back(
      {packet, damaged,
       (std::uint64_t{packet} + behind) << kPlaces | (behind != 0 ? 1U << 16 : 0U) | (order_.size() & 0xFFFFU)});
}

// Late packets stay within their image.
std::span<const Leaving> SendOrder::begin(std::uint64_t index) noexcept {
  if (!dice_) return order_;
  order_.clear();
  std::uint32_t intact = 0;
  for (std::uint32_t packet = 0; packet < packets_; ++packet) {
    switch (dice_->draw()) {
      case roce::Fault::none:
        add(packet, 0, false);
        break;
      case roce::Fault::drop:
        dropped_.add(1);
        continue;
      case roce::Fault::duplicate:
        add(packet, 0, false);
        add(packet, 0, false);
        duplicated_.add(1);
        break;
      case roce::Fault::reorder:
        add(packet, 1 + dice_->below(kFarthest), false);
        reordered_.add(1);
        break;
      case roce::Fault::corrupt:
        add(packet, 0, true);
        corrupted_.add(1);
        continue;
    }
    ++intact;
  }
  std::sort(order_.begin(), order_.end(), [](const Leaving& a, const Leaving& b) { return a.turn < b.turn; });
  fates_.set(index, intact == packets_ ? Completeness::complete
                    : intact == 0      ? Completeness::missing
                                       : Completeness::partial);
  return order_;
}

}  // namespace rashpa::link::sls
