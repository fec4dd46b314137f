// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/cuda/free_memory.hpp"

#include <cuda_runtime_api.h>

#include <array>
#include <memory>

#include "rashpa/core/error.hpp"
#include "rashpa/core/libraries/shared_library.hpp"

namespace rashpa::memory::cuda {

namespace {

/// The used part of NVML, as its documentation has it; its header is not part of every CUDA toolkit.
class Management {
 public:
  struct Memory {
    unsigned long long total, free, used;  // NOLINT(google-runtime-int): as the library has it
  };

  struct Bar1 {
    unsigned long long total, free, used;  // NOLINT(google-runtime-int): as the library has it
  };

  Management() {
    library_.load(init_, "nvmlInit_v2");
    library_.load(device_of_, "nvmlDeviceGetHandleByPciBusId_v2");
    library_.load(memory_of_, "nvmlDeviceGetMemoryInfo");
    library_.load_if_any(bar1_of_, "nvmlDeviceGetBAR1MemoryInfo", nullptr);
    if (init_() != 0) throw ResourceError("cuda: libnvidia-ml.so.1 does not start; restart the driver");
  }
  /// 0: it does not say.
  [[nodiscard]] std::size_t free_bytes(const char* bus) const noexcept {
    void* device = nullptr;
    Memory memory{};
    return device_of_(bus, &device) == 0 && memory_of_(device, &memory) == 0 ? memory.free : 0;
  }
  [[nodiscard]] Window bar1(const char* bus) const noexcept {
    void* device = nullptr;
    Bar1 found{};
    if (bar1_of_ == nullptr || device_of_(bus, &device) != 0 || bar1_of_(device, &found) != 0) return {};
    return {found.total, found.free};
  }

 private:
  SharedLibrary library_{"libnvidia-ml.so.1", "install the driver's libraries"};
  int (*init_)() = nullptr;
  int (*device_of_)(const char*, void**) = nullptr;
  int (*memory_of_)(void*, Memory*) = nullptr;
  int (*bar1_of_)(void*, Bar1*) = nullptr;
};

/// Returns the library of management; null where there is none.
const Management* management() {
  static const std::unique_ptr<const Management> found = []() -> std::unique_ptr<const Management> {
    try {
      return std::make_unique<const Management>();
    } catch (const ResourceError&) {
      return nullptr;
    }
  }();
  return found.get();
}

/// Asks the library about the device; the default value where it is not known.
template <typename Ask>
auto asked(int device, const Ask& ask) noexcept -> decltype(ask(*management(), "")) {
  const Management* const known = management();
  std::array<char, 32> bus{};
  if (known == nullptr || cudaDeviceGetPCIBusId(bus.data(), bus.size(), device) != cudaSuccess) return {};
  return ask(*known, bus.data());
}

}  // namespace

std::size_t free_bytes(int device) noexcept {
  return asked(device, [](const Management& known, const char* bus) { return known.free_bytes(bus); });
}

Window bar1(int device) noexcept {
  return asked(device, [](const Management& known, const char* bus) { return known.bar1(bus); });
}

}  // namespace rashpa::memory::cuda
