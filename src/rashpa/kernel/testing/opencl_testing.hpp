// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tests of a kernel's step on OpenCL: the step alone on the first device of this machine, from images to all results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/by_cell.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::opencl {

/// Returns a device for tests; null where there is none, with the reason in `why`.
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

/// A step's results for a stack.
struct StepResult {
  std::vector<ImageBooks> books;
  std::vector<std::vector<std::byte>> pixels;  ///< without the bytes behind an image
  std::vector<std::vector<std::uint64_t>> marks;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<std::vector<std::byte>> value;
};

/// Runs the step on a stack of images of `setup.in`. `made` is the bytes of an output pixel; 0: it makes none. Pixels
/// behind the end of each image start as `behind`. `marks` has the marks of each image when the step reads them.
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

/// Returns an image of small counts with some large, masked and special values.
template <typename T>
std::vector<std::byte> random_image(std::mt19937& random, std::size_t pixels) {
  std::vector<T> image(pixels);
  for (T& pixel : image) {
    const auto dice = random();
    pixel = static_cast<T>(dice % 4 == 0 ? dice >> 8U : dice % 3);
    if (dice % 50 == 3) pixel = std::numeric_limits<T>::max();
    if (dice % 50 == 7) pixel = std::numeric_limits<T>::min();
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
  return {bytes, bytes + pixels * sizeof(T)};
}

/// Returns formats of all types: as detectors deliver them, with and without special values; those of which all numbers
/// count; and photons of jungfrau.
inline std::vector<PixelFormat> photon_formats() {
  std::vector<PixelFormat> all{{PixelType::i16, Masked::minimum}};
  for (const PixelType type : photon_types()) {
    all.push_back(delivered(type));
    all.push_back(delivered(type, 60));
    all.push_back(plain(type));
  }
  return all;
}

/// Returns `count` images of any type.
inline std::vector<std::vector<std::byte>> random_images(std::mt19937& random, PixelFormat format, std::size_t pixels,
                                                         std::size_t count) {
  std::vector<std::vector<std::byte>> images;
  for (std::size_t i = 0; i < count; ++i) {
    if (format.type != PixelType::f32) {
      images.push_back(with_type(format.type, [&]<typename T>(T) { return random_image<T>(random, pixels); }));
      continue;
    }
    std::vector<float> image(pixels);
    for (float& pixel : image) {
      pixel = static_cast<float>(random() % 100000) * 0.01F - 20;
      if (random() % 50 == 3) pixel = std::numeric_limits<float>::quiet_NaN();
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(image.data());
    images.emplace_back(bytes, bytes + pixels * sizeof(float));
  }
  return images;
}

/// All results of a step for some images, on any unit.
struct Everything {
  struct Image {
    std::vector<Scalar> scalars;
    std::uint8_t verdict = 0;
    bool failed = false;
    std::vector<std::byte> pixels;
    std::vector<std::uint32_t> index;
    std::vector<std::byte> value;
    std::vector<Scalar> table;
    std::vector<double> profile;
  };
  std::vector<Image> images;
  std::vector<std::vector<std::byte>> accumulated{};  ///< by quantity
};

/// The input of a step.
struct Case {
  Shape shape{};
  PixelFormat format{};
  std::vector<std::vector<std::byte>> images;
  std::vector<std::vector<PayloadSum>> sums{};  ///< checksums of each image; empty: sources send none
  bool delivered = true;                        ///< true: the host has the images, too
  std::vector<std::uint8_t> cells{};            ///< storage cell of each image; empty: all 0
};

namespace testing_detail {

struct Sizes {
  explicit Sizes(const Step& step, const Case& given) {
    const Declaration& declaration = step.declaration();
    if (const Port* scalars = declaration.made(Port::Kind::scalars)) columns = scalars->columns.size();
    if (const Port* table = declaration.made(Port::Kind::table)) table_columns = table->columns.size();
    if (const Port* profile = declaration.made(Port::Kind::profile)) {
      bins = profile->columns.size();
      for (const Axis& axis : step.axes()) bins *= axis.values.size();
    }
    out = step.fit(given.shape, given.format);
    if (const auto reshape = step.reshape(given.shape))
      made = reshape->shape();
    else
      made = given.shape;
    makes_pixels = declaration.made(Port::Kind::pixels) != nullptr;
    bytes = makes_pixels ? made.pixels() * pixel_bytes(out.type) : 0;
    accumulation = step.accumulation(given.shape, given.format);
  }
  std::size_t columns = 0, table_columns = 0, bins = 0, bytes = 0;
  PixelFormat out{};
  Shape made{};
  bool makes_pixels = false;
  std::optional<Accumulation> accumulation{};
};

inline void keep(const Finding& finding, const Sizes& sizes, std::size_t value_bytes, Everything::Image& image) {
  image.verdict = finding.verdict;
  image.failed = finding.failed;
  if (finding.failed) return;
  const SparseView& list = finding.list;
  image.index.assign(list.index, list.index + list.count);
  const auto* value = static_cast<const std::byte*>(list.value);
  image.value.assign(value, value + list.count * value_bytes);
  image.table.assign(finding.table.values, finding.table.values + finding.table.rows * sizes.table_columns);
  if (finding.profile.values != nullptr) {
    image.profile.assign(finding.profile.values, finding.profile.values + sizes.bins);
  }
}

/// Memory for the quantities of an accumulation.
struct Quantities {
  explicit Quantities(const Sizes& sizes, Everything& all) {
    if (!sizes.accumulation) return;
    for (const Quantity& one : sizes.accumulation->quantities) {
      all.accumulated.emplace_back(sizes.accumulation->elements() * bytes_of(one.type));
    }
    for (std::size_t q = 0; q < all.accumulated.size(); ++q) to[q] = all.accumulated[q].data();
  }
  AccumulatedArrays to{};
};

inline Setup setup_of(const Case& given, const Sizes& sizes) {
  const auto count = static_cast<std::uint32_t>(given.images.size());
  return {.shape = given.shape, .made = sizes.made, .in = given.format, .stack = count, .places = count};
}

}  // namespace testing_detail

/// Returns the results of unit cpu.
inline Everything on_cpu(const Step& step, const Case& given) {
  const testing_detail::Sizes sizes(step, given);
  const std::size_t count = given.images.size();
  const auto pass = step.on_cpu(testing_detail::setup_of(given, sizes));
  Everything all{.images = std::vector<Everything::Image>(count)};
  std::vector<const std::byte*> in;
  std::vector<memory::Buffer> made;
  std::vector<std::byte*> out;
  std::vector<std::uint32_t> place;
  std::vector<std::span<const PayloadSum>> sums;
  const std::vector<std::uint8_t> dark(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    in.push_back(given.images[i].data());
    made.emplace_back(sizes.bytes + 64, memory::MemoryKind::pageable);
    out.push_back(made.back().data());
    place.push_back(static_cast<std::uint32_t>(i));
    sums.push_back(given.sums.empty() ? std::span<const PayloadSum>() : std::span<const PayloadSum>(given.sums[i]));
  }
  if (auto* const by_cell = able<ByCell>(*pass); by_cell != nullptr && !given.cells.empty()) {
    by_cell->take_cells(given.cells);
  }
  pass->begin(count);
  const std::size_t pixels = given.shape.pixels();
  if (pass->grain() == CpuPass::Grain::block) {
    const Items items{0, count, in.data(), out.data(), nullptr, place.data(), sums.data(), dark.data()};
    for (std::size_t first = 0; first < pixels; first += 4096) {
      pass->run(0, items, first, std::min(first + 4096, pixels));
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      pass->run(0, {i, 1, &in[i], &out[i], nullptr, &place[i], &sums[i], &dark[i]}, 0, pixels);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    Everything::Image& image = all.images[i];
    image.scalars.resize(sizes.columns);
    Finding finding{.scalars = image.scalars.data()};
    pass->finish(i, finding);
    testing_detail::keep(finding, sizes, pixel_bytes(given.format.type), image);
    image.pixels.assign(made[i].data(), made[i].data() + sizes.bytes);
  }
  const testing_detail::Quantities to(sizes, all);
  if (sizes.accumulation) pass->conclude(0, to.to, 0, sizes.accumulation->elements());
  return all;
}

/// Returns the results of the device.
inline Everything on_device(const memory::opencl::Device& device, const Step& step, const Case& given) {
  using memory::opencl::api;
  using memory::opencl::check;
  const testing_detail::Sizes sizes(step, given);
  const std::size_t count = given.images.size();
  const auto pass = step.on_opencl(testing_detail::setup_of(given, sizes), device);
  Everything all{.images = std::vector<Everything::Image>(count)};
  const std::size_t bytes = given.shape.pixels() * pixel_bytes(given.format.type);
  DeviceStack stack{};
  stack.in_stride = static_cast<std::uint32_t>((bytes + 15) / 16 * 16);
  stack.out_stride = static_cast<std::uint32_t>((sizes.made.pixels() + 63) / 64 * 64 * pixel_bytes(sizes.out.type));
  stack.count = static_cast<std::uint32_t>(count);
  stack.delivered = given.delivered;
  std::vector<std::byte> in(count * stack.in_stride, std::byte{0xEE});
  std::vector<ImageBooks> books(count);
  std::vector<StackImage> images(count);
  const std::vector<std::uint8_t> work(count, 1);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(in.data() + i * stack.in_stride, given.images[i].data(), bytes);
    books[i].work = 1;
    images[i].raw = in.data() + i * stack.in_stride;
    if (!given.sums.empty()) images[i].sums = given.sums[i];
  }
  const auto in_memory = device.memory_of(in, "images");
  if (!given.delivered) std::fill(in.begin(), in.end(), std::byte{0xEE});
  const auto out_memory = device.memory(sizes.makes_pixels ? count * stack.out_stride : 0, "results");
  const auto books_memory = device.memory_of(books, "books");
  stack.in = in_memory.get();
  stack.out = out_memory.get();
  stack.books = books_memory.get();
  stack.images = images.data();
  stack.work = work.data();
  const auto queue = device.queue();
  check(pass->enqueue(stack, 0, queue.get()), "the step");
  check(pass->fetch(stack, 0, queue.get()), "what it found");
  check(api().read_buffer(queue.get(), stack.books, CL_TRUE, 0, count * sizeof(ImageBooks), books.data(), 0, nullptr,
                          nullptr),
        "books");
  for (std::size_t i = 0; i < count; ++i) {
    Everything::Image& image = all.images[i];
    image.scalars.assign(books[i].scalars, books[i].scalars + sizes.columns);
    Finding finding{.scalars = image.scalars.data(), .before = books[i].scalars};
    const auto number = static_cast<std::uint32_t>(i);
    if (pass->where() != DevicePass::Where::device) {
      pass->settle({0, number, number, &images[i], given.delivered}, finding);
    } else {
      finding.verdict = books[i].verdict;
    }
    testing_detail::keep(finding, sizes, pixel_bytes(given.format.type), image);
    image.pixels.resize(sizes.bytes);
    if (!sizes.makes_pixels) continue;
    check(api().read_buffer(queue.get(), stack.out, CL_TRUE, i * stack.out_stride, sizes.bytes, image.pixels.data(), 0,
                            nullptr, nullptr),
          "pixels");
  }
  const testing_detail::Quantities to(sizes, all);
  for (std::uint32_t i = 0; i < count && sizes.accumulation; ++i) {
    auto* const adding = able<opencl::HostAdding>(*pass);
    if (adding != nullptr && all.images[i].verdict == 0) adding->add({0, i, i, &images[i], given.delivered});
  }
  if (sizes.accumulation) {
    if (auto* const adding = able<opencl::HostAdding>(*pass)) adding->write(to.to);
    if (auto* const adding = able<opencl::DeviceAdding>(*pass)) {
      check(adding->conclude(0, queue.get()), "what was added up");
      check(api().finish(queue.get()), "what was added up");
      adding->write(0, to.to);
    }
  }
  return all;
}

/// Returns true when two real numbers differ by `relative` at most.
inline bool alike(double a, double b, double relative) noexcept {
  return a == b || (a != a && b != b) || std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

inline void expect_rows(const std::vector<Scalar>& found, const std::vector<Scalar>& truth,
                        const std::vector<Column>& columns, double relative) {
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    const Column& column = columns[at % columns.size()];
    const bool same =
        column.type == Column::Type::f64 ? alike(found[at].real(), truth[at].real(), relative) : found[at] == truth[at];
    EXPECT_TRUE(same) << column.name << " of row " << at / columns.size() << ": " << found[at].real() << " ("
                      << found[at].count() << "), not " << truth[at].real() << " (" << truth[at].count() << ")";
  }
}

/// Expects identical integers, and real numbers of columns, tables and profiles that differ by at most `relative`.
inline void expect_alike(const Everything& found, const Everything& truth, const Step& step, const Case& given,
                         double relative) {
  const Declaration& declaration = step.declaration();
  for (std::size_t i = 0; i < truth.images.size(); ++i) {
    SCOPED_TRACE(testing::Message() << "image " << i);
    const Everything::Image& one = found.images[i];
    const Everything::Image& wanted = truth.images[i];
    EXPECT_EQ(one.verdict, wanted.verdict);
    EXPECT_EQ(one.failed, wanted.failed);
    EXPECT_TRUE(one.pixels == wanted.pixels);
    EXPECT_TRUE(one.index == wanted.index) << one.index.size() << " entries, not " << wanted.index.size();
    EXPECT_TRUE(one.value == wanted.value);
    if (const Port* port = declaration.made(Port::Kind::scalars)) {
      expect_rows(one.scalars, wanted.scalars, port->columns, relative);
    }
    if (const Port* port = declaration.made(Port::Kind::table)) {
      expect_rows(one.table, wanted.table, port->columns, relative);
    }
    ASSERT_EQ(one.profile.size(), wanted.profile.size());
    for (std::size_t at = 0; at < one.profile.size(); ++at) {
      EXPECT_TRUE(alike(one.profile[at], wanted.profile[at], relative))
          << "profile[" << at << "] " << one.profile[at] << ", not " << wanted.profile[at];
    }
  }
  ASSERT_EQ(found.accumulated.size(), truth.accumulated.size());
  const auto accumulation = step.accumulation(given.shape, given.format);
  for (std::size_t q = 0; q < truth.accumulated.size(); ++q) {
    const Quantity& quantity = accumulation->quantities[q];
    if (quantity.type != Quantity::Type::f64) {
      EXPECT_TRUE(found.accumulated[q] == truth.accumulated[q]) << quantity.name;
      continue;
    }
    for (std::size_t at = 0; at < accumulation->elements(); ++at) {
      const double one = reinterpret_cast<const double*>(found.accumulated[q].data())[at];
      const double wanted = reinterpret_cast<const double*>(truth.accumulated[q].data())[at];
      ASSERT_TRUE(alike(one, wanted, relative)) << quantity.name << "[" << at << "] " << one << ", not " << wanted;
    }
  }
}

/// Expects the device's results to equal those of unit cpu within `relative`.
inline void expect_as_cpu(const memory::opencl::Device& device, const Step& step, const Case& given,
                          double relative = 0) {
  expect_alike(on_device(device, step, given), on_cpu(step, given), step, given, relative);
}

/// A test on a device of this machine. It is skipped, with the reason, where there is none.
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
