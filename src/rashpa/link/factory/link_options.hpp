// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which link an end has, by the type of its options. A new link adds its options here and its two makers in
/// factory.cpp (docs/how-to/add_a_link.md).
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

/// `roce`: RoCE in user space. `verbs`: an RNIC or the kernel's Soft-RoCE. `pcie`: memory that both processes map.
/// `fpga`: a card that sends what software pushes; it receives nothing. `sls`: UDP of SLS detectors.
/// `stream2`: messages of DECTRIS Stream V2.
using LinkOptions =
    std::variant<roce::Options, verbs::Options, pcie::Options, fpga::Options, sls::Options, stream2::Options>;

/// The kinds of links, in the order of LinkOptions.
enum class Kind : std::uint8_t { roce, verbs, pcie, fpga, sls, stream2 };

[[nodiscard]] constexpr Kind kind_of(const LinkOptions& options) noexcept { return static_cast<Kind>(options.index()); }
/// Throws ConfigError that lists the kinds when `name` is none of them.
Kind kind_of(std::string_view name);
std::string_view name_of(Kind kind) noexcept;
/// A link of that kind with the chosen values, and defaults for the rest. Throws ConfigError that names the link and
/// the key, and for a kind that no run file chooses.
LinkOptions options_named(std::string_view kind, const NamedValues& values);
/// Every link that a run file can choose with its parameters, as JSON: the content of schema/links.json.
std::string links_json();

/// The processes that must be able to map the RASHPA buffer of a receiver with this link.
[[nodiscard]] memory::Sharing sharing_of(Kind kind) noexcept;
/// Number of the CUDA device that moves a sender's bytes; −1: none does.
[[nodiscard]] int gpu_of(const LinkOptions& options) noexcept;

}  // namespace rashpa::link
