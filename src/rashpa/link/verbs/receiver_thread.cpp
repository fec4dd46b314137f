// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/receiver_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::verbs {

namespace {

constexpr std::uint32_t kCreditDepth = 16;     // credits in flight per DTP
constexpr std::uint64_t kCredit = 1;           // wr_id; receives have 0
constexpr std::int64_t kDecideNs = 1'000'000;  // release() is seen at least so often
constexpr std::int64_t kCreditNs = 2'000'000;  // credits are repeated so often, so that a lost one heals

// Events are never more than those of the slots in flight; twice that, so that one is always there while others are
// posted again.
std::uint32_t receives_of(const EventDtp& port) {
  const Placement& place = port.assembly.dtp().placement;
  return 2 * place.slots * place.parts();
}

std::uint32_t entries_of(const std::vector<EventDtp*>& ports, Operation operation) {
  std::uint32_t entries = 0;
  for (const EventDtp* port : ports) {
    entries += receives_of(*port) + kCreditDepth;
    if (operation == Operation::read) entries += Reads::receives_for(0) + Reads::kDepth;
  }
  return entries;
}

}  // namespace

ReceiverThread::ReceiverThread(const ReceiverConfig& config, std::uint32_t number,
                               const std::shared_ptr<Device>& device, std::span<std::byte> region,
                               const Registration& lines, const std::vector<EventDtp*>& ports, ArrivalQueues& queues,
                               Doorbell& bell, VerbsCounters& counters)
    : config_(config),
      number_(number),
      output_(queues, bell, number, config.threads),
      counters_(&counters),
      handler_(region, counters),
      most_completions_(entries_of(ports, config.options.operation)),
      completions_(device, entries_of(ports, config.options.operation),
                   config.poll == Poll::event ? CompletionQueue::Channel::events : CompletionQueue::Channel::none),
      sleep_("verbs") {
  const bool offered = config.options.operation == Operation::read;
  for (EventDtp* port : ports) {
    const std::uint32_t receives = receives_of(*port);
    const QueuePairConfig pair{.transport = config.options.transport,
                               .pmtu = config.options.pmtu,
                               .send_depth = kCreditDepth + (offered ? Reads::kDepth : 0),
                               .receive_depth = offered ? Reads::receives_for(receives) : receives,
                               .inline_bytes = sizeof ConnectedDtp::words,
                               .reads = offered ? kReadsInFlight : std::uint8_t{0}};
    dtps_.push_back(std::make_unique<ConnectedDtp>(device, completions_, pair, *port));
    if (offered) {
      dtps_.back()->reads.emplace(device, dtps_.back()->pair, lines, *port, pair.receive_depth, counters);
      continue;
    }
    if (!dtps_.back()->pair.post_receives(pair.receive_depth)) {
      throw ResourceError(fmt::format(
          "verbs: {} takes no receives without memory, which immediates need; use another device", device->name()));
    }
  }
}

void ReceiverThread::connect(std::size_t position, const Endpoint& source) {
  ConnectedDtp& dtp = *dtps_[position];
  dtp.pair.connect(source);
  dtp.source = source;
}

ReceiverThread::ConnectedDtp* ReceiverThread::dtp_of(std::uint32_t qpn) noexcept {
  for (auto& dtp : dtps_) {
    if (dtp->pair.number() == qpn) return dtp.get();
  }
  return nullptr;
}

void ReceiverThread::complete(const ibv_wc& completion, std::int64_t now) noexcept {
  ConnectedDtp* dtp = dtp_of(completion.qp_num);
  if (dtp == nullptr) return counters_->unknown_qp.add(1);
  if (completion.wr_id == kCredit) {
    --dtp->in_flight;
    return;
  }
  if (completion.status == IBV_WC_WR_FLUSH_ERR) return;  // the queue pair ends
  return dtp->reads ? complete_offered(*dtp, completion, now) : complete_receive(*dtp, completion, now);
}

bool ReceiverThread::count_failure(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS:
      return false;
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_REM_ACCESS_ERR:
      counters_->refused_key.add(1);
      return true;
    default:
      counters_->malformed.add(1);
      return true;
  }
}

void ReceiverThread::complete_offered(ConnectedDtp& dtp, const ibv_wc& completion, std::int64_t now) noexcept {
  if (count_failure(completion.status)) return;
  if (completion.wr_id == Reads::kRead) {
    dtp.reads->completed();
    dtp.reads->proceed();
  } else if (completion.opcode == IBV_WC_RECV) {
    dtp.reads->offer(completion.wr_id, completion.byte_len);
  } else {
    dtp.reads->event(completion.wr_id, __builtin_bswap32(completion.imm_data));
  }
  while (const auto immediate = dtp.reads->next_event()) handler_.event(*dtp.port, *immediate, now, output_);
}

void ReceiverThread::complete_receive(ConnectedDtp& dtp, const ibv_wc& completion, std::int64_t now) noexcept {
  dtp.pair.post_receives(1);  // before processing: the next event finds one
  if (count_failure(completion.status)) return;
  if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM || (completion.wc_flags & IBV_WC_WITH_IMM) == 0) {
    return counters_->malformed.add(1);
  }
  handler_.event(*dtp.port, __builtin_bswap32(completion.imm_data), now, output_);
}

int ReceiverThread::take(std::int64_t now) noexcept {
  std::array<ibv_wc, 64> completions;  // NOLINT: filled by the device
  const int count = completions_.poll(completions);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) complete(completions[i], now);
  return count;
}

void ReceiverThread::decide_all(std::int64_t now, Taken taken) noexcept {
  for (auto& dtp : dtps_) handler_.decide(*dtp->port, now, output_, taken);
}

void ReceiverThread::write_credits(std::int64_t now) noexcept {
  if (config_.flow != Flow::credits) return;
  for (auto& dtp : dtps_) {
    if (!dtp->source || dtp->in_flight == kCreditDepth) continue;
    const std::uint64_t granted = dtp->port->assembly.granted();
    const std::uint64_t bytes = dtp->reads ? dtp->reads->finished() : dtp->port->received_bytes;
    const bool news = granted != dtp->words[0] || bytes != dtp->words[1];
    if (!news && now - dtp->sent_ns < kCreditNs) continue;
    dtp->words[0] = granted;
    dtp->words[1] = bytes;
    dtp->sent_ns = now;
    ibv_sge piece{reinterpret_cast<std::uint64_t>(dtp->words), sizeof dtp->words, 0};
    ibv_send_wr request{};
    request.wr_id = kCredit;
    request.sg_list = &piece;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
    request.wr.rdma.remote_addr = dtp->source->credit_offset;
    request.wr.rdma.rkey = dtp->source->rkey;
    ibv_send_wr* refused = nullptr;
    if (dtp->pair.post_send(request, refused) == 0) ++dtp->in_flight;  // else it is repeated soon
  }
}

bool ReceiverThread::something_changed() noexcept {
  return std::any_of(dtps_.begin(), dtps_.end(),
                     [this](const auto& dtp) { return dtp->port->news_for(dtp->port->assembly, output_); });
}

void ReceiverThread::run(const std::atomic<bool>& stop) noexcept {
  place_receiver_thread("verbs", number_, config_.first_processor);
  std::int64_t last_decide = 0;
  std::uint64_t taken = 0;  // completions since there was none, or as many had come as there is room for
  while (!stop.load(std::memory_order_relaxed)) {
    const std::int64_t now = now_ns();
    int count = take(now);
    if (count == 0 && config_.poll == Poll::event) {
      completions_.arm();
      count = take(now);  // events that came before it was armed
    }
    taken += static_cast<std::uint64_t>(std::max(count, 0));
    const bool a_queue = taken > most_completions_;
    if (count == 0 || a_queue || now - last_decide > kDecideNs) {
      decide_all(now, count == 0 ? Taken::all : a_queue ? Taken::a_queue : Taken::some);
      if (count == 0 || a_queue) taken = 0;
      last_decide = now;
    }
    write_credits(now);
    output_.ring();
    if (count > 0) continue;
    if (config_.poll == Poll::event) {
      const auto changed = [&] { return something_changed() || stop.load(); };
      if (sleep_.sleep_unless(completions_.file(), changed)) completions_.take_event();
    } else {
      pause_spinning();
    }
  }
}

}  // namespace rashpa::link::verbs
