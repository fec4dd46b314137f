// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/sending/credit_bound.hpp"
#include "rashpa/link/verbs/queue_pair.hpp"
#include "rashpa/link/verbs/send_order.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::verbs {

namespace {

constexpr std::size_t kChain = 32;            // requests handed to the device at once
constexpr std::size_t kRecords = 64;          // events in flight
constexpr std::size_t kRecordsOffset = 4096;  // in our own registered memory, behind the credit words
constexpr std::size_t kWordsOffset = kRecordsOffset + kRecords * FrameRecord::kBytes;
constexpr std::uint32_t kLongestMessage = 256;  // packets
constexpr std::int64_t kNapUs = 20;

SenderConfig checked(const SenderConfig& config) {
  check(config.options);
  return config;
}

memory::DmaBlock whole(const memory::Buffer& buffer) { return {.data = buffer.data(), .bytes = buffer.size()}; }

}  // namespace

SourceMemory register_sources(const std::string& device, const std::string& address,
                              std::span<const memory::DmaBlock> blocks, const Options& options) {
  SourceMemory memory{Device::open(device, address), {}};
  const bool pulled = options.operation == Operation::read;
  if (options.paging == Paging::on_demand) {
    memory.device->check_paging(pulled ? IBV_ODP_SUPPORT_READ : IBV_ODP_SUPPORT_WRITE);
  }
  const memory::DmaAccess access = pulled ? memory::DmaAccess::peer_read : memory::DmaAccess::read;
  for (const memory::DmaBlock& block : blocks) {
    memory.blocks.push_back(memory.device->register_first({&block, 1}, access, options.paging));
  }
  return memory;
}

class VerbsSender::Impl {
 public:
  explicit Impl(const SenderConfig& config);
  std::size_t post(std::span<const BufferDescriptor> writes) noexcept;
  bool post_event(const Event& event) noexcept;
  std::size_t poll(std::uint32_t wait_us) noexcept;
  [[nodiscard]] std::uint64_t word(std::size_t number) const noexcept {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(own_memory_.data())[number])
        .load(std::memory_order_acquire);  // acquire: the card writes it, the source reads what came before
  }
  [[nodiscard]] std::uint64_t granted() noexcept {
    return config_.flow == Flow::credits ? credits_.granted(word(0)) : kUnlimited;
  }

  SenderConfig config_;
  std::shared_ptr<Device> device_;
  memory::Buffer own_memory_;  // credit words, then the rings of records and last words
  std::unique_ptr<Registration> own_;
  CompletionQueue completions_;
  QueuePair pair_;
  SendOrder order_;
  SenderWindow window_;
  std::uint32_t largest_message_ = 0;
  std::size_t done_ = 0;  // writes complete, not yet reported
  std::uint64_t events_posted_ = 0;
  std::uint64_t events_completed_ = 0;
  const Registration* block_ = nullptr;  // the one used last
  SenderCounters counters_;
  CreditBound credits_{config_.slots, counters_.credits_refused, config_.events};

 private:
  [[nodiscard]] const Registration* block_of(const std::byte* data, std::size_t bytes) noexcept;
  std::size_t chain(std::span<const BufferDescriptor> writes) noexcept;
  void reap() noexcept;
  [[nodiscard]] bool has_words() const noexcept { return config_.destination.word_offset != 0; }
  [[nodiscard]] bool has_room_for_event() noexcept;
  [[nodiscard]] ibv_send_wr word_request(std::uint32_t immediate, ibv_sge& piece) noexcept;
};

VerbsSender::Impl::Impl(const SenderConfig& config)
    : config_(checked(config)),
      device_(config.memory.device),
      own_memory_(kWordsOffset + kRecords * sizeof(std::uint32_t), memory::MemoryKind::pageable),
      own_(device_->register_first(std::array{whole(own_memory_)}, memory::DmaAccess::write)),
      completions_(device_, config.options.send_depth, CompletionQueue::Channel::none),
      pair_(device_, completions_,
            {.transport = config.options.transport,
             .pmtu = config.options.pmtu,
             .send_depth = config.options.send_depth,
             .receive_depth = 1,
             .inline_bytes = 0}),
      order_(config.options.send_depth, config.options.signal_every),
      window_(config.flow == Flow::credits ? config.options.window_bytes : 0, config.window_timeout_us, now_ns()) {
  const std::uint64_t window = config.flow == Flow::credits ? config.options.window_bytes : 0;
  largest_message_ = config.options.pmtu;
  if (config.options.packetisation == Packetisation::first_middle_last) {
    const std::uint64_t fits = window != 0 ? window / 4 / config.options.pmtu : kLongestMessage;
    largest_message_ *= static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fits, 1, kLongestMessage));
    largest_message_ = std::min(largest_message_, device_->largest_message());
  }
  pair_.connect(config.destination);
}

const Registration* VerbsSender::Impl::block_of(const std::byte* data, std::size_t bytes) noexcept {
  if (block_ != nullptr && block_->contains(data, bytes)) return block_;
  for (const auto& block : config_.memory.blocks) {
    if (block->contains(data, bytes)) return block_ = block.get();
  }
  return nullptr;
}

// Hands up to kChain writes to the device at once; returns how many it took.
std::size_t VerbsSender::Impl::chain(std::span<const BufferDescriptor> writes) noexcept {
  std::array<ibv_send_wr, kChain> requests{};
  std::array<ibv_sge, kChain> pieces{};
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const BufferDescriptor& write : writes) {
    const Registration* block = block_of(write.source, write.bytes);
    if (block == nullptr && count == 0) {  // not of the registered frames: lost, as if on the wire
      counters_.send_errors.add(1);
      ++done_;
      return 1;
    }
    if (block == nullptr || !window_.open(bytes + write.bytes, word(1))) break;
    pieces[count] = {block->address_of(write.source), write.bytes, block->lkey()};
    const SendOrder::Next next = order_.next(SendOrder::Kind::write);
    ibv_send_wr& request = requests[count];
    request.wr_id = next.id;
    request.sg_list = &pieces[count];
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = next.signalled ? unsigned{IBV_SEND_SIGNALED} : 0U;
    request.wr.rdma.remote_addr = write.destination;
    request.wr.rdma.rkey = config_.destination.rkey;
    if (count > 0) requests[count - 1].next = &request;
    bytes += write.bytes;
    ++count;
  }
  if (count == 0) return 0;
  ibv_send_wr* refused = nullptr;
  const int code = pair_.post_send(requests.front(), refused);
  const std::size_t posted = code == 0 ? count : static_cast<std::size_t>(refused - requests.data());
  order_.take_back(count - posted);
  std::size_t taken = posted;
  if (code != 0 && code != ENOMEM) {  // the queue pair is broken: refused work is lost, as if on the wire
    counters_.send_errors.add(count - posted);
    done_ += count - posted;
    taken = count;
  }
  for (std::size_t i = 0; i < taken; ++i) {
    window_.sent(writes[i].bytes);
    counters_.payload_bytes.add(writes[i].bytes);
    counters_.packets.add((writes[i].bytes + config_.options.pmtu - 1) / config_.options.pmtu);
  }
  counters_.messages.add(taken);
  return taken;
}

std::size_t VerbsSender::Impl::post(std::span<const BufferDescriptor> writes) noexcept {
  std::size_t taken = 0;
  while (taken < writes.size()) {
    if (order_.room() == 0) reap();
    const std::size_t room = std::min<std::size_t>({order_.room(), kChain, writes.size() - taken});
    const std::size_t posted = room != 0 ? chain(writes.subspan(taken, room)) : 0;
    if (posted == 0) {
      counters_.waits.add(1);
      break;
    }
    taken += posted;
  }
  return taken;
}

bool VerbsSender::Impl::has_room_for_event() noexcept {
  const std::uint32_t requests = has_words() ? 2 : 1;
  return order_.room() >= requests && events_posted_ - events_completed_ < kRecords;
}

// The word behind the event: the immediate, as memory of this machine has it.
ibv_send_wr VerbsSender::Impl::word_request(std::uint32_t immediate, ibv_sge& piece) noexcept {
  std::byte* const word = own_memory_.data() + kWordsOffset + events_posted_ % kRecords * sizeof immediate;
  std::memcpy(word, &immediate, sizeof immediate);
  piece = {own_->address_of(word), sizeof immediate, own_->lkey()};
  ibv_send_wr request{};
  request.wr_id = order_.next(SendOrder::Kind::word).id;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = config_.destination.word_offset;
  request.wr.rdma.rkey = config_.destination.rkey;
  return request;
}

bool VerbsSender::Impl::post_event(const Event& event) noexcept {
  if (!has_room_for_event()) reap();
  if (!has_room_for_event()) {
    counters_.waits.add(1);
    return false;
  }
  std::byte* record = own_memory_.data() + kRecordsOffset + (events_posted_ % kRecords) * FrameRecord::kBytes;
  std::memcpy(record, event.record, FrameRecord::kBytes);
  ibv_sge piece{own_->address_of(record), FrameRecord::kBytes, own_->lkey()};
  ibv_send_wr request{};
  request.wr_id = order_.next(SendOrder::Kind::event).id;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
  request.send_flags = IBV_SEND_SIGNALED;
  request.imm_data = __builtin_bswap32(event.immediate);
  request.wr.rdma.remote_addr = event.destination;
  request.wr.rdma.rkey = config_.destination.key_of_records();
  ibv_sge word_piece{};
  ibv_send_wr word{};
  if (has_words()) {
    word = word_request(event.immediate, word_piece);
    request.next = &word;
  }
  ibv_send_wr* refused = nullptr;
  const int code = pair_.post_send(request, refused);
  const bool lost = code != 0 && refused == &request;
  if (code != 0) order_.take_back(lost && has_words() ? 2 : 1);
  if (lost && code == ENOMEM) {
    counters_.waits.add(1);
    return false;
  }
  if (code != 0) counters_.send_errors.add(1);
  if (!lost) ++events_posted_;
  credits_.announce(event.immediate);
  window_.sent(FrameRecord::kBytes);
  counters_.messages.add(1);
  counters_.packets.add(1);
  counters_.payload_bytes.add(FrameRecord::kBytes);
  return true;
}

void VerbsSender::Impl::reap() noexcept {
  std::array<ibv_wc, 32> completions;  // NOLINT: filled by the device
  int count = 0;
  do {
    count = completions_.poll(completions);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      if (completions[i].status != IBV_WC_SUCCESS) counters_.send_errors.add(1);
      const SendOrder::Completed completed = order_.complete(completions[i].wr_id);
      done_ += completed.writes;
      events_completed_ += completed.events;
    }
  } while (count == static_cast<int>(completions.size()));
}

std::size_t VerbsSender::Impl::poll(std::uint32_t wait_us) noexcept {
  const std::uint64_t credits = word(0);
  const std::uint64_t bytes = word(1);
  reap();
  const std::int64_t until = now_ns() + std::int64_t{wait_us} * 1000;
  // Credits are words in memory that no interrupt announces: a nap, or a spin, between looks.
  while (done_ == 0 && word(0) == credits && word(1) == bytes && now_ns() < until) {
    if (config_.poll == Poll::spin) {
      pause_spinning();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(kNapUs));
    }
    reap();
  }
  const std::int64_t now = now_ns();
  window_.looked(word(1), 0, now);
  if (window_.write_off(largest_message_, word(1), now)) counters_.window_timeouts.add(1);
  return std::exchange(done_, 0);
}

VerbsSender::VerbsSender(const SenderConfig& config) : impl_(std::make_unique<Impl>(config)) {}
VerbsSender::~VerbsSender() = default;

Endpoint VerbsSender::endpoint() const {
  constexpr std::uint16_t kRocePort = 4791;
  return {impl_->device_->address(),
          kRocePort,
          impl_->pair_.number(),
          impl_->own_->rkey(),
          impl_->own_->device_address(),
          0,
          impl_->pair_.first_psn(),
          0,
          impl_->config_.destination.word_offset};
}
std::size_t VerbsSender::post(std::span<const BufferDescriptor> writes) { return impl_->post(writes); }
bool VerbsSender::post_event(const Event& event) { return impl_->post_event(event); }
std::size_t VerbsSender::poll(std::uint32_t wait_us) { return impl_->poll(wait_us); }
std::size_t VerbsSender::pending() const noexcept { return impl_->order_.in_flight(); }
std::uint64_t VerbsSender::granted() const noexcept { return impl_->granted(); }
std::uint32_t VerbsSender::largest_message() const noexcept { return impl_->largest_message_; }

Counts VerbsSender::stats() const {
  Counts counts;
  impl_->counters_.add_to(counts);
  return counts;
}

}  // namespace rashpa::link::verbs
