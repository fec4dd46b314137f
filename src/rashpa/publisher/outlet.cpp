// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publisher/outlet.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::publisher {

namespace {

constexpr int kLingerMs = 5000;                      // the time for queued messages to leave when the stream ends
constexpr std::chrono::milliseconds kHandshake{20};  // the rest of one, when the door has let somebody in
constexpr std::chrono::microseconds kPause{50};
// Of a socket on the same machine. The kernel's own size holds many images, which then go through memory in place of a
// cache on their way to a client.
constexpr int kLoopbackBytes = 200'000;

bool is_loopback(int listener) noexcept {
  sockaddr_in6 v6{};
  socklen_t size = sizeof v6;
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&v6), &size) != 0) return false;
  if (v6.sin6_family == AF_INET6) return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
  sockaddr_in v4{};
  std::memcpy(&v4, &v6, sizeof v4);
  return ntohl(v4.sin_addr.s_addr) >> 24U == 127;
}

void free_bytes(void* data, void* /*hint*/) { delete[] static_cast<std::byte*>(data); }

}  // namespace

Message::Message(const ZeromqLibrary& zeromq, std::span<const std::byte> whole) : zeromq_(zeromq) {
  auto own = std::make_unique_for_overwrite<std::byte[]>(whole.size());
  if (!whole.empty()) std::memcpy(own.get(), whole.data(), whole.size());
  zeromq_.msg_init_data(&message_, own.release(), whole.size(), &free_bytes, nullptr);
}

Message::~Message() { zeromq_.msg_close(&message_); }

bool Message::send(void* socket) const noexcept {
  ZeromqMessage one;
  zeromq_.msg_init(&one);
  if (zeromq_.msg_copy(&one, &message_) == 0 && zeromq_.msg_send(&one, socket, zeromq::kDontWait) >= 0) return true;
  zeromq_.msg_close(&one);
  return false;
}

Outlet::Outlet(const ZeromqLibrary& zeromq, void* context, int listener, Pattern pattern, int room, std::size_t number,
               unsigned most)
    : zeromq_(zeromq),
      pattern_(pattern),
      socket_(zeromq.socket(context, pattern == Pattern::push ? zeromq::kPush : zeromq::kXpub)) {
  if (socket_ == nullptr) {
    throw ResourceError(fmt::format("zmq: no socket can be made: {}; check the limit of open files",
                                    zeromq_.error_text(zeromq_.error())));
  }
  set(zeromq::kLinger, kLingerMs);
  set(zeromq::kSendRoom, room);
  if (is_loopback(listener)) set(zeromq::kSendBytes, kLoopbackBytes);
  if (pattern_ == Pattern::pub) {
    set(zeromq::kXpubVerbose, 1);
    set(zeromq::kNoDrop, 1);
    set(zeromq::kXpubManual, 1);
  } else {
    const std::string domain = std::to_string(number);
    zeromq_.setsockopt(socket_, zeromq::kDomain, domain.data(), domain.size());
  }
  try {
    entrance_ = std::make_unique<Entrance>(zeromq_, context, socket_, listener, most);
  } catch (...) {
    zeromq_.close(socket_);
    throw;
  }
}

Outlet::~Outlet() {
  entrance_.reset();
  zeromq_.close(socket_);
}

void Outlet::look() {
  if (pattern_ == Pattern::pub) read_subscriptions();
  read_events();
}

// A byte 1 and the topic: somebody subscribes; 0: somebody leaves. Nothing is sent to a subscriber before it is
// applied here.
void Outlet::read_subscriptions() {
  std::array<std::byte, kMostBytesFromOutside> said{};
  int bytes = 0;
  for (int n = 0;
       n < kMostMessages && (bytes = zeromq_.recv(socket_, said.data(), said.size(), zeromq::kDontWait)) >= 0; ++n) {
    const std::span<const std::byte> message = std::span(said).first(std::min<std::size_t>(bytes, said.size()));
    subscriptions_.count(message);
    if (message.empty() || message[0] > std::byte{1}) continue;
    const bool subscribes = message[0] == std::byte{1};
    subscribed_ = subscribed_ || subscribes;
    apply(subscribes ? zeromq::kSubscribe : zeromq::kUnsubscribe, message.subspan(1));
    subscribes ? came() : went();
  }
}

// Of pub, newcomers are new subscribers.
void Outlet::read_events() noexcept {
  while (const auto event = entrance_->next()) {
    if (pattern_ == Pattern::pub) continue;
    if (*event == Entrance::Event::went) {
      if (!std::exchange(failed_, false)) went();
      continue;
    }
    settled_ += 1;
    *event == Entrance::Event::came ? came() : static_cast<void>(failed_ = true);
  }
}

void Outlet::let_in() {
  const std::uint64_t before = settled_;
  const auto until = std::chrono::steady_clock::now() + kHandshake;
  for (look(); settled_ == before && std::chrono::steady_clock::now() < until; look()) {
    std::this_thread::sleep_for(kPause);
  }
}

bool Outlet::is_connected() const noexcept {
  return pattern_ == Pattern::pub ? subscribed_ && entrance_->connections() > 0 : peers_ > 0;
}

unsigned Outlet::connected() const noexcept {
  if (pattern_ == Pattern::push) return peers_;
  return is_connected() ? std::clamp(peers_, 1U, entrance_->connections()) : 0;
}

void Outlet::came() noexcept {
  peers_ += 1;
  started_ = false;
}

void Outlet::went() noexcept {
  peers_ -= peers_ > 0 ? 1U : 0U;
  if (!is_connected()) started_ = false;
}

bool Outlet::ready() const noexcept {
  int events = 0;
  std::size_t bytes = sizeof events;
  const bool asked = zeromq_.getsockopt(socket_, zeromq::kEvents, &events, &bytes) == 0;
  return is_connected() && asked && (events & zeromq::kPollOut) != 0;
}

// A PUSH socket deals messages round: as many as there are consumers reach each of them. One that has no room has got
// its start before.
bool Outlet::send_start(const Message& message) noexcept {
  const unsigned copies = pattern_ == Pattern::pub ? 1 : peers_;
  for (unsigned n = 0; n < copies && message.send(socket_); ++n) started_ = true;
  return started_;
}

// A socket that publishes drops silently for a consumer that has no room, unless it is told to refuse the whole
// message: that is counted, and the message sent to those that have room.
SentTo Outlet::send_image(const Message& message) noexcept {
  if (!is_connected()) return {};
  if (message.send(socket_)) return {.somebody = true, .all = true};
  if (pattern_ == Pattern::push) return {};
  set(zeromq::kNoDrop, 0);
  const bool sent = message.send(socket_);
  set(zeromq::kNoDrop, 1);
  return {.somebody = sent, .all = false};
}

}  // namespace rashpa::publisher
