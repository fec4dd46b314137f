// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The background of images by ring on OpenCL devices, and the marks of pixels above it, for peak finders. The host
/// makes peaks of marked pixels by the functions of unit cpu.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/rings/ring_limits.hpp"
#include "rashpa/kernel/rings/rings.hpp"

namespace rashpa::kernel::opencl {

/// The device's part of a pass; derived classes do the host's part. The constructor takes all memory. One thread.
class MarkedRings : public DevicePass {
 public:
  /// Takes the memory. Throws ConfigError when the device has no double precision.
  MarkedRings(const std::string& kernel, const Rings& rings, const RingMethod& method, const Setup& setup,
              const memory::opencl::Device& device);
  [[nodiscard]] Where where() const noexcept final { return Where::both; }
  cl_int enqueue(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept final;
  /// Enqueues copies of marks and limits to the host, and of the image where the host does not have it.
  cl_int fetch(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept final;

  /// The data of one image on the host.
  struct Seen {
    const std::byte* image = nullptr;
    std::span<const std::uint64_t> marks;  ///< one bit for each pixel, with an extra word behind the last
    std::span<const RingLimit> limits;
  };
  [[nodiscard]] Seen seen(const HostItem& item) const noexcept;

 private:
  RingMethod method_;
  std::uint32_t pixels_;
  std::uint32_t words_;  // from one image's marks to the next's: one more than it has
  std::uint32_t rings_;
  std::uint32_t pixel_bytes_;
  std::uint32_t group_;
  std::uint32_t words_of_item_;
  memory::opencl::Program program_;
  memory::opencl::Kernel limit_, raise_, mark_;
  memory::opencl::Memory order_, firsts_, ring_of_, reaches_;
  std::vector<memory::opencl::Memory> above_;       // by bench, [image][ring]
  Fetched limits_, marks_;                          // [image][ring], [image][word]
  std::vector<memory::opencl::HostMemory> images_;  // by bench, [image]
};

}  // namespace rashpa::kernel::opencl
