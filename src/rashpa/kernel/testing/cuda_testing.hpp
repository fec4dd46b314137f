// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tests of a kernel's step on CUDA: the step alone on the current device, from images to all results, compared with
/// unit cpu.
#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::cuda {

/// Uploads the limits of a step for DeviceStack::limits; empty where it has none.
inline DeviceArray<std::byte> limits_on_device(const Step& step, const Setup& setup) {
  const std::optional<LimitBytes> limits = step.limits(setup);
  return limits ? DeviceArray<std::byte>(*limits) : DeviceArray<std::byte>(0);
}

/// Returns the device's results in the form of opencl::on_cpu(), without the second image.
inline opencl::Everything on_device(const Step& step, const opencl::Case& given, DevicePass& pass) {
  const opencl::testing_detail::Sizes sizes(step, given);
  const std::size_t count = given.images.size();
  const std::size_t bytes = given.shape.pixels() * pixel_bytes(given.format.type);
  constexpr std::size_t kAlignment = 16, kFirstColumn = 2;
  const std::size_t columns = kFirstColumn + sizes.columns + 1;
  DeviceStack stack{};
  stack.in_stride = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  stack.out_stride = (sizes.made.pixels() + 63) / 64 * 64 * pixel_bytes(sizes.out.type);
  std::vector<std::byte> all(count * stack.in_stride, std::byte{0xEE});
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(all.data() + i * stack.in_stride, given.images[i].data(), bytes);
    StackImage image{};
    image.raw = all.data() + i * stack.in_stride;
    if (!given.sums.empty()) image.sums = given.sums[i];
    if (!given.cells.empty()) image.flags = flags_of_cell(given.cells[i]);
    if (auto* const preparing = able<Preparing>(pass)) preparing->prepare(static_cast<std::uint32_t>(i), image);
  }
  std::vector<std::uint8_t> wanted(count, 1);
  if (count > 1) wanted[1] = 0;
  const DeviceArray<std::byte> in(all);
  const DeviceArray<std::byte> out(sizes.makes_pixels ? count * stack.out_stride : 0);
  const DeviceArray<std::uint8_t> work(wanted);
  const DeviceArray<Scalar> scalars(count * columns);
  const DeviceArray<DeviceFinding> findings(count);
  stack.in = in.data();
  stack.out = out.data();
  stack.work = work.data();
  stack.scalars = scalars.data() + kFirstColumn;
  stack.scalars_stride = columns;
  stack.findings = findings.data();
  const DeviceArray<std::byte> limits = limits_on_device(step, opencl::testing_detail::setup_of(given, sizes));
  stack.limits = limits.data();
  stack.count = static_cast<std::uint32_t>(count);
  stack.step = 5;
  memory::cuda::check(static_cast<cudaError_t>(pass.enqueue(stack, 0, nullptr)), "enqueue");
  memory::cuda::check(cudaDeviceSynchronize(), "the step");
  const auto numbers = scalars.download();
  const auto found = findings.download();
  const auto left = work.download();
  const auto pixels = out.download();
  opencl::Everything result{.images = std::vector<opencl::Everything::Image>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    opencl::Everything::Image& image = result.images[i];
    image.verdict = found[i].verdict;
    image.failed = found[i].failed != 0;
    EXPECT_TRUE(found[i].failed == 0 || found[i].failed == stack.step + 1);
    EXPECT_TRUE(found[i].verdict == 0 || found[i].step == stack.step);
    EXPECT_EQ(left[i] != 0, wanted[i] != 0 && found[i].verdict == 0 && found[i].failed == 0);
    const Scalar* const of_image = numbers.data() + i * columns;
    image.scalars.assign(of_image + kFirstColumn, of_image + columns - 1);
    for (const std::size_t others : {std::size_t{0}, std::size_t{1}, columns - 1}) {
      EXPECT_EQ(of_image[others], Scalar()) << "column " << others << " belongs to another step";
    }
    const auto* const made = pixels.data() + i * stack.out_stride;
    if (sizes.makes_pixels) image.pixels.assign(made, made + sizes.bytes);
    if (wanted[i] == 0 || image.failed) continue;
    if (step.declaration().made(Port::Kind::list) != nullptr) {
      const HostList list = pass.list(static_cast<std::uint32_t>(i));
      const auto* value = static_cast<const std::byte*>(list.value);
      image.index.assign(list.index, list.index + found[i].entries);
      image.value.assign(value, value + std::size_t{found[i].entries} * pixel_bytes(sizes.out.type));
    }
    const TableView table = pass.table(static_cast<std::uint32_t>(i));
    if (sizes.table_columns != 0) image.table.assign(table.values, table.values + table.rows * sizes.table_columns);
  }
  return result;
}

/// Expects the device's results to equal those of unit cpu. It runs twice, because the next stack starts from the state
/// that the first has left.
inline void expect_as_cpu(const Step& step, const opencl::Case& given) {
  const opencl::testing_detail::Sizes sizes(step, given);
  const auto pass = step.on_cuda(opencl::testing_detail::setup_of(given, sizes));
  ASSERT_NE(pass, nullptr);
  const opencl::Everything truth = opencl::on_cpu(step, given);
  for (int round = 0; round < 2; ++round) {
    const opencl::Everything found = on_device(step, given, *pass);
    for (std::size_t i = 0; i < truth.images.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "image " << i << ", round " << round);
      opencl::Everything::Image wanted = truth.images[i];
      if (i == 1) {
        wanted = {};
        wanted.scalars.resize(sizes.columns);
        wanted.pixels.resize(sizes.bytes);
      }
      EXPECT_EQ(found.images[i].verdict, wanted.verdict);
      EXPECT_EQ(found.images[i].failed, wanted.failed);
      EXPECT_TRUE(found.images[i].pixels == wanted.pixels);
      EXPECT_TRUE(found.images[i].index == wanted.index);
      EXPECT_TRUE(found.images[i].value == wanted.value);
      if (const Port* port = step.declaration().made(Port::Kind::scalars)) {
        if (wanted.failed && sizes.table_columns != 0) {  // sums over rows are not known
          EXPECT_EQ(found.images[i].scalars.at(0), wanted.scalars.at(0));
        } else {
          opencl::expect_rows(found.images[i].scalars, wanted.scalars, port->columns, 0);
        }
      }
      if (const Port* port = step.declaration().made(Port::Kind::table)) {
        opencl::expect_rows(found.images[i].table, wanted.table, port->columns, 0);
      }
    }
  }
}

}  // namespace rashpa::kernel::cuda
