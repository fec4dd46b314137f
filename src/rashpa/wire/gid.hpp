// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The addresses of RoCEv1: link-local GIDs fe80::/64 whose interface identifier is the EUI-64 form of the MAC address.
/// So the destination's MAC address follows from its GID, as in the kernel.
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "rashpa/wire/address.hpp"

namespace rashpa::wire {

using MacAddress = std::array<std::uint8_t, 6>;
using Gid = std::array<std::uint8_t, 16>;

[[nodiscard]] Gid gid_of(const MacAddress& mac) noexcept;
[[nodiscard]] std::string text_of(const Gid& gid);
/// Returns the MAC address; nothing when `gid` is no link-local GID made from the MAC address of a station.
[[nodiscard]] std::optional<MacAddress> mac_of(const Gid& gid) noexcept;

/// Returns the GID in `text` as an address without port or scope, since a scope names an interface of the machine that
/// wrote it. Throws ConfigError when no MAC address follows from it.
[[nodiscard]] Address gid_address(const std::string& text);

}  // namespace rashpa::wire
