// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cuda/nccl.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/libraries/shared_library.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::memory::cuda {

namespace {

constexpr std::int64_t kLongestNs = 10'000'000'000;
constexpr std::int64_t kLookNs = 5'000'000;  // the communicators are asked so often
constexpr auto kNap = std::chrono::microseconds(20);

// Numbers of NCCL's binary interface, which have not changed in version 2.
constexpr int kSum = 0;
constexpr int kMax = 2;

int type_of(Quantity::Type type) noexcept {
  switch (type) {
    case Quantity::Type::i32:
      return 2;
    case Quantity::Type::u32:
      return 3;
    case Quantity::Type::i64:
      return 4;
    case Quantity::Type::f32:
      return 7;
    case Quantity::Type::f64:
      break;
  }
  return 8;
}

std::vector<Stream> streams_on(const std::vector<int>& devices) {
  std::vector<Stream> streams;
  for (const int device : devices) {
    const DeviceScope scope(device);
    streams.emplace_back();
  }
  return streams;
}

}  // namespace

NcclLibrary load_nccl(const char* file) {
  [[maybe_unused]] static const int set = setenv("NCCL_NVLS_ENABLE", "0", 0);
  const SharedLibrary library(file, "install libnccl2, or let sums of devices be joined on the host");
  NcclLibrary table;
  library.load(table.get_version, "ncclGetVersion");
  library.load(table.error_text, "ncclGetErrorString");
  library.load(table.init_all, "ncclCommInitAll");
  library.load(table.destroy, "ncclCommDestroy");
  library.load(table.abort, "ncclCommAbort");
  library.load(table.async_error, "ncclCommGetAsyncError");
  library.load(table.group_start, "ncclGroupStart");
  library.load(table.group_end, "ncclGroupEnd");
  library.load(table.reduce, "ncclReduce");
  return table;
}

DeviceGroup::DeviceGroup(const std::vector<int>& devices, const char* file)
    : library_(load_nccl(file)), devices_(devices), streams_(streams_on(devices)), communicators_(devices.size()) {
  const int code = library_.init_all(communicators_.data(), static_cast<int>(devices_.size()), devices_.data());
  if (code != 0) {
    throw ResourceError(
        fmt::format("cuda: NCCL cannot reach from device to device: {}; set NCCL_DEBUG=INFO, which shows more",
                    library_.error_text(code)));
  }
}

DeviceGroup::~DeviceGroup() {
  bool well = !broken_;
  for (const Stream& stream : streams_) well = well && cudaStreamQuery(stream.get()) == cudaSuccess;
  for (ncclComm* const communicator : communicators_) {
    if (well) library_.destroy(communicator);
  }
}

std::string DeviceGroup::version() const {
  int version = 0;
  library_.get_version(&version);
  return fmt::format("NCCL {}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

bool DeviceGroup::fail(const char* what, const char* why) noexcept {
  words_ = fmt::format("{}: {}", what, why);
  if (broken_) return false;
  broken_ = true;
  // Kernels that wait for a device that is lost would wait for ever.
  for (ncclComm* const communicator : communicators_) library_.abort(communicator);
  return false;
}

/// The error that NCCL's own threads have met.
int DeviceGroup::look() const noexcept {
  int trouble = 0;
  for (ncclComm* const communicator : communicators_) {
    if (!broken_ && trouble == 0) library_.async_error(communicator, &trouble);
  }
  return trouble;
}

bool DeviceGroup::reduce(const std::vector<Array>& arrays, std::size_t root) noexcept {
  if (broken_) return false;
  int code = library_.group_start();
  for (const Array& array : arrays) {
    for (std::size_t number = 0; number < devices_.size() && code == 0; ++number) {
      code = library_.reduce(array.at[number], array.at[number], array.elements, type_of(array.type),
                             array.operation == Operation::add ? kSum : kMax, static_cast<int>(root),
                             communicators_[number], streams_[number].get());
    }
  }
  const int ended = library_.group_end();
  if (code == 0) code = ended;
  return code == 0 || fail("NCCL", library_.error_text(code));
}

bool DeviceGroup::wait(std::size_t number) noexcept {
  const std::int64_t start = now_ns();
  std::int64_t looked = start;
  for (;;) {
    const cudaError_t code = cudaStreamQuery(streams_[number].get());
    if (code == cudaSuccess) return true;
    if (code != cudaErrorNotReady) return fail("sums of devices", cudaGetErrorString(code));
    const std::int64_t now = now_ns();
    if (now - start > kLongestNs) return fail("sums of devices", "they are not there after 10 s");
    if (now - looked > kLookNs) {
      looked = now;
      if (const int trouble = look(); trouble != 0) return fail("NCCL", library_.error_text(trouble));
    }
    std::this_thread::sleep_for(kNap);
  }
}

}  // namespace rashpa::memory::cuda
