// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/inproc/inproc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/queue_output.hpp"
#include "rashpa/link/arrivals/told.hpp"

namespace rashpa::link {

namespace {

constexpr std::uint32_t kLargestMessage = 1U << 20;
constexpr std::size_t kQueue = 256;
constexpr auto kSleep = std::chrono::milliseconds(1);

// Runs are whole lines, or pieces of a line that is longer than the largest message.
std::uint32_t unit_of(const ReceiverDtp& dtp) noexcept {
  if (dtp.placement.line_bytes == 0) return 1;  // refused by Assembly
  const std::uint32_t line = dtp.placement.line_bytes;
  return line <= kLargestMessage ? line : std::gcd(line, kLargestMessage);
}

Endpoint endpoint_of(std::uint32_t dtp) { return {.address = "inproc", .qpn = dtp}; }

}  // namespace

namespace inproc {

/// An entry of a sender's queue: a write, or an event with its record.
struct Item {
  BufferDescriptor write{};
  bool event = false;
  std::uint32_t immediate = 0;
  std::array<std::byte, FrameRecord::kBytes> record{};
};

}  // namespace inproc

using inproc::Item;

struct InprocReceiver::Channel {
  Channel(const ReceiverDtp& dtp, std::uint32_t list_index, std::span<std::byte> region, Flow flow,
          ReceiverCounters& counters)
      : assembly(dtp, list_index, unit_of(dtp), region, flow == Flow::credits ? NotFree::late : NotFree::overrun,
                 counters),
        granted(flow == Flow::credits ? dtp.placement.slots : kUnlimited) {}

  memory::Ring<Item> queue{kQueue};
  Assembly assembly;
  Doorbell progress;                   // rung for the sender
  Doorbell* work = nullptr;            // rung for the link's thread
  std::atomic<std::uint64_t> granted;  // written by the link's thread; release there, acquire by the source's thread
  std::atomic<std::uint64_t> writes_done{0};
  Told told;
};

namespace {

class InprocSender final : public Sender {
 public:
  InprocSender(InprocReceiver::Channel& channel, std::uint32_t dtp) : channel_(&channel), dtp_(dtp) {}

  [[nodiscard]] Endpoint endpoint() const override { return endpoint_of(dtp_); }

  std::size_t post(std::span<const BufferDescriptor> writes) override {
    std::size_t taken = 0;
    for (const BufferDescriptor& write : writes) {
      if (!push({write, false, 0, {}})) break;
      count(write.bytes);
      ++taken;
    }
    if (taken != 0) channel_->work->ring();
    return taken;
  }

  bool post_event(const Event& event) override {
    Item item{{nullptr, event.destination, 0}, true, event.immediate, {}};
    std::memcpy(item.record.data(), event.record, item.record.size());
    if (!push(item)) return false;
    count(item.record.size());
    channel_->work->ring();
    return true;
  }

  std::size_t poll(std::uint32_t wait_us) override {
    const std::uint32_t seen = channel_->progress.count();
    std::uint64_t done = channel_->writes_done.load(std::memory_order_acquire);
    if (done == reported_ && wait_us != 0) {
      channel_->progress.wait(seen, std::chrono::microseconds(wait_us));
      done = channel_->writes_done.load(std::memory_order_acquire);
    }
    const auto news = static_cast<std::size_t>(done - reported_);
    reported_ = done;
    return news;
  }

  [[nodiscard]] std::size_t pending() const noexcept override { return channel_->queue.size(); }
  [[nodiscard]] std::uint64_t granted() const noexcept override {
    return channel_->granted.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return kLargestMessage; }
  [[nodiscard]] Counts stats() const override {
    Counts counts;
    counters_.add_to(counts);
    return counts;
  }

 private:
  bool push(const Item& item) noexcept {
    if (channel_->queue.try_push(item) == memory::Push::done) return true;
    counters_.waits.add(1);
    return false;
  }
  void count(std::uint64_t bytes) noexcept {
    counters_.messages.add(1);
    counters_.packets.add(1);
    counters_.payload_bytes.add(bytes);
  }

  InprocReceiver::Channel* channel_;
  std::uint32_t dtp_;
  std::uint64_t reported_ = 0;
  SenderCounters counters_;
};

}  // namespace

class InprocReceiver::Impl {
 public:
  Impl(std::span<std::byte> region, const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell,
       Flow flow)
      : region_(region), flow_(flow), output_(queues, bell) {
    if (dtps.empty()) throw ConfigError("inproc: the receiver has no DTP; give it at least one");
    for (std::uint32_t d = 0; d < dtps.size(); ++d) {
      channels_.push_back(std::make_unique<Channel>(dtps[d], d, region, flow, counters_));
      channels_.back()->work = &work_;
    }
  }

  void handle(Channel& channel, const Item& item, std::int64_t now) noexcept {
    counters_.packets.add(1);
    const std::uint64_t bytes = item.event ? FrameRecord::kBytes : item.write.bytes;
    const std::uint64_t offset = item.write.destination;
    const Target target = channel.assembly.locate(offset, bytes);
    const bool lines = target.kind == Target::Kind::lines;
    if (target.kind == Target::Kind::refused || lines == item.event) {
      counters_.refused_key.add(1);
    } else if (target.kind == Target::Kind::skip) {
      channel.assembly.put_skip(decode_frame_record(item.record), item.immediate, now);
      decide(channel, now, Taken::some);
    } else if (target.kind == Target::Kind::part) {
      channel.assembly.put_part(offset, item.record, item.immediate, now);
      decide(channel, now, Taken::some);
    } else if (item.event) {
      channel.assembly.put_event(offset, item.record, item.immediate, now);
      decide(channel, now, Taken::some);
    } else {
      channel.assembly.put_lines(target.index, offset, target.linear, {item.write.source, item.write.bytes},
                                 std::nullopt, now);
    }
    if (!item.event)
      channel.writes_done.store(channel.writes_done.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  void decide(Channel& channel, std::int64_t now, Taken taken) noexcept {
    channel.told.apply_to(channel.assembly, now, output_, taken);
    if (flow_ == Flow::paced) return;
    if (channel.granted.load(std::memory_order_relaxed) == channel.assembly.granted()) return;
    channel.granted.store(channel.assembly.granted(), std::memory_order_release);
    channel.progress.ring();
  }

  void run() noexcept {
    while (!stop_.load(std::memory_order_relaxed)) {
      const std::uint32_t seen = work_.count();
      bool busy = false;
      const std::int64_t now = now_ns();
      for (auto& channel : channels_) {
        std::size_t count = 0;
        for (Item item; count < kQueue && channel->queue.try_pop(item); ++count) handle(*channel, item, now);
        decide(*channel, now, count < kQueue ? Taken::all : Taken::a_queue);
        if (count != 0) channel->progress.ring();
        busy = busy || count != 0;
      }
      output_.ring();
      if (!busy) work_.wait(seen, kSleep);
    }
  }

  std::span<std::byte> region_;
  Flow flow_;
  QueueOutput output_;
  Doorbell work_;
  ReceiverCounters counters_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::atomic<bool> stop_{false};  // relaxed: the owner stops the link's thread and joins it
  std::jthread thread_;
};

InprocReceiver::InprocReceiver(const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                               ArrivalQueues& queues, Doorbell& bell, Flow flow)
    : impl_(std::make_unique<Impl>(host_block("inproc", memory), dtps, queues, bell, flow)) {}
InprocReceiver::~InprocReceiver() { stop(); }

std::vector<Endpoint> InprocReceiver::endpoints() const {
  std::vector<Endpoint> all;
  for (std::uint32_t d = 0; d < impl_->channels_.size(); ++d) all.push_back(endpoint_of(d));
  return all;
}

void InprocReceiver::connect(std::span<const Endpoint> senders) {
  if (impl_->thread_.joinable())
    throw StateError("inproc: the receiver is already started; call connect() before start()");
  if (senders.size() != impl_->channels_.size()) {
    throw ConfigError(fmt::format("inproc: there are {} sources for {} DTPs; give one for each DTP", senders.size(),
                                  impl_->channels_.size()));
  }
}

std::unique_ptr<Sender> InprocReceiver::make_sender(std::uint32_t dtp) {
  return std::make_unique<InprocSender>(*impl_->channels_.at(dtp), dtp);
}

void InprocReceiver::start() {
  if (impl_->thread_.joinable()) throw StateError("inproc: the receiver is already started; call start() once");
  impl_->stop_ = false;
  impl_->thread_ = std::jthread([this] { impl_->run(); });
}

void InprocReceiver::release(std::uint32_t dtp, std::uint64_t end) noexcept {
  impl_->channels_[dtp]->told.release(end);
  impl_->work_.ring();
}

void InprocReceiver::close(std::uint32_t dtp, std::uint64_t end) noexcept {
  impl_->channels_[dtp]->told.close(end);
  impl_->work_.ring();
}

void InprocReceiver::stop() noexcept {
  impl_->stop_ = true;
  impl_->work_.ring();
  if (impl_->thread_.joinable()) impl_->thread_.join();
}

Counts InprocReceiver::stats() const {
  Counts sum;
  impl_->counters_.add_to(sum);
  return sum;
}

}  // namespace rashpa::link
