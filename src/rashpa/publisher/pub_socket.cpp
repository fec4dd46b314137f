// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publisher/pub_socket.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rashpa/core/error.hpp"

namespace rashpa::publisher {

namespace {

constexpr int kEndLingerMs = 200;

}  // namespace

PubSocket::PubSocket(const ZeromqLibrary& zeromq, int listener, int room)
    : zeromq_(zeromq), context_(zeromq.ctx_new()), socket_(zeromq.socket(context_, zeromq::kXpub)) {
  if (socket_ == nullptr) {
    const int code = zeromq_.error();
    hang_up();
    throw ResourceError(
        fmt::format("zmq: no socket can be made: {}; check the limit of open files", zeromq_.error_text(code)));
  }
  const auto set = [this](int option, int value) { zeromq_.setsockopt(socket_, option, &value, sizeof value); };
  set(zeromq::kLinger, kEndLingerMs);
  set(zeromq::kSendRoom, room);
  set(zeromq::kXpubVerboser, 1);  // each subscription is seen, also one that somebody else has
  keep_all(true);
  try {
    entrance_ = std::make_unique<Entrance>(zeromq_, context_, socket_, listener, kMostConnections);
  } catch (...) {
    hang_up();
    throw;
  }
}

PubSocket::~PubSocket() { hang_up(); }

void PubSocket::hang_up() noexcept {
  entrance_.reset();
  if (socket_ != nullptr) zeromq_.close(socket_);
  zeromq_.ctx_term(context_);
}

// A socket that publishes drops silently for a subscriber that has no room, unless it is told to refuse the whole
// message.
void PubSocket::keep_all(bool keep) noexcept {
  const int value = keep ? 1 : 0;
  zeromq_.setsockopt(socket_, zeromq::kNoDrop, &value, sizeof value);
}

void PubSocket::look() {
  std::array<std::byte, kMostBytesFromOutside> said{};
  int bytes = 0;
  for (int n = 0;
       n < kMostMessages && (bytes = zeromq_.recv(socket_, said.data(), said.size(), zeromq::kDontWait)) >= 0; ++n)
    subscriptions_.count(std::span(said).first(std::min<std::size_t>(bytes, said.size())));
  entrance_->look();
}

bool PubSocket::send(std::span<const std::span<const std::byte>> parts) noexcept {
  bool all = true;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const int flags = zeromq::kDontWait | (p + 1 < parts.size() ? zeromq::kMore : 0);
    if (zeromq_.send(socket_, parts[p].data(), parts[p].size(), flags) >= 0) continue;
    // It was refused before its first part went: counted, and sent to those that have room.
    all = false;
    keep_all(false);
    zeromq_.send(socket_, parts[p].data(), parts[p].size(), flags);
  }
  if (!all) keep_all(true);
  return all;
}

}  // namespace rashpa::publisher
