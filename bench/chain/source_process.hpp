// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An emulated JUNGFRAU in a process of its own, for benchmarks of the whole chain.
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/dataset/memory_dataset.hpp"
#include "rashpa/link/roce/options.hpp"

namespace rashpa::bench {

/// What is played: modules of 1024 × 512 pixels, one above the other, each a DTP of its own.
struct Detector {
  static constexpr std::uint32_t kWidth = 1024;
  static constexpr std::uint32_t kHeight = 512;
  std::uint32_t modules = 8;
  std::uint64_t frames = 0;
  double rate_hz = 0;  ///< 0: as fast as credits come
};

/// Synthetic frames, made by all processors: one in ten has spots, one in ten is dark.
std::shared_ptr<dataset::MemoryDataset> make_frames(std::uint32_t modules);

/// The process that plays. It is made before threads and devices are, and waits to be told where to write.
class SourceProcess {
 public:
  /// Throws ResourceError.
  explicit SourceProcess(const Detector& detector);
  ~SourceProcess();
  SourceProcess(const SourceProcess&) = delete;
  SourceProcess& operator=(const SourceProcess&) = delete;

  /// Over `link`; one destination and placement per module. Returns when the source is ready, with its endpoints.
  std::vector<link::Endpoint> connect(const std::vector<link::Endpoint>& destinations,
                                      const std::vector<Placement>& placements, std::uint32_t run);
  void start();
  /// Until everything has been sent; how long that took, in seconds. Throws ResourceError when the process died.
  double wait();

 private:
  [[noreturn]] void live(const Detector& detector) noexcept;
  int to_source_ = -1;
  int from_source_ = -1;
  pid_t process_ = -1;
};

}  // namespace rashpa::bench
