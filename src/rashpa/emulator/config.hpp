// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The configuration of an emulator. Plain values.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/emulator/section_keys.hpp"
#include "rashpa/link/factory/link_options.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::emulator {

/// A link to some of the receivers.
struct SourceLink {
  link::LinkOptions link{};               ///< of this side; a card needs roce, transport uc
  std::string destination_link = "roce";  ///< of the other side: roce, verbs or pcie
};

/// One DTP of the emulated detector and where it goes.
struct SourceDtp {
  transfer::Dtp dtp;
  link::Endpoint destination;
  std::optional<SourceLink> link{};  ///< none: that of Config
};

/// The card of the engine "fpga", and the settings that a card in a network cannot find out by itself. A simulated card
/// without MAC addresses sends by sockets of this machine; with them it is in a network, as any other.
struct CardConfig {
  std::filesystem::path directory;  ///< of its nodes: src/rashpa/card/card.hpp
  std::string mac{};                ///< the card's, six pairs of hexadecimal digits with colons
  /// IP address of a receiver to the MAC address that packets to it go to: its own, or that of the first router.
  std::map<std::string, std::string> neighbours{};
};

/// The trigger of frames.
enum class Trigger : std::uint8_t {
  internal,  ///< the detector's rate alone
  software,  ///< Emulator::trigger() plays a number of frames at the rate
};

struct Config {
  std::shared_ptr<const dataset::Dataset> dataset;
  std::vector<SourceDtp> dtps;
  std::vector<Group> groups{};             ///< its DTPs bring their dealt images; all others bring every image
  link::LinkOptions link{};                ///< of this side; a card needs roce, transport uc
  std::string destination_link = "roce";   ///< of the other side: roce, verbs or pcie
  std::string bind_address = "127.0.0.1";  ///< with a card: the card's
  std::uint64_t frames = 0;                ///< frame numbers 0 … frames−1 exist
  End end = End::known;                    ///< the end is open: the run may end at any frame before
  double rate_hz = 0;                      ///< 0: as fast as flow allows
  std::shared_ptr<const transfer::Timetable> times{};  ///< of the dataset's frames, due so in place of the rate
  link::Flow flow = link::Flow::credits;
  transfer::OnFull on_full = transfer::OnFull::pause;
  RunKeys run{};
  FaultPlan faults{};
  int first_processor = -1;
  Trigger trigger = Trigger::internal;
  std::optional<CardConfig> card{};  ///< engine "fpga"; none: "software", a thread for each DTP
};

}  // namespace rashpa::emulator
