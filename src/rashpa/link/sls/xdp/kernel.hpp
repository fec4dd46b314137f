// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The calls of the kernel for AF_XDP and BPF, with names that headers older than the kernel lack.
#include <linux/bpf.h>
#include <linux/if_xdp.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::link::sls::xdp {

inline constexpr std::uint16_t kUseFragments = 1U << 4;    ///< XDP_USE_SG: a frame may have several chunks (Linux 6.6)
inline constexpr std::uint32_t kFrameContinues = 1U << 0;  ///< XDP_PKT_CONTD: the next descriptor has more of the frame
inline constexpr std::uint32_t kChunk = 4096;              ///< bytes of a chunk of memory; the kernel allows no more

/// Calls bpf(). Returns −1 with errno on failure.
int bpf(bpf_cmd command, bpf_attr& attributes) noexcept;

/// Throws ResourceError: `what` failed with errno value `code`, with the remedy for that code.
[[noreturn]] void refuse(std::string_view what, int code);

/// Returns why this process can use no AF_XDP; empty when it can.
std::string why_not();

}  // namespace rashpa::link::sls::xdp
