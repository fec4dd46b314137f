// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Python names of enumerations, one table each: "credits" ↔ Flow::credits.
#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "rashpa/core/end.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/emulator/emulator.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/link/factory/link_options.hpp"
#include "rashpa/receiver/receiver.hpp"
#include "rashpa/scheduler/scheduler.hpp"
#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/transfer/dtp_source.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::bindings {

template <typename Enum, std::size_t N>
struct Names {
  std::string_view what;
  std::array<std::pair<Enum, std::string_view>, N> table;

  /// Throws ConfigError that lists the names when `text` is none of them.
  [[nodiscard]] Enum value(std::string_view text) const {
    std::string known;
    for (const auto& [entry, name] : table) {
      if (name == text) return entry;
      known += known.empty() ? "" : ", ";
      known += name;
    }
    throw ConfigError(fmt::format("no {} '{}'; choose one of {}", what, text, known));
  }
  [[nodiscard]] std::string name(Enum entry) const {
    for (const auto& [known, text] : table) {
      if (known == entry) return std::string(text);
    }
    return "unknown";
  }
};

inline constexpr Names<link::Flow, 2> kFlows{"flow",
                                             {{{link::Flow::credits, "credits"}, {link::Flow::paced, "paced"}}}};
inline constexpr Names<emulator::Trigger, 2> kTriggers{
    "trigger", {{{emulator::Trigger::internal, "internal"}, {emulator::Trigger::software, "software"}}}};
inline constexpr Names<End, 2> kEnds{"end", {{{End::known, "known"}, {End::told, "told"}}}};
inline constexpr Names<receiver::OnFull, 2> kSinkOnFull{
    "on_full of a sink", {{{receiver::OnFull::wait, "wait"}, {receiver::OnFull::drop, "drop"}}}};
inline constexpr Names<transfer::OnFull, 2> kOnFull{
    "on_full", {{{transfer::OnFull::pause, "pause"}, {transfer::OnFull::skip, "skip"}}}};
inline constexpr Names<scheduler::Poll, 2> kPolls{
    "poll", {{{scheduler::Poll::spin, "spin"}, {scheduler::Poll::event, "event"}}}};
inline constexpr Names<receiver::FirstOf, 2> kFirstOf{
    "first image", {{{receiver::FirstOf::vetoed, "vetoed"}, {receiver::FirstOf::partial, "partial"}}}};
inline constexpr Names<PixelType, 6> kPixels{"pixel type",
                                             {{{PixelType::u8, "uint8"},
                                               {PixelType::u16, "uint16"},
                                               {PixelType::u32, "uint32"},
                                               {PixelType::i16, "int16"},
                                               {PixelType::i32, "int32"},
                                               {PixelType::f32, "float32"}}}};
inline constexpr Names<kernel::Masked, 5> kMasked{"way to be masked",
                                                  {{{kernel::Masked::none, "none"},
                                                    {kernel::Masked::maximum, "maximum"},
                                                    {kernel::Masked::negative, "negative"},
                                                    {kernel::Masked::minimum, "minimum"},
                                                    {kernel::Masked::not_a_number, "not_a_number"}}}};
inline constexpr Names<emulator::State, 4> kEmulatorStates{"state",
                                                           {{{emulator::State::configured, "configured"},
                                                             {emulator::State::running, "running"},
                                                             {emulator::State::finished, "finished"},
                                                             {emulator::State::stopped, "stopped"}}}};
inline constexpr Names<receiver::State, 5> kReceiverStates{"state",
                                                           {{{receiver::State::configured, "configured"},
                                                             {receiver::State::armed, "armed"},
                                                             {receiver::State::running, "running"},
                                                             {receiver::State::finished, "finished"},
                                                             {receiver::State::stopped, "stopped"}}}};

}  // namespace rashpa::bindings
