// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/reads.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::link::verbs {

Reads::Reads(const std::shared_ptr<Device>& device, QueuePair& pair, const Registration& lines, const EventDtp& dtp,
             std::uint32_t receives, ReceiverCounters& counters)
    : pair_(&pair),
      lines_(&lines),
      dtp_(&dtp),
      counters_(&counters),
      memory_(std::size_t{receives} * kOfferBytes, memory::MemoryKind::pageable),
      own_(device->register_first(std::array{memory::DmaBlock{.data = memory_.data(), .bytes = memory_.size()}},
                                  memory::DmaAccess::write)) {
  taken_.all.resize(receives);
  events_.all.resize(receives);
  for (std::uint64_t i = 0; i < receives; ++i) {
    if (!post_receive(kFirstReceive + i)) {
      throw ResourceError(
          fmt::format("verbs: {} takes only {} receives of {}; use fewer slots", device->name(), i, receives));
    }
  }
}

bool Reads::post_receive(std::uint64_t id) noexcept {
  const std::byte* at = memory_.data() + (id - kFirstReceive) * kOfferBytes;
  return pair_->post_receive(id, {own_->address_of(at), kOfferBytes, own_->lkey()});
}

void Reads::offer(std::uint64_t id, std::uint32_t bytes) noexcept {
  // Messages of another length are no offer: none of their runs is read.
  const bool whole = bytes % sizeof(OfferedRun) == 0 && bytes <= kOfferBytes;
  if (!whole) {
    spoiled_ = true;
    counters_->refused_key.add(1);
  }
  taken_.push({.id = id, .runs = whole ? bytes / std::uint32_t{sizeof(OfferedRun)} : 0});
  proceed();
}

void Reads::event(std::uint64_t id, std::uint32_t immediate) noexcept {
  taken_.push({.id = id, .event = true, .immediate = immediate});
  proceed();
}

// Returns false where the send queue is full.
bool Reads::read(const OfferedRun& run) noexcept {
  const std::uint64_t offset = run.destination - lines_->device_address();
  if (dtp_->assembly.locate(offset, run.bytes).kind != Target::Kind::lines) {
    spoiled_ = true;
    ++refused_;
    counters_->refused_key.add(1);
    return true;
  }
  if (posted_ - completed_ == kDepth) return false;
  ibv_sge piece{run.destination, run.bytes, lines_->lkey()};
  ibv_send_wr request{};
  request.wr_id = kRead;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = run.source;
  request.wr.rdma.rkey = run.rkey;
  ibv_send_wr* refused = nullptr;
  if (pair_->post_send(request, refused) != 0) return false;
  ++posted_;
  return true;
}

void Reads::proceed() noexcept {
  for (; !taken_.empty(); ++taken_.first) {
    Item& item = taken_.front();
    if (item.event) {
      item.behind = posted_;
      item.spoiled = spoiled_;
      spoiled_ = false;
      events_.push(item);
      continue;
    }
    for (; next_run_ < item.runs; ++next_run_) {
      OfferedRun run;
      std::memcpy(&run, memory_.data() + (item.id - kFirstReceive) * kOfferBytes + next_run_ * sizeof run, sizeof run);
      if (!read(run)) return;
    }
    next_run_ = 0;
    post_receive(item.id);
  }
}

std::optional<std::uint32_t> Reads::next_event() noexcept {
  while (!events_.empty() && completed_ >= events_.front().behind) {
    const Item item = events_.front();
    ++events_.first;
    post_receive(item.id);
    if (!item.spoiled) return item.immediate;
  }
  return {};
}

}  // namespace rashpa::link::verbs
