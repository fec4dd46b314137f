// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/outlet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::sink::stream2 {

namespace {

constexpr int kLingerMs = 5000;                      // what is queued when the stream ends is given so long to leave
constexpr std::chrono::milliseconds kHandshake{20};  // the rest of one, when the door has let somebody in
constexpr std::chrono::microseconds kPause{50};
// Of a socket on the same machine. What the kernel grows to by itself holds many images, which then go through memory
// in place of a cache on their way to a client.
constexpr int kLoopbackBytes = 200'000;

bool is_loopback(std::string_view endpoint) noexcept {
  return endpoint.starts_with("tcp://127.") || endpoint.starts_with("tcp://localhost:") ||
         endpoint.starts_with("tcp://[::1]:");
}

void free_chunk(void* /*data*/, void* hint) { delete static_cast<ChunkRef*>(hint); }

}  // namespace

Message::Message(const ZeromqLibrary& zeromq, std::span<const std::byte> head, ChunkRef chunk) : zeromq_(zeromq) {
  ChunkRef own = std::move(chunk);
  if (own.use_count() > 1 || own->room < head.size()) {
    own = std::make_shared<Chunk>(own->bytes(), std::max(head.size(), Chunk::kRoom));
  }
  std::byte* first = own->memory.get() + own->room - head.size();
  if (!head.empty()) std::memcpy(first, head.data(), head.size());
  zeromq_.msg_init_data(&message_, first, head.size() + own->size, &free_chunk, new ChunkRef(own));
}

Message::Message(const ZeromqLibrary& zeromq, std::span<const std::byte> whole)
    : Message(zeromq, std::span<const std::byte>(), std::make_shared<Chunk>(whole)) {}

Message::~Message() { zeromq_.msg_close(&message_); }

bool Message::send(void* socket) const noexcept {
  ZeromqMessage one;
  zeromq_.msg_init(&one);
  if (zeromq_.msg_copy(&one, &message_) == 0 && zeromq_.msg_send(&one, socket, zeromq::kDontWait) >= 0) return true;
  zeromq_.msg_close(&one);
  return false;
}

Outlet::Outlet(const ZeromqLibrary& zeromq, void* context, const std::string& endpoint, Pattern pattern, int room,
               std::size_t number)
    : zeromq_(zeromq),
      pattern_(pattern),
      socket_(zeromq.socket(context, pattern == Pattern::push ? zeromq::kPush : zeromq::kXpub)) {
  if (socket_ == nullptr) {
    throw ResourceError(fmt::format("sink stream2: no ZeroMQ socket: {}", zeromq_.error_text(zeromq_.error())));
  }
  set(zeromq::kLinger, kLingerMs);
  set(zeromq::kSendRoom, room);
  if (is_loopback(endpoint)) set(zeromq::kSendBytes, kLoopbackBytes);
  if (endpoint.find('[') != std::string::npos) set(zeromq::kIpv6, 1);
  if (pattern_ == Pattern::pub) {
    set(zeromq::kXpubVerbose, 1);
    set(zeromq::kNoDrop, 1);
    set(zeromq::kXpubManual, 1);
  } else {
    const std::string domain = std::to_string(number);
    zeromq_.setsockopt(socket_, zeromq::kDomain, domain.data(), domain.size());
    const std::string name = fmt::format("inproc://monitor-{}", static_cast<const void*>(this));
    zeromq_.monitor(socket_, name.c_str(),
                    zeromq::kHandshakeSucceeded | zeromq::kHandshakeFailed | zeromq::kDisconnected);
    monitor_ = zeromq_.socket(context, zeromq::kPair);
    if (monitor_ != nullptr) zeromq_.connect(monitor_, name.c_str());
  }
  bind(endpoint);
}

void Outlet::bind(const std::string& endpoint) {
  std::string wanted = endpoint;
  if (constexpr std::string_view any = ":0"; wanted.ends_with(any)) wanted.replace(wanted.size() - 1, 1, "*");
  std::array<char, 256> text{};
  std::size_t bytes = text.size();
  if (zeromq_.bind(socket_, wanted.c_str()) == 0 &&
      zeromq_.getsockopt(socket_, zeromq::kLastEndpoint, text.data(), &bytes) == 0) {
    endpoint_ = text.data();
    return;
  }
  const int code = zeromq_.error();
  if (monitor_ != nullptr) zeromq_.close(monitor_);
  zeromq_.close(socket_);
  throw ConfigError(
      fmt::format("sink stream2: {} cannot be bound: {}; give tcp://, an address of this machine and a port that is "
                  "free, or 0 for any",
                  endpoint, zeromq_.error_text(code)));
}

Outlet::~Outlet() {
  if (monitor_ != nullptr) {
    zeromq_.monitor(socket_, nullptr, 0);
    zeromq_.close(monitor_);
  }
  zeromq_.close(socket_);
}

void Outlet::look() noexcept { pattern_ == Pattern::pub ? read_subscriptions() : read_monitor(); }

// A byte 1 and the topic: somebody subscribes; 0: somebody leaves. Nothing is sent to who subscribes before it is
// applied here.
void Outlet::read_subscriptions() noexcept {
  std::array<std::byte, 64> said{};
  int bytes = 0;
  while ((bytes = zeromq_.recv(socket_, said.data(), said.size(), zeromq::kDontWait)) > 0) {
    const bool subscribes = said[0] == std::byte{1};
    const std::size_t size = std::min(static_cast<std::size_t>(bytes), said.size());
    apply(subscribes ? zeromq::kSubscribe : zeromq::kUnsubscribe, std::span(said).first(size).subspan(1));
    subscribes ? came() : went();
  }
}

// Two parts: the number of the event in 16 bits, and of whom.
void Outlet::read_monitor() noexcept {
  if (monitor_ == nullptr) return;
  std::array<std::byte, 256> said{};
  while (zeromq_.recv(monitor_, said.data(), said.size(), zeromq::kDontWait) > 0) {
    std::uint16_t event = 0;
    std::memcpy(&event, said.data(), sizeof event);
    zeromq_.recv(monitor_, said.data(), said.size(), 0);
    if (event == zeromq::kDisconnected) {
      if (!std::exchange(failed_, false)) went();
      continue;
    }
    settled_ += 1;
    event == zeromq::kHandshakeSucceeded ? came() : static_cast<void>(failed_ = true);
  }
}

void Outlet::let_in() noexcept {
  const std::uint64_t before = settled_;
  const auto until = std::chrono::steady_clock::now() + kHandshake;
  for (look(); settled_ == before && std::chrono::steady_clock::now() < until; look()) {
    std::this_thread::sleep_for(kPause);
  }
}

void Outlet::came() noexcept {
  peers_.fetch_add(1, std::memory_order_relaxed);
  started_ = false;
}

void Outlet::went() noexcept {
  if (is_connected()) peers_.fetch_sub(1, std::memory_order_relaxed);
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
  const int copies = pattern_ == Pattern::pub ? 1 : peers_.load(std::memory_order_relaxed);
  for (int n = 0; n < copies && message.send(socket_); ++n) started_ = true;
  return started_;
}

// A PUB socket drops silently for a consumer that has no room, unless it is told to refuse the whole message: that is
// counted, and the message sent to those who have room.
bool Outlet::send_image(const Message& message) noexcept {
  bool sent = is_connected() && message.send(socket_);
  if (!sent) miss_image();
  if (!sent && pattern_ == Pattern::pub && is_connected()) {
    set(zeromq::kNoDrop, 0);
    sent = message.send(socket_);
    set(zeromq::kNoDrop, 1);
  }
  if (sent) sent_.fetch_add(1, std::memory_order_relaxed);
  return sent;
}

ConsumerStatus Outlet::status() const {
  return {.endpoint = endpoint_,
          .connected = static_cast<std::uint32_t>(std::max(0, peers_.load(std::memory_order_relaxed))),
          .sent = sent_.load(std::memory_order_relaxed),
          .missed = missed_.load(std::memory_order_relaxed)};
}

}  // namespace rashpa::sink::stream2
