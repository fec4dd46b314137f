// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Emulator and receiver in one process, over real sockets: of the loopback interface, or wherever a Place says.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/emulator/emulator.hpp"
#include "rashpa/receiver/receiver.hpp"

namespace rashpa::chain {

/// Where one end lives: its address, and what runs the code that opens its sockets (in another network namespace).
struct Place {
  std::string address = "127.0.0.1";
  std::function<void(const std::function<void()>&)> within = [](const std::function<void()>& make) { make(); };
};

/// A detector of `modules` modules one above the other, all pixels into one buffer; members may be changed before
/// build().
struct Plan {
  std::uint32_t width = 64;
  std::uint32_t height = 16;
  std::uint32_t modules = 2;
  std::uint64_t frames = 200;
  std::uint32_t stack = 4;
  std::uint32_t slots = 16;
  std::uint32_t deadline_ms = 2000;
  std::string link = "roce";  ///< of both ends
  link::roce::Options roce{};
  link::pcie::Options pcie{};
  link::sls::Options sls{};
  unit::ImagesIn images_in = unit::ImagesIn::host;
  unit::Choice unit{};
  unit::Pipeline pipeline{};
  Place source{};
  /// The DTPs' threads stay where they are: a sender that moves to another processor can overtake its own packets in
  /// the queues of lo and veth, which loses messages of several packets in a way that no injector knows.
  int source_processor = 0;
  Place destination{};
  emulator::FaultPlan faults{};
  double rate_hz = 0;
  link::Flow flow = link::Flow::credits;
  transfer::OnFull on_full = transfer::OnFull::pause;
  std::optional<emulator::CardConfig> card{};  ///< that plays the DTPs
  std::uint64_t every = 1;                     ///< the buffer takes every n-th frame …
  std::uint64_t phase = 0;                     ///< … from this one on
  std::uint32_t bands = 1;                     ///< DTPs a module, one above the other
  PixelType pixel = PixelType::u16;
  std::uint32_t first_id = 0;               ///< of the DTPs
  std::uint32_t threads = 1;                ///< of the receiver's link
  bool late = false;                        ///< the last module begins when the others are through
  std::vector<receiver::SinkConfig> sinks;  ///< none: a NullSink
  std::optional<feedback::Options> feedback{};

  Plan();
};

/// Both ends, configured and armed.
struct Chain {
  explicit Chain(const Plan& plan);
  /// Starts, waits for both ends, at most `timeout_s`; true when all is decided and written.
  bool play(double timeout_s = 60);
  /// What the injector's log says of each image.
  [[nodiscard]] std::vector<Completeness> fates() const;

  std::unique_ptr<receiver::Receiver> receiver;
  std::unique_ptr<emulator::Emulator> emulator;
  std::unique_ptr<emulator::Emulator> late;  ///< of the last module, if it is to be
  std::uint32_t dtps = 0;
};

/// Of each DTP's images, what becomes of the whole images: complete when all are, missing when all are, else partial.
std::vector<Completeness> of_images(const std::vector<std::vector<Completeness>>& dtps);

}  // namespace rashpa::chain
