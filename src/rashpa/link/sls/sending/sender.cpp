// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/sending/sender.hpp"

#include <fmt/format.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::sls {

namespace {

constexpr std::size_t kMerged = 65'000;    // bytes that the kernel cuts, with room for its headers
constexpr std::size_t kMostSegments = 64;  // into which it cuts at most
constexpr std::uint32_t kOverhead = 66;    // bytes of a packet on the wire before and behind a datagram
constexpr std::uint32_t kSendBuffer = 4U << 20;
constexpr std::uint16_t kFirstModule = 1;
constexpr std::size_t kBatch = 16;  // messages a call

const SenderConfig& checked_port(const SenderConfig& config, const PortShape& shape) {
  const std::uint64_t port = std::uint64_t{shape.rows} * shape.row_bytes;
  if (config.payload_bytes == port) return config;
  throw ConfigError(
      fmt::format("sls: a DTP of {} bytes an image is no whole port, which has {} rows of {} bytes; the emulator sends "
                  "whole ports only",
                  config.payload_bytes, shape.rows, shape.row_bytes));
}

// The datagrams of one call of the kernel, which cuts those that are several.
class MessageBatch {
 public:
  void clear() noexcept { count_ = 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == kBatch; }
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  [[nodiscard]] std::size_t packets(std::size_t message) const noexcept { return packets_[message]; }

  void add(std::span<const std::byte> bytes, std::size_t packets, std::uint32_t stride) noexcept {
    pieces_[count_] = {const_cast<std::byte*>(bytes.data()), bytes.size()};  // NOLINT: the kernel reads
    packets_[count_] = packets;
    msghdr& header = messages_[count_].msg_hdr;
    header = {};
    header.msg_iov = &pieces_[count_];
    header.msg_iovlen = 1;
    if (packets > 1) {
      header.msg_control = controls_[count_].bytes.data();
      header.msg_controllen = controls_[count_].bytes.size();
      cmsghdr* const option = CMSG_FIRSTHDR(&header);
      option->cmsg_level = SOL_UDP;
      option->cmsg_type = UDP_SEGMENT;
      option->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(stride);
      std::memcpy(CMSG_DATA(option), &segment, sizeof segment);
    }
    ++count_;
  }
  /// Returns how many messages the kernel took; 0: errno says why.
  std::size_t send(int socket) noexcept {
    const int taken = sendmmsg(socket, messages_.data(), static_cast<unsigned>(count_), MSG_DONTWAIT);
    return taken > 0 ? static_cast<std::size_t>(taken) : 0;
  }

 private:
  struct Control {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };
  std::array<mmsghdr, kBatch> messages_{};
  std::array<iovec, kBatch> pieces_{};
  std::array<Control, kBatch> controls_{};
  std::array<std::size_t, kBatch> packets_{};
  std::size_t count_ = 0;
};

// The kernel has no room now, or tells of an earlier datagram: the same may be sent again.
bool passing(int code) noexcept {
  return code == EAGAIN || code == EWOULDBLOCK || code == ENOBUFS || code == ECONNREFUSED || code == EINTR;
}

bool eiger(const Options& options) noexcept { return options.detector == Detector::eiger; }

}  // namespace

SlsSender::SlsSender(const SenderConfig& config)
    : options_(config.options),
      shape_(shape_of(config.options, config.destination.qpn)),
      row_(static_cast<std::uint16_t>(eiger(options_) ? config.destination.qpn / 2 : config.destination.qpn)),
      column_(static_cast<std::uint16_t>(eiger(options_) ? config.destination.qpn % 2 : 0)),
      frame_(config.options, shape_, flipped(options_, row_)),
      order_(config.faults, checked_port(config, shape_).dtp, config.images, shape_.packets),
      faulty_(config.faults.has_value()),
      socket_(wire::Address(config.destination.address, config.destination.port).v6(), "sls"),
      gso_(socket_.can_gso()),
      damaged_(kBatch * frame_.stride()) {
  socket_.set_buffers(kSendBuffer);
  socket_.bind(wire::Address(config.bind_address, 0));
  const wire::Address to(config.destination.address, config.destination.port);
  if (::connect(socket_.fd(), to.get(), to.bytes()) != 0) {
    throw ResourceError(
        fmt::format("sls: no way to {} port {}: {}; check the network", to.text(), to.port(), errno_text(errno)));
  }
  const wire::Address local = socket_.local();
  endpoint_ = {.address = local.text(), .port = local.port(), .qpn = config.destination.qpn};
}

std::size_t SlsSender::post(std::span<const BufferDescriptor> writes) {
  if (!leaving_.empty()) pump();
  if (!leaving_.empty()) {
    counters_.waits.add(1);
    return 0;
  }
  for (const BufferDescriptor& write : writes) {
    frame_.write(linear_, {write.source, write.bytes});
    linear_ += write.bytes;
  }
  done_ += writes.size();
  return writes.size();
}

bool SlsSender::post_event(const Event& event) {
  if (!leaving_.empty()) pump();
  if (!leaving_.empty()) return false;
  linear_ = 0;
  const auto record = decode_frame_record({event.record, FrameRecord::kBytes});
  if (!record || (record->flags & FrameRecord::skipped) != 0) return true;  // nobody is told of images left out
  if (first_tai_ns_ == 0) first_tai_ns_ = record->timestamp_ns;
  const std::uint64_t first = options_.first_frame == 0 ? 1 : options_.first_frame;
  Header header;
  header.frame_number = first + record->frame_number;
  header.bunch_id = header.frame_number;
  header.timestamp = (record->timestamp_ns - first_tai_ns_) / 100;
  header.module = static_cast<std::uint16_t>(kFirstModule + endpoint_.qpn / module_of(options_).ports);
  header.row = row_;
  header.column = column_;
  header.daq_info = daq_info_of(options_.detector, record->flags);
  header.type = type_of(options_.detector);
  frame_.set_headers(header);
  leaving_ = order_.begin(record->index);
  sent_ = 0;
  sending_since_ns_ = now_ns();
  pump();
  return true;
}

std::size_t SlsSender::poll(std::uint32_t wait_us) {
  if (leaving_.empty()) {
    if (wait_us != 0 && done_ == 0) std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
  } else {
    pump();
    if (wait_us != 0 && !leaving_.empty()) {
      constexpr std::uint32_t kLongestUs = 100;
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(wait_us, kLongestUs)));
      pump();
    }
  }
  return std::exchange(done_, 0);
}

// How many datagrams the detector's network would have carried by now.
std::size_t SlsSender::due(std::int64_t now) const noexcept {
  const double bits = static_cast<double>(now - sending_since_ns_) * options_.gigabits;
  const double packet_bits = 8.0 * (frame_.stride() + kOverhead);
  return 1 + static_cast<std::size_t>(bits / packet_bits);
}

void SlsSender::pump() noexcept {
  const std::size_t end = std::min(due(now_ns()), leaving_.size());
  if (sent_ < end) send(end - sent_);
  if (sent_ == leaving_.size()) leaving_ = {};
}

// Neighbours in the frame join one message; a damaged one is a message of its own.
SlsSender::Message SlsSender::next_message(std::size_t from, std::byte* damaged) const noexcept {
  const Leaving& first = leaving_[from];
  if (first.damaged) {
    const auto bytes = frame_.datagrams(first.packet, 1);
    std::memcpy(damaged, bytes.data(), bytes.size());
    damaged[kHeaderBytes - 1] ^= std::byte{0x40};
    return {{damaged, bytes.size()}, 1};
  }
  const std::size_t most = gso_ ? std::min(kMostSegments, kMerged / frame_.stride()) : 1;
  std::uint32_t count = 1;
  while (count < most && from + count < leaving_.size() && !leaving_[from + count].damaged &&
         leaving_[from + count].packet == first.packet + count) {
    ++count;
  }
  return {frame_.datagrams(first.packet, count), count};
}

void SlsSender::send(std::size_t most) noexcept {
  MessageBatch batch;
  while (most > 0) {
    batch.clear();
    std::size_t taken = 0;
    while (!batch.full() && taken < most && sent_ + taken < leaving_.size()) {
      const Message message = next_message(sent_ + taken, damaged_.data() + batch.size() * frame_.stride());
      batch.add(message.bytes, message.packets, frame_.stride());
      taken += message.packets;
    }
    const std::size_t gone = batch.send(socket_.fd());
    if (gone == 0) {
      if (passing(errno)) return;
      counters_.send_errors.add(batch.packets(0));  // lost, as if on the wire
      count_sent(batch.packets(0), most);
      continue;
    }
    for (std::size_t i = 0; i < gone; ++i) {
      counters_.messages.add(1);
      counters_.packets.add(batch.packets(i));
      counters_.payload_bytes.add(batch.packets(i) * shape_.payload);
      count_sent(batch.packets(i), most);
    }
  }
}

void SlsSender::count_sent(std::size_t packets, std::size_t& most) noexcept {
  sent_ += packets;
  most -= std::min(most, packets);
}

Counts SlsSender::stats() const {
  Counts counts;
  counters_.add_to(counts);
  return counts;
}

}  // namespace rashpa::link::sls
