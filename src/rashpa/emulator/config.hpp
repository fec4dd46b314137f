// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The configuration of an emulator, as plain values.
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
#include "rashpa/dataset/reduction.hpp"
#include "rashpa/emulator/section_keys.hpp"
#include "rashpa/link/factory/link_options.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::emulator {

/// The link of a DTP, where it differs from that of the emulator.
struct SourceLink {
  link::LinkOptions link{};               ///< options of this side; a card needs roce with transport uc
  std::string destination_link = "roce";  ///< kind of the other side: roce, verbs or pcie
};

/// One DTP of the emulated detector, with its destination. The region of `dtp` is the one that is reduced, and its
/// placement has the size of the reduced image.
struct SourceDtp {
  transfer::Dtp dtp;
  link::Endpoint destination;
  std::optional<SourceLink> link{};  ///< none: the link of Config
  dataset::Reduction reduction{};
};

/// The card of the engine "fpga", and the network settings that a card cannot determine itself. A simulated card
/// without MAC addresses sends through sockets of this machine; with MAC addresses it is in a network like a real one.
struct CardConfig {
  std::filesystem::path directory;  ///< directory of its nodes: src/rashpa/card/card.hpp
  std::string mac{};                ///< MAC address of the card, six pairs of hexadecimal digits with colons
  /// Maps the IP address of a receiver to the destination MAC address of its packets: the receiver's, or the first
  /// router's.
  std::map<std::string, std::string> neighbours{};
};

/// The source of the frames' trigger.
enum class Trigger : std::uint8_t {
  internal,  ///< the detector plays all frames at its rate
  software,  ///< Emulator::trigger() plays a number of frames at the rate
};

struct Config {
  std::shared_ptr<const dataset::Dataset> dataset;
  std::vector<SourceDtp> dtps;
  std::vector<Group> groups{};             ///< groups whose DTPs send dealt images; all other DTPs send each image
  link::LinkOptions link{};                ///< options of this side; a card needs roce with transport uc
  std::string destination_link = "roce";   ///< kind of the other side: roce, verbs or pcie
  std::string bind_address = "127.0.0.1";  ///< address of this node; with a card, the card's address
  std::uint64_t frames = 0;                ///< frame numbers 0 … frames−1 exist
  End end = End::known;                    ///< open: the run may end at an earlier frame
  double rate_hz = 0;                      ///< 0: as fast as flow control allows
  std::shared_ptr<const transfer::Timetable> times{};  ///< due times of the dataset's frames, which replace the rate
  link::Flow flow = link::Flow::credits;
  transfer::OnFull on_full = transfer::OnFull::pause;
  RunKeys run{};
  FaultPlan faults{};
  int first_processor = -1;
  Trigger trigger = Trigger::internal;
  std::optional<CardConfig> card{};  ///< card of engine "fpga"; none: engine "software", a thread for each DTP
};

}  // namespace rashpa::emulator
