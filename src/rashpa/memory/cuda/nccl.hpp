// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reductions between the devices of one process by NCCL. The library is loaded at run time, since a process with one
/// device needs none.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/memory/cuda/resources.hpp"

struct ncclComm;

namespace rashpa::memory::cuda {

/// The functions of NCCL 2 that we use. Results are ncclResult_t, 0 for success.
struct NcclLibrary {
  int (*get_version)(int* version) = nullptr;
  const char* (*error_text)(int code) = nullptr;
  int (*init_all)(ncclComm** communicators, int count, const int* devices) = nullptr;
  int (*destroy)(ncclComm* communicator) = nullptr;
  int (*abort)(ncclComm* communicator) = nullptr;
  int (*async_error)(ncclComm* communicator, int* code) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*reduce)(const void* from, void* to, std::size_t count, int type, int operation, int root,
                ncclComm* communicator, cudaStream_t stream) = nullptr;
};

/// Loads the library. Throws ResourceError with the package to install. NVLink multicast stays off unless the
/// environment enables it (NCCL_NVLS_ENABLE), because it uses the fabric of the whole host, which others may share.
[[nodiscard]] NcclLibrary load_nccl(const char* file = "libnccl.so.2");

/// A group of different devices, each with its own communicator and stream. One thread at a time; all waits are
/// bounded.
class DeviceGroup {
 public:
  /// The operation that combines elements.
  enum class Operation : std::uint8_t { add, largest };
  /// An array with a copy of equal length on each device.
  struct Array {
    Quantity::Type type = Quantity::Type::f64;
    Operation operation = Operation::add;
    std::size_t elements = 0;
    std::vector<std::byte*> at;  ///< address on each device; that of `root` receives the result
  };

  /// Makes the communicators. Throws ResourceError.
  explicit DeviceGroup(const std::vector<int>& devices, const char* file = "libnccl.so.2");
  /// Frees the group, but not its communicators when a device is lost, because they would wait for it.
  ~DeviceGroup();
  DeviceGroup(const DeviceGroup&) = delete;
  DeviceGroup& operator=(const DeviceGroup&) = delete;

  /// Enqueues the reduction of all arrays to that of device number `root`. Returns false when it failed; words() has
  /// the cause, and nothing more is reduced.
  bool reduce(const std::vector<Array>& arrays, std::size_t root) noexcept;
  /// Waits up to 10 s until the stream of device `number` is done. Returns false as reduce() does.
  bool wait(std::size_t number) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return devices_.size(); }
  [[nodiscard]] int device(std::size_t number) const noexcept { return devices_[number]; }
  [[nodiscard]] cudaStream_t stream(std::size_t number) const noexcept { return streams_[number].get(); }
  /// Returns the version, such as "NCCL 2.28.9".
  [[nodiscard]] std::string version() const;
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// Returns the cause of a failure.
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  bool fail(const char* what, const char* why) noexcept;
  [[nodiscard]] int look() const noexcept;
  NcclLibrary library_;
  std::vector<int> devices_;
  std::vector<Stream> streams_;
  std::vector<ncclComm*> communicators_;
  bool broken_ = false;
  std::string words_;
};

}  // namespace rashpa::memory::cuda
