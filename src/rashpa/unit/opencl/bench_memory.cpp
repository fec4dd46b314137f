// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/bench_memory.hpp"

#include <cstring>

namespace rashpa::unit::opencl {

using memory::opencl::api;
using memory::opencl::HostMemory;

BenchMemory::BenchMemory(const memory::opencl::Device& device, const Steps& steps, const Places& places,
                         std::uint32_t benches, cl_command_queue queue)
    : places_(places), benches_(benches) {
  const std::size_t raw_bytes = places.in_place ? 0 : places.stack * places.image_stride;
  const std::size_t marks_bytes = steps.marks ? places.stack * places.mark_words * sizeof(std::uint64_t) : 0;
  const std::size_t books_bytes = places.stack * sizeof(ImageBooks);
  for (Bench& bench : benches_) {
    bench.raw = device.memory(raw_bytes, "raw images");
    bench.marks = device.memory(marks_bytes, "marks");
    bench.books = device.memory(books_bytes, "books of images");
    bench.host_raw = HostMemory(device, raw_bytes, "raw images on their way");
    bench.host_books = HostMemory(device, books_bytes, "books of images on their way");
    bench.work.resize(places.stack);
    for (std::size_t step = 0; step < places.made_strides.size(); ++step) {
      const std::size_t bytes = places.made_in_slot(step) ? 0 : places.stack * places.made_strides[step];
      bench.made.push_back(device.memory(bytes, "images between kernels"));
    }
    if (marks_bytes == 0) continue;
    constexpr cl_uchar kNone = 0;
    memory::opencl::check(
        api().fill_buffer(queue, bench.marks.get(), &kNone, sizeof(kNone), 0, marks_bytes, 0, nullptr, nullptr),
        "clear marks");
  }
}

void BenchMemory::begin(std::uint32_t bench, std::span<const std::uint8_t> work) noexcept {
  const std::span<ImageBooks> books = this->books(bench);
  for (std::size_t i = 0; i < books.size(); ++i) {
    const std::uint8_t at_work = i < work.size() ? work[i] : std::uint8_t{0};
    books[i] = ImageBooks{};
    books[i].work = benches_[bench].work[i] = at_work;
  }
}

cl_int BenchMemory::bring_in(std::uint32_t bench, std::span<const StackImage> images, cl_command_queue queue) noexcept {
  Bench& own = benches_[bench];
  cl_int code = CL_SUCCESS;
  for (std::size_t i = 0; i < own.work.size() && code == CL_SUCCESS; ++i) {
    if (own.work[i] == 0) continue;
    const std::size_t offset = i * places_.image_stride;
    std::byte* const staged = own.host_raw.as<std::byte>() + offset;
    std::memcpy(staged, images[i].raw, places_.image_bytes);
    code = api().write_buffer(queue, own.raw.get(), CL_FALSE, offset, places_.image_bytes, staged, 0, nullptr, nullptr);
  }
  return code;
}

cl_int BenchMemory::send_books(std::uint32_t bench, cl_command_queue queue, cl_event* done) noexcept {
  const std::span<ImageBooks> books = this->books(bench);
  return api().write_buffer(queue, benches_[bench].books.get(), CL_FALSE, 0, books.size_bytes(), books.data(), 0,
                            nullptr, done);
}

cl_int BenchMemory::fetch_books(std::uint32_t bench, cl_command_queue queue, cl_event* done) noexcept {
  const std::span<ImageBooks> books = this->books(bench);
  return api().read_buffer(queue, benches_[bench].books.get(), CL_FALSE, 0, books.size_bytes(), books.data(), 0,
                           nullptr, done);
}

}  // namespace rashpa::unit::opencl
