// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/zeromq.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "rashpa/core/error.hpp"

namespace rashpa::feedback {

namespace {

constexpr int kLingerMs = 200;

}  // namespace

PubSocket::PubSocket(const std::string& endpoint, int room)
    : zeromq_(load_zeromq()), context_(zeromq_.ctx_new()), socket_(zeromq_.socket(context_, zeromq::kPub)) {
  if (socket_ == nullptr) {
    const int code = zeromq_.error();
    zeromq_.ctx_term(context_);
    throw ResourceError(fmt::format("feedback: no ZeroMQ socket: {}", zeromq_.error_text(code)));
  }
  const auto set = [this](int option, int value) { zeromq_.setsockopt(socket_, option, &value, sizeof value); };
  set(zeromq::kLinger, kLingerMs);
  set(zeromq::kSendRoom, room);
  if (endpoint.find('[') != std::string::npos) set(zeromq::kIpv6, 1);
  keep_all(true);
  std::string wanted = endpoint;
  if (constexpr std::string_view any = ":0"; wanted.ends_with(any)) wanted.replace(wanted.size() - 1, 1, "*");
  std::array<char, 256> text{};
  std::size_t bytes = text.size();
  if (zeromq_.bind(socket_, wanted.c_str()) != 0 ||
      zeromq_.getsockopt(socket_, zeromq::kLastEndpoint, text.data(), &bytes) != 0) {
    const int code = zeromq_.error();
    zeromq_.close(socket_);
    zeromq_.ctx_term(context_);
    throw ConfigError(
        fmt::format("feedback: {} cannot be bound: {}; give tcp://, an address of this machine and a "
                    "port that is free, or 0 for any",
                    endpoint, zeromq_.error_text(code)));
  }
  endpoint_ = text.data();
}

PubSocket::~PubSocket() {
  zeromq_.close(socket_);
  zeromq_.ctx_term(context_);
}

// A PUB socket drops silently for a subscriber that has no room, unless it is told to refuse the whole message.
void PubSocket::keep_all(bool keep) noexcept {
  const int value = keep ? 1 : 0;
  zeromq_.setsockopt(socket_, zeromq::kNoDrop, &value, sizeof value);
}

bool PubSocket::send(std::span<const std::span<const std::byte>> parts) noexcept {
  bool all = true;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const int flags = zeromq::kDontWait | (p + 1 < parts.size() ? zeromq::kMore : 0);
    if (zeromq_.send(socket_, parts[p].data(), parts[p].size(), flags) >= 0) continue;
    // It was refused before its first part went: counted, and sent to those who have room.
    all = false;
    keep_all(false);
    zeromq_.send(socket_, parts[p].data(), parts[p].size(), flags);
  }
  if (!all) keep_all(true);
  return all;
}

}  // namespace rashpa::feedback
