// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/queue.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>

#include "rashpa/core/time/clock.hpp"

namespace rashpa::link::sls::xdp {

namespace {

constexpr std::uint64_t kInChunk = kChunk - 1;
constexpr std::int64_t kPatienceNs = 5'000'000'000;

template <typename Value>
void set_option(int socket, int name, const Value& value, const char* what) {
  if (setsockopt(socket, SOL_XDP, name, &value, sizeof value) != 0) refuse(what, errno);
}

xdp_mmap_offsets offsets_of(int socket) {
  xdp_mmap_offsets offsets{};
  socklen_t bytes = sizeof offsets;
  if (getsockopt(socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &bytes) != 0) refuse("cannot ask for rings", errno);
  return offsets;
}

}  // namespace

FrameMemory::FrameMemory(std::uint32_t chunks, memory::Gathering* gathers)
    : memory_(std::size_t{chunks} * kChunk, memory::MemoryKind::huge),
      open_(gathers == nullptr ? nullptr : gathers->open(memory_.bytes())),
      chunks_(chunks) {}

void FrameMemory::join(int socket) {
  xdp_umem_reg region{};
  region.addr = reinterpret_cast<std::uintptr_t>(memory_.data());
  region.len = std::uint64_t{chunks_} * kChunk;
  region.chunk_size = kChunk;
  set_option(socket, XDP_UMEM_REG, region, "cannot give memory for frames");
  const std::uint32_t entries = std::bit_ceil(chunks_);
  set_option(socket, XDP_UMEM_FILL_RING, entries, "cannot make a ring of free memory");
  constexpr std::uint32_t kUnused = 2;  // nothing is sent, but the kernel wants the ring
  set_option(socket, XDP_UMEM_COMPLETION_RING, kUnused, "cannot make a ring of sent memory");
  fill_ = Ring<std::uint64_t>(socket, offsets_of(socket).fr, entries, XDP_UMEM_PGOFF_FILL_RING);
  if (!fill_.valid()) refuse("cannot map a ring", errno);
  for (std::uint32_t i = 0; i < chunks_; ++i) fill_.at(i) = std::uint64_t{i} * kChunk;
  given_ = chunks_;
  fill_.produce(given_);
  socket_ = socket;
}

void FrameMemory::give_back(std::span<const std::uint64_t> chunks) noexcept {
  const std::lock_guard lock(giving_);
  for (const std::uint64_t chunk : chunks) fill_.at(given_++) = chunk;
  fill_.produce(given_);
  if (fill_.wants_call()) recvfrom(socket_, nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
}

FrameSocket::FrameSocket(const Interface& interface, std::uint32_t queue, FrameMemory& memory, std::uint32_t chunks,
                         int first)
    : memory_(&memory), socket_(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const int socket = socket_.get();
  if (socket < 0) refuse("cannot open a socket", errno);
  if (first < 0) memory.join(socket);
  set_option(socket, XDP_RX_RING, chunks, "cannot make a ring of frames");
  ring_ = Ring<xdp_desc>(socket, offsets_of(socket).rx, chunks, XDP_PGOFF_RX_RING);
  if (!ring_.valid()) refuse("cannot map a ring", errno);
  held_.reserve(std::size_t{2} * memory.chunks());
  free_.reserve(memory.chunks());
  sockaddr_xdp at{};
  at.sxdp_family = AF_XDP;
  at.sxdp_ifindex = static_cast<std::uint32_t>(interface.index);
  at.sxdp_queue_id = queue;
  at.sxdp_flags = first < 0 ? XDP_USE_NEED_WAKEUP | kUseFragments : XDP_SHARED_UMEM;
  if (first >= 0) at.sxdp_shared_umem_fd = static_cast<std::uint32_t>(first);
  // The kernel frees the queues of sockets that were closed a little later.
  const std::int64_t until = now_ns() + kPatienceNs;
  while (bind(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    const int code = errno;
    if (code != EBUSY || now_ns() > until) {
      refuse(fmt::format("cannot use queue {} of {}", queue, interface.name), code);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::optional<FrameSocket::Frame> FrameSocket::next(std::span<ScatteredBytes::Piece, kMostPieces> pieces) noexcept {
  std::size_t count = 0;
  for (std::uint32_t place = read_;; ++place) {
    if (place == produced_) produced_ = ring_.produced();
    if (place == produced_) return std::nullopt;
    const xdp_desc& part = ring_.at(place);
    if (count < pieces.size()) pieces[count] = {memory_->data() + part.addr, part.len};
    ++count;
    if ((part.options & kFrameContinues) != 0) continue;
    next_end_ = place + 1;
    return Frame(pieces).first(count > pieces.size() ? 0 : count);
  }
}

void FrameSocket::take() noexcept {
  for (; read_ != next_end_; ++read_) held_.push_back({ring_.at(read_).addr & ~kInChunk, 0});
}

void FrameSocket::give_back(const memory::Gather* gather) noexcept {
  if (held_.empty()) return;
  ring_.consume(read_);
  for (; listed_ < held_.size(); ++listed_) held_[listed_].list = gather == nullptr ? 0 : gather->latest();
  for (; given_ < held_.size(); ++given_) {
    if (gather != nullptr && !gather->ended(held_[given_].list)) break;
    free_.push_back(held_[given_].chunk);
  }
  if (!free_.empty()) memory_->give_back(free_);
  free_.clear();
  if (2 * given_ < held_.size()) return;
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(given_));
  listed_ -= given_;
  given_ = 0;
}

xdp_statistics FrameSocket::statistics() const noexcept {
  xdp_statistics counts{};
  socklen_t bytes = sizeof counts;
  if (getsockopt(socket_.get(), SOL_XDP, XDP_STATISTICS, &counts, &bytes) != 0) return {};
  return counts;
}

}  // namespace rashpa::link::sls::xdp
