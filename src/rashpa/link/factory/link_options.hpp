// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The link of an end, by the type of its options. A new link adds its options here and its two makers in factory.cpp
/// (docs/how-to/add_a_link.md).
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "rashpa/core/parameter.hpp"
#include "rashpa/link/fpga/options.hpp"
#include "rashpa/link/pcie/options.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/sls/options.hpp"
#include "rashpa/link/stream2/options.hpp"
#include "rashpa/link/verbs/options.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link {

/// The options of a link. `roce`: RoCE in user space. `verbs`: an RNIC or the kernel's Soft-RoCE. `pcie`: memory that
/// both processes map. `fpga`: a card that sends what software pushes, for senders only. `sls`: UDP of SLS detectors.
/// `stream2`: messages of DECTRIS Stream V2.
using LinkOptions =
    std::variant<roce::Options, verbs::Options, pcie::Options, fpga::Options, sls::Options, stream2::Options>;

/// The kinds of links, in the order of LinkOptions.
enum class Kind : std::uint8_t { roce, verbs, pcie, fpga, sls, stream2 };

[[nodiscard]] constexpr Kind kind_of(const LinkOptions& options) noexcept { return static_cast<Kind>(options.index()); }
/// Returns the kind with that name. Throws ConfigError with a list of all kinds when there is none.
Kind kind_of(std::string_view name);
std::string_view name_of(Kind kind) noexcept;
/// Returns options of that kind with the given values, and defaults for the rest. Throws ConfigError that names the
/// link and the key, and for a kind that run files cannot choose.
LinkOptions options_named(std::string_view kind, const NamedValues& values);
/// Returns the content of schema/links.json: all links that a run file can choose, with their parameters.
std::string links_json();

/// Returns which processes must be able to map the RASHPA buffer of a receiver with this link.
[[nodiscard]] memory::Sharing sharing_of(Kind kind) noexcept;
/// Returns the number of the CUDA device that moves a sender's bytes; −1: none.
[[nodiscard]] int gpu_of(const LinkOptions& options) noexcept;

}  // namespace rashpa::link
