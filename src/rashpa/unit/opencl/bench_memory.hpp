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

/// The memory of stacks that a device works on, each at a bench of its own: images that come in (where they are
/// copied), images between steps, marks, and the books of images, with their copy on the host. Runs no kernel and waits
/// for nothing: the order of commands in queues is its caller's. One thread; functions return the first error, a
/// cl_int. Takes all memory in its constructor.
class BenchMemory {
 public:
  /// `places` outlives it. `queue`: marks are cleared in it. Throws ResourceError.
  BenchMemory(const memory::opencl::Device& device, const Steps& steps, const Places& places, std::uint32_t benches,
              cl_command_queue queue);

  /// A stack begins at `bench`: image i is processed when work[i] is not 0, none behind the end of `work`.
  void begin(std::uint32_t bench, std::span<const std::uint8_t> work) noexcept;
  /// The bytes of the images that the device works on, as the host knows them.
  [[nodiscard]] std::span<std::uint8_t> work(std::uint32_t bench) noexcept { return benches_[bench].work; }
  [[nodiscard]] std::span<const std::uint8_t> work(std::uint32_t bench) const noexcept { return benches_[bench].work; }
  /// The books of each image, on the host.
  [[nodiscard]] std::span<ImageBooks> books(std::uint32_t bench) const noexcept {
    return {benches_[bench].host_books.as<ImageBooks>(), places_.stack};
  }

  /// Copies the images that are at work to the device.
  cl_int bring_in(std::uint32_t bench, std::span<const StackImage> images, cl_command_queue queue) noexcept;
  /// Copies the books to the device, and back; `done`: when that is there.
  cl_int send_books(std::uint32_t bench, cl_command_queue queue, cl_event* done) noexcept;
  cl_int fetch_books(std::uint32_t bench, cl_command_queue queue, cl_event* done) noexcept;

  [[nodiscard]] cl_mem device_books(std::uint32_t bench) const noexcept { return benches_[bench].books.get(); }
  /// Returns null where images are worked on in place.
  [[nodiscard]] cl_mem raw(std::uint32_t bench) const noexcept { return benches_[bench].raw.get(); }
  [[nodiscard]] cl_mem marks(std::uint32_t bench) const noexcept { return benches_[bench].marks.get(); }
  /// The images that step `step` makes; null: it makes none, or they lie in the slot.
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
