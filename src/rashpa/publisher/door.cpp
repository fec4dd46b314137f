// SPDX-License-Identifier: Apache-2.0
#include "rashpa/publisher/door.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>

#include "rashpa/core/error.hpp"

namespace rashpa::publisher {

namespace {

constexpr const char* kEndpoint = "inproc://zeromq.zap.01";  // where libzmq asks
enum Part : std::size_t { kVersion, kRequest, kDomain, kParts };

}  // namespace

Door::Door(const ZeromqLibrary& zeromq, void* context)
    : zeromq_(zeromq), socket_(zeromq.socket(context, zeromq::kRep)) {
  if (socket_ != nullptr && zeromq_.bind(socket_, kEndpoint) == 0) return;
  const int code = zeromq_.error();
  if (socket_ != nullptr) zeromq_.close(socket_);
  throw ResourceError(fmt::format("zmq: the publisher cannot accept consumers: {}; check the limit of open files",
                                  zeromq_.error_text(code)));
}

Door::~Door() { zeromq_.close(socket_); }

void Door::look(std::span<const std::unique_ptr<Outlet>> outlets) {
  std::array<std::array<char, 256>, kParts> parts{};
  std::array<std::size_t, kParts> lengths{};
  for (;;) {
    int more = 1;
    for (std::size_t part = 0; more != 0; ++part) {  // those behind the domain name the client
      std::array<char, 256> rest{};
      auto& to = part < kParts ? parts.at(part) : rest;
      const int bytes = zeromq_.recv(socket_, to.data(), to.size(), zeromq::kDontWait);
      if (bytes < 0) return;
      if (part < kParts) lengths.at(part) = std::min(static_cast<std::size_t>(bytes), to.size());
      std::size_t size = sizeof more;
      if (zeromq_.getsockopt(socket_, zeromq::kReceiveMore, &more, &size) != 0) return;
    }
    std::size_t number = outlets.size();
    const char* const domain = parts[kDomain].data();
    std::from_chars(domain, domain + lengths[kDomain], number);
    Outlet* const outlet = number < outlets.size() ? outlets[number].get() : nullptr;
    if (outlet != nullptr) outlet->look();
    const std::string_view request(parts[kRequest].data(), lengths[kRequest]);
    const std::array<std::string_view, 6> reply{"1.0", request, "200", "", "", ""};
    for (const std::string_view& part : reply) {
      zeromq_.send(socket_, part.data(), part.size(), &part == &reply.back() ? 0 : zeromq::kMore);
    }
    if (outlet != nullptr) outlet->let_in();
  }
}

}  // namespace rashpa::publisher
