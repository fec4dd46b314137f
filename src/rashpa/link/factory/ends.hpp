// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of the factory's files. A build without a component has no_….cpp in place of that component's
/// …_ends.cpp.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/link/factory/factory.hpp"

namespace rashpa::link {

inline constexpr std::uint16_t kRocePort = 4791;

/// Returns the address from which packets to `destination` leave: that of the options, or the resolved wildcard.
std::string source_address(const EndOptions& options, const Endpoint& destination);

/// Makes a receiver, as make_receiver() does.
std::unique_ptr<Receiver> make(const verbs::Options& link, const ReceiverOptions& options, const ReceiverMemory& memory,
                               const std::vector<ReceiverDtp>& dtps, ArrivalQueues& queues, Doorbell& bell);

}  // namespace rashpa::link
