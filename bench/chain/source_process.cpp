// SPDX-License-Identifier: Apache-2.0
#include "source_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "../pipes.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/emulator/emulator.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"

namespace rashpa::bench {

namespace {

namespace synthetic = kernel::jungfrau::synthetic;

constexpr std::uint64_t kFrames = 20;  // different ones

// What the two processes tell each other, byte for byte: both are this program.
struct Wire {
  std::array<char, 64> address{};
  std::uint16_t port = 0;
  std::uint32_t qpn = 0, rkey = 0, psn = 0;
  std::uint64_t credit_offset = 0, window_bytes = 0;
  Placement placement{};
  std::uint32_t run = 0;
};

Wire wire_of(const link::Endpoint& endpoint) {
  Wire wire;
  std::strncpy(wire.address.data(), endpoint.address.c_str(), wire.address.size() - 1);
  wire.port = endpoint.port;
  wire.qpn = endpoint.qpn;
  wire.rkey = endpoint.rkey;
  wire.credit_offset = endpoint.credit_offset;
  wire.window_bytes = endpoint.window_bytes;
  wire.psn = endpoint.psn;
  return wire;
}

link::Endpoint endpoint_of(const Wire& wire) {
  return {wire.address.data(), wire.port, wire.qpn, wire.rkey, wire.credit_offset, wire.window_bytes, wire.psn};
}

}  // namespace

std::shared_ptr<dataset::MemoryDataset> make_frames(std::uint32_t modules) {
  auto frames = std::make_shared<dataset::MemoryDataset>(
      dataset::ModuleShape{Detector::kWidth, Detector::kHeight, PixelType::u16}, modules, kFrames);
  std::vector<std::jthread> threads;
  for (std::uint32_t module = 0; module < modules; ++module) {
    threads.emplace_back([&frames, module] {
      const auto config =
          synthetic::config(Detector::kWidth, Detector::kHeight, kernel::jungfrau::Output::photons, module);
      for (std::uint64_t f = 0; f < kFrames; ++f) {
        const auto words = synthetic::frame(config, f % 10 == 0 ? 0.002 : 0, module * kFrames + f + 1);
        std::memcpy(frames->writable(module, f).data(), words.data(), words.size() * sizeof(words[0]));
      }
    });
  }
  threads.clear();
  for (std::uint64_t f = 5; f < kFrames; f += 10) frames->set_flags(f, FrameRecord::dark);
  return frames;
}

SourceProcess::SourceProcess(const Detector& detector) {
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  if (pipe(down.data()) != 0 || pipe(up.data()) != 0) throw ResourceError("chain_bench: no pipe");
  process_ = fork();
  if (process_ < 0) throw ResourceError("chain_bench: no process");
  if (process_ == 0) {
    close(down[1]);
    close(up[0]);
    from_source_ = up[1];
    to_source_ = down[0];
    live(detector);
  }
  close(down[0]);
  close(up[1]);
  to_source_ = down[1];
  from_source_ = up[0];
}

SourceProcess::~SourceProcess() {
  close(to_source_);
  close(from_source_);
  waitpid(process_, nullptr, 0);
}

// In the other process the two pipes are used the other way round.
void SourceProcess::live(const Detector& detector) noexcept {
  try {
    emulator::Config config;
    config.dataset = make_frames(detector.modules);
    config.frames = detector.frames;
    config.rate_hz = detector.rate_hz;
    config.link = link::pcie::Options{};
    config.destination_link = "pcie";
    for (std::uint32_t module = 0; module < detector.modules; ++module) {
      Wire wire;
      take(to_source_, &wire, sizeof wire);
      const transfer::Dtp dtp{.id = module,
                              .module = module,
                              .region = {0, 0, Detector::kWidth, Detector::kHeight},
                              .slice = {},
                              .images = detector.frames,
                              .placement = wire.placement,
                              .run = wire.run};
      config.dtps.push_back({dtp, endpoint_of(wire)});
    }
    emulator::Emulator source(config);
    for (const auto& endpoint : source.endpoints()) {
      const Wire wire = wire_of(endpoint);
      give(from_source_, &wire, sizeof wire);
    }
    char go = 0;
    take(to_source_, &go, 1);
    source.start();
    if (!source.wait(3600)) throw ResourceError("the source did not end within an hour");
    const double elapsed = source.status().elapsed_s;
    give(from_source_, &elapsed, sizeof elapsed);
    [[maybe_unused]] const ssize_t end = read(to_source_, &go, 1);  // until the other one has gone
  } catch (const std::exception& error) {
    std::fprintf(stderr, "chain_bench, source: %s\n", error.what());
  }
  _exit(0);
}

std::vector<link::Endpoint> SourceProcess::connect(const std::vector<link::Endpoint>& destinations,
                                                   const std::vector<Placement>& placements, std::uint32_t run) {
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    Wire wire = wire_of(destinations[i]);
    wire.placement = placements[i];
    wire.run = run;
    give(to_source_, &wire, sizeof wire);
  }
  std::vector<link::Endpoint> sources;
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    Wire wire;
    take(from_source_, &wire, sizeof wire);
    sources.push_back(endpoint_of(wire));
  }
  return sources;
}

void SourceProcess::start() { give(to_source_, "g", 1); }

double SourceProcess::wait() {
  double elapsed = 0;
  take(from_source_, &elapsed, sizeof elapsed);
  return elapsed;
}

}  // namespace rashpa::bench
