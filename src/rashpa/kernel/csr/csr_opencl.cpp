// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/csr/csr_opencl.hpp"

#include <fmt/format.h>

#include <vector>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::csr {
extern const std::string_view csr_cl;
}

namespace rashpa::kernel::csr::opencl {

namespace {

using memory::opencl::Device;

constexpr std::uint32_t kWordPixels = 64;
constexpr std::uint32_t kWordsOfCore = 128;  // that one work item has on a processor core

class Pass final : public kernel::opencl::DevicePass {
 public:
  Pass(const Config& config, const Setup& setup, const Device& device)
      : marked_(setup.marked),
        pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
        words_(kernel::opencl::tiles_of(pixels_, kWordPixels)),
        group_(device.group()),
        words_of_item_(group_ == 1 ? kWordsOfCore : 1),
        tiles_(kernel::opencl::tiles_of(words_, group_ * words_of_item_)),
        capacity_(static_cast<std::uint32_t>(capacity_of(config, setup.shape.pixels()))),
        pixel_bytes_(static_cast<std::uint32_t>(pixel_bytes(setup.in.type))),
        program_(
            kernel::opencl::build(device, "csr", {kernel::opencl::photon_source(), csr_cl},
                                  kernel::opencl::photon_macros(setup.in, from_threshold(setup.in, config.threshold)) +
                                      fmt::format(" -D WORDS={}", words_of_item_))),
        mark_(program_, "mark_tiles"),
        count_(program_, "count_tiles"),
        place_(program_, "place_tiles"),
        write_(program_, "write_tiles") {
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      const std::size_t marks = marked_ ? 0 : std::size_t{setup.stack} * words_ * sizeof(cl_ulong);
      const std::size_t entries = std::size_t{setup.stack} * capacity_;
      Bench made;
      made.marks = device.memory(marks, "marks of csr");
      made.tiles = device.memory(std::size_t{setup.stack} * tiles_ * sizeof(cl_uint), "counts of csr's tiles");
      made.index = device.memory(entries * sizeof(cl_uint), "lists of csr");
      made.value = device.memory(entries * pixel_bytes_, "values of csr");
      benches_.push_back(std::move(made));
    }
  }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    const Bench& own = benches_[bench];
    const cl_mem marks = marked_ ? stack.marks : own.marks.get();
    const cl_mem tiles = own.tiles.get();
    const cl_uint stride = stack.in_stride / pixel_bytes_;
    cl_int code = marked_ ? count_.run(queue, tiles_, stack.count, group_, marks, words_, stack.books, tiles)
                          : mark_.run(queue, tiles_, stack.count, group_, stack.in, stride, pixels_, stack.books, marks,
                                      words_, tiles);
    if (code == CL_SUCCESS) code = place_.run(queue, stack.count, 1, group_, stack.books, tiles, tiles_, capacity_);
    if (code != CL_SUCCESS) return code;
    return write_.run(queue, tiles_, stack.count, group_, stack.in, stride, marks, words_, stack.books, tiles,
                      own.index.get(), own.value.get(), capacity_);
  }
  [[nodiscard]] kernel::opencl::DeviceLists lists(std::uint32_t bench) const noexcept override {
    return {benches_[bench].index.get(), benches_[bench].value.get(), capacity_};
  }

 private:
  struct Bench {
    memory::opencl::Memory marks, tiles, index, value;
  };
  bool marked_;
  cl_uint pixels_;
  cl_uint words_;  // of marks, an image
  std::uint32_t group_;
  std::uint32_t words_of_item_;
  cl_uint tiles_;
  cl_uint capacity_;
  std::uint32_t pixel_bytes_;
  memory::opencl::Program program_;
  memory::opencl::Kernel mark_, count_, place_, write_;
  std::vector<Bench> benches_;
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup, const Device& device) {
  return std::make_unique<Pass>(config, setup, device);
}

}  // namespace rashpa::kernel::csr::opencl
