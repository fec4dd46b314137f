// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For tests of kernels on OpenCL: one step on the first device of this machine, alone, with images in and everything
/// that it says out.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/opencl_pass.hpp"

namespace rashpa::kernel::opencl {

/// Null, and `why` says why, where there is none.
inline const memory::opencl::Device* test_device(std::string& why) {
  static std::string reason;
  static const std::unique_ptr<memory::opencl::Device> device = [] {
    try {
      if (memory::opencl::devices().empty()) reason = "no OpenCL device";
      return reason.empty() ? std::make_unique<memory::opencl::Device>(memory::opencl::devices()[0]) : nullptr;
    } catch (const ResourceError& error) {
      reason = error.what();
      return std::unique_ptr<memory::opencl::Device>();
    }
  }();
  why = reason;
  return device.get();
}

/// What a step has left of a stack.
struct StepResult {
  std::vector<ImageBooks> books;
  std::vector<std::vector<std::byte>> pixels;  ///< without what lies behind an image
  std::vector<std::vector<std::uint64_t>> marks;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<std::vector<std::byte>> value;
};

/// A stack of images of `setup.in` through the step. `made`: bytes of a pixel that it makes, 0: it makes none. Pixels
/// behind the end of each image are `behind` before. `marks`: of each image, when the step reads them.
inline StepResult run_step(const memory::opencl::Device& device, const Step& step, Setup setup,
                           const std::vector<std::vector<std::byte>>& images, std::size_t made,
                           const std::vector<std::vector<std::uint64_t>>& marks = {}) {
  using memory::opencl::api;
  using memory::opencl::check;
  setup.stack = static_cast<std::uint32_t>(images.size());
  setup.places = setup.stack;
  setup.benches = 1;
  const std::size_t pixels = setup.shape.pixels();
  const std::size_t bytes = pixels * pixel_bytes(setup.in.type);
  const std::size_t padded = (pixels + 63) / 64 * 64;
  DeviceStack stack{};
  stack.in_stride = static_cast<std::uint32_t>((bytes + 15) / 16 * 16);
  stack.out_stride = static_cast<std::uint32_t>(padded * made);
  stack.marks_stride = static_cast<std::uint32_t>(padded / 64);
  stack.count = setup.stack;
  std::vector<std::byte> in(stack.count * std::size_t{stack.in_stride}, std::byte{0xEE});
  std::vector<std::uint64_t> all_marks(stack.count * std::size_t{stack.marks_stride}, 0);
  std::vector<ImageBooks> books(stack.count);
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::memcpy(in.data() + i * stack.in_stride, images[i].data(), bytes);
    if (!marks.empty()) std::copy(marks[i].begin(), marks[i].end(), all_marks.begin() + i * stack.marks_stride);
    books[i].work = 1;
  }
  const auto in_memory = device.memory_of(in, "images");
  const auto out_memory = device.memory(stack.count * std::size_t{stack.out_stride}, "results");
  const auto marks_memory = device.memory_of(all_marks, "marks");
  const auto books_memory = device.memory_of(books, "books");
  stack.in = in_memory.get();
  stack.out = out_memory.get();
  stack.marks = marks_memory.get();
  stack.books = books_memory.get();
  const auto pass = step.on_opencl(setup, device);
  const auto queue = device.queue();
  check(pass->enqueue(stack, 0, queue.get()), "the step");
  const auto read = [&](cl_mem from, std::size_t offset, std::size_t size, void* to) {
    if (size == 0) return;
    check(api().read_buffer(queue.get(), from, CL_TRUE, offset, size, to, 0, nullptr, nullptr), "read");
  };
  StepResult result;
  result.books.resize(stack.count);
  read(stack.books, 0, stack.count * sizeof(ImageBooks), result.books.data());
  const DeviceLists lists = pass->lists(0);
  for (std::size_t i = 0; i < images.size(); ++i) {
    result.pixels.emplace_back(pixels * made);
    read(stack.out, i * stack.out_stride, pixels * made, result.pixels.back().data());
    result.marks.emplace_back(stack.marks_stride);
    read(stack.marks, i * stack.marks_stride * 8, std::size_t{stack.marks_stride} * 8, result.marks.back().data());
    const std::size_t entries = result.books[i].entries == kListOverflow ? 0 : result.books[i].entries;
    result.index.emplace_back(entries);
    result.value.emplace_back(entries * pixel_bytes(setup.in.type));
    read(lists.index, i * lists.stride * 4, entries * 4, result.index.back().data());
    read(lists.value, i * lists.stride * pixel_bytes(setup.in.type), result.value.back().size(),
         result.value.back().data());
  }
  return result;
}

/// A test of a machine's device: skipped, with the reason, where there is none.
class OpenclTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    device = test_device(why);
    if (device == nullptr) GTEST_SKIP() << "left out: " << why;
  }
  const memory::opencl::Device* device = nullptr;
};

}  // namespace rashpa::kernel::opencl
