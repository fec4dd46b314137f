// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/opencl/places.hpp"

namespace rashpa::unit::opencl {

using kernel::opencl::ImageBooks;

/// The memory of stacks on a device, one bench each: input images (where they are copied), images between steps, marks,
/// and the books of images with their host copy. It runs no kernel and never waits: the caller orders the commands in
/// queues. One thread; functions return the first error, a cl_int. The constructor takes all memory.
class BenchMemory {
 public:
  /// Takes the memory. `places` outlives it; marks are cleared in `queue`. Throws ResourceError.
  BenchMemory(const memory::opencl::Device& device, const Steps& steps, const Places& places, std::uint32_t benches,
              cl_command_queue queue);

  /// Begins a stack at `bench`: image i is processed when work[i] is not 0, and none behind the end of `work`.
  void begin(std::uint32_t bench, std::span<const std::uint8_t> work) noexcept;
  /// Returns the bytes that mark the images being processed, as far as the host knows.
  [[nodiscard]] std::span<std::uint8_t> work(std::uint32_t bench) noexcept { return benches_[bench].work; }
  [[nodiscard]] std::span<const std::uint8_t> work(std::uint32_t bench) const noexcept { return benches_[bench].work; }
  /// Returns the host's books of each image.
  [[nodiscard]] std::span<ImageBooks> books(std::uint32_t bench) const noexcept {
    return {benches_[bench].host_books.as<ImageBooks>(), places_.stack};
  }

  /// Enqueues copies of the images to be processed to the device.
  cl_int bring_in(std::uint32_t bench, std::span<const StackImage> images, cl_command_queue queue) noexcept;
  /// Enqueues the copy of the books to the device; fetch_books() enqueues the copy back. `done` is the event that
  /// completes with the copy.
  cl_int send_books(std::uint32_t bench, cl_command_queue queue, cl_event* done) noexcept;
  cl_int fetch_books(std::uint32_t bench, cl_command_queue queue, cl_event* done) noexcept;

  [[nodiscard]] cl_mem device_books(std::uint32_t bench) const noexcept { return benches_[bench].books.get(); }
  /// Returns the copied raw images; null where images are used in place.
  [[nodiscard]] cl_mem raw(std::uint32_t bench) const noexcept { return benches_[bench].raw.get(); }
  [[nodiscard]] cl_mem marks(std::uint32_t bench) const noexcept { return benches_[bench].marks.get(); }
  /// Returns the images that step `step` makes; null: it makes none, or they lie in the slot.
  [[nodiscard]] cl_mem made(std::uint32_t bench, std::size_t step) const noexcept {
    return benches_[bench].made[step].get();
  }

 private:
  struct Bench {
    memory::opencl::Memory raw;
    std::vector<memory::opencl::Memory> made;
    memory::opencl::Memory marks;
    memory::opencl::Memory books;
    memory::opencl::HostMemory host_raw, host_books;
    std::vector<std::uint8_t> work;
  };

  const Places& places_;
  std::vector<Bench> benches_;
};

}  // namespace rashpa::unit::opencl
