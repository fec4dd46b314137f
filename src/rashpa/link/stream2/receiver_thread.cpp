// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/receiver_thread.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

#include "rashpa/core/cbor/cbor.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/stream2/messages/json_message.hpp"
#include "rashpa/link/stream2/messages/sls_message.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::int64_t kSpinNs = 30'000;  // asking so long before sleeping
constexpr std::int64_t kAfterEndNs =
    200'000'000;  // other connections may still bring images of a series that has ended
constexpr std::int64_t kAfterDoubtNs = 2'000'000'000;  // as long as the end of a port may be that of a series before
constexpr std::size_t kStartBytes = std::size_t{256} << 20;  // masks and flat fields of all channels
constexpr std::size_t kMostStarts = 16;

int make_epoll() {
  const int made = epoll_create1(EPOLL_CLOEXEC);
  if (made < 0)
    throw ResourceError(fmt::format("stream2: epoll: {}; check the limit of open files", errno_text(errno)));
  return made;
}

// Compressed images may be a little larger than plain ones.
std::size_t most_bytes(const std::vector<std::unique_ptr<StreamDtp>>& dtps) {
  std::size_t largest = 0;
  for (const auto& dtp : dtps) largest = std::max<std::size_t>(largest, dtp->dtp.placement.payload_bytes());
  return std::max(kStartBytes, 2 * largest * kMostChannels);
}

}  // namespace

ReceiverThread::ReceiverThread(const ReceiverConfig& config, const std::vector<std::unique_ptr<StreamDtp>>& dtps,
                               ArrivalQueues& queues, Doorbell& bell, StreamCounters& counters)
    : config_(config),
      dtps_(&dtps),
      most_bytes_(most_bytes(dtps)),
      output_(queues, bell),
      counters_(&counters),
      sleep_("stream2"),
      files_(make_epoll()),
      unpackers_(std::max(1U, config.threads - 1),
                 config.first_processor < 0 || config.threads == 1 ? -1 : config.first_processor + 1,
                 [this] { sleep_.wake(); }) {}

ReceiverThread::~ReceiverThread() { unpackers_.stop(); }

void ReceiverThread::add_sender(const std::vector<SenderAddress>& addresses, std::vector<StreamDtp*> dtps, bool alone) {
  const Options& options = config_.options;
  const bool ports = options.dialect == Dialect::sls;
  auto counts = ports ? std::make_unique<PortCounts>(options.first_frame, addresses.size()) : nullptr;
  Source source{.intake = Intake(dtps, alone, *counters_, std::move(counts)),
                .connections = {},
                .dtps = std::move(dtps),
                .holding = {}};
  const Pattern pattern = alone ? Pattern::push : ports ? Pattern::pub : options.pattern;
  for (const SenderAddress& address : addresses) {
    source.connections.push_back(std::make_unique<Connection>(files_.get(), address, pattern, most_bytes_));
  }
  source.holding.assign(addresses.size(), false);
  sources_.push_back(std::move(source));
}

std::vector<std::string> ReceiverThread::starts() const {
  const std::lock_guard lock(keeping_);
  return starts_;
}

void ReceiverThread::keep_start(const Buffer& message) noexcept {
  try {
    const std::lock_guard lock(keeping_);
    if (starts_.size() >= kMostStarts) return;
    Cbor frames;
    if (message.frames() == 1) {
      frames.append(message.frame(0));
    } else {
      frames.array(message.frames());
      for (std::size_t n = 0; n < message.frames(); ++n) {
        frames.bytes_head(message.frame(n).size());
        frames.append(message.frame(n));
      }
    }
    starts_.emplace_back(reinterpret_cast<const char*>(frames.bytes().data()), frames.bytes().size());
  } catch (const std::bad_alloc&) {  // the files go without
  }
}

void ReceiverThread::run(const std::atomic<bool>& stop) noexcept {
  place_receiver_thread("stream2", 0, config_.first_processor);
  std::int64_t busy_ns = now_ns();
  while (!stop.load(std::memory_order_relaxed)) {
    const std::int64_t now = now_ns();
    if (look(now)) {
      busy_ns = now;
      continue;
    }
    if (config_.poll == Poll::spin || now - busy_ns < kSpinNs) {
      pause_spinning();
      continue;
    }
    static_cast<void>(sleep_.sleep_unless(files_.get(), [this] { return something_changed(); }));
  }
  unpackers_.stop();
}

// One round; true when something was done.
bool ReceiverThread::look(std::int64_t now) noexcept {
  bool busy = false;
  for (Source& source : sources_) {
    for (std::size_t c = 0; c < source.connections.size(); ++c) busy = pump(source, c, now) || busy;
  }
  busy = retire(now) || busy;
  pass(now);
  decide(now);
  output_.ring();
  return busy;
}

bool ReceiverThread::pump(Source& source, std::size_t number, std::int64_t now) noexcept {
  if (source.holding[number]) return offer(source, number, now);
  Connection& connection = *source.connections[number];
  switch (connection.pump(now)) {
    case Connection::Got::nothing:
      return false;
    case Connection::Got::lost:
      counters_->reconnects.add(1);
      return true;
    case Connection::Got::refused:
      counters_->malformed.add(1);
      return true;
    case Connection::Got::message:
      break;
  }
  counters_->packets.add(1);
  static_cast<void>(offer(source, number, now));
  return true;
}

bool ReceiverThread::read(const Buffer& buffer, Message& message) noexcept {
  if (config_.options.dialect == Dialect::sls) return read_sls_message(buffer, message);
  if (is_json(buffer)) return read_json_message(buffer, message);
  return buffer.frames() == 1 && read_message(buffer.frame(0), message);
}

// The connection's message: done with, given to those that unpack, or held. True when it is not held.
bool ReceiverThread::offer(Source& source, std::size_t number, std::int64_t now) noexcept {
  Connection& connection = *source.connections[number];
  const auto hold = [&](bool held) {
    source.holding[number] = held;
    connection.hold(held);
    return !held;
  };
  Unpackers::Work* const work = unpackers_.room();
  if (work == nullptr) return hold(true);
  if (!read(connection.buffer(), message_)) {
    counters_->malformed.add(1);
    connection.next();
    return hold(false);
  }
  const bool had_ended = source.intake.ended();
  const Intake::Verdict verdict = source.intake.offer(message_, number, now, work->parts);
  if (source.intake.ended() != had_ended) source.ended_ns = had_ended ? 0 : now;
  switch (verdict) {
    case Intake::Verdict::held:
      return hold(true);
    case Intake::Verdict::unpack:
      std::swap(work->buffer, connection.buffer());  // the parts' views stay what they are
      unpackers_.publish();
      break;
    case Intake::Verdict::done:
      if (message_.type == Type::start) keep_start(connection.buffer());
      break;
  }
  connection.next();
  return hold(false);
}

bool ReceiverThread::retire(std::int64_t now) noexcept {
  bool any = false;
  while (Unpackers::Work* const work = unpackers_.oldest()) {
    for (Part& part : work->parts.all()) put(part, work->parts, now);
    unpackers_.retire();
    any = true;
  }
  return any;
}

void ReceiverThread::put(const Part& part, const Parts& parts, std::int64_t now) noexcept {
  if (!part.good) return counters_->bad_chunks.add(1);
  const ReceiverDtp& dtp = part.dtp->dtp;
  const Placement& place = dtp.placement;
  FrameRecord record;
  record.dtp = dtp.id;
  record.flags = parts.flags & (FrameRecord::dark | FrameRecord::laser | kCellBits | kCellsDiffer);
  record.frame_number = dtp.slice.frame(part.index);
  record.timestamp_ns = parts.timestamp_ns;
  record.index = part.index;
  record.slot = static_cast<std::uint32_t>(part.index % place.slots);
  record.lines = place.lines;
  record.payload_bytes = place.payload_bytes();
  record.run = dtp.run;
  record.user = parts.words;
  std::array<std::byte, FrameRecord::kBytes> bytes{};
  encode(record, bytes);
  part.dtp->assembly.put_event(place.record_offset(part.index), bytes, immediate_of(dtp.id, part.index), now);
}

// Images that come no more: too far behind a later one, or behind the end of their series. Those that are being
// unpacked, and all behind them, are not among them.
void ReceiverThread::pass(std::int64_t now) noexcept {
  for (Source& source : sources_) {
    const std::int64_t still = source.intake.ended_before() ? kAfterDoubtNs : kAfterEndNs;
    const bool over = source.ended_ns != 0 && now - source.ended_ns > still &&
                      std::find(source.holding.begin(), source.holding.end(), true) == source.holding.end();
    for (StreamDtp* dtp : source.dtps) {
      std::uint64_t end = over ? dtp->dtp.images : dtp->passed();
      unpackers_.each([&](Parts& parts) {
        for (const Part& part : parts.all()) {
          if (part.dtp == dtp) end = std::min(end, part.index);
        }
      });
      dtp->assembly.pass_events(end);
    }
  }
}

// Messages that are read and not unpacked would be lost by an order to close.
void ReceiverThread::decide(std::int64_t now) noexcept {
  const Taken taken = all_taken() ? Taken::all : Taken::some;
  for (const auto& dtp : *dtps_) dtp->apply_to(dtp->assembly, now, output_, taken);
  if (config_.options.dialect == Dialect::sls) count_dead_ports();
}

// Ports that are dead before they send anything: their module's first image is given up, and none has come.
void ReceiverThread::count_dead_ports() noexcept {
  for (const auto& dtp : *dtps_) {
    if (dtp->seen != 0 || dtp->dead || dtp->assembly.undecided() == 0) continue;
    const auto same = [&](const auto& other) { return other->dtp.module == dtp->dtp.module && other->dead; };
    if (std::none_of(dtps_->begin(), dtps_->end(), same)) counters_->dead_ports.add(1);
    dtp->dead = true;
  }
}

bool ReceiverThread::all_taken() noexcept {
  if (!unpackers_.idle()) return false;
  for (const Source& source : sources_) {
    for (std::size_t c = 0; c < source.connections.size(); ++c) {
      if (!source.holding[c] && !source.connections[c]->drained()) return false;
    }
  }
  return true;
}

bool ReceiverThread::something_changed() noexcept {
  if (unpackers_.oldest() != nullptr) return true;
  return std::any_of(dtps_->begin(), dtps_->end(),
                     [this](const auto& dtp) { return dtp->news_for(dtp->assembly, output_); });
}

}  // namespace rashpa::link::stream2
