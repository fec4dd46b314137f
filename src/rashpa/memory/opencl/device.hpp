// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The OpenCL devices of this machine, and owners of their resources. Each class owns one resource, which the
/// constructor takes and the destructor frees; they cannot be copied. Constructors throw ResourceError that names the
/// request.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rashpa/memory/opencl/api.hpp"

namespace rashpa::memory::opencl {

/// A device for which kernels can be built: OpenCL 1.2 or later, with a compiler, little endian.
struct DeviceInfo {
  cl_device_id id = nullptr;
  std::string name;                  ///< "pthread-AMD EPYC 7763"
  std::string platform;              ///< "Portable Computing Language"
  std::string driver;                ///< version, as the driver gives it
  bool processor = false;            ///< true: work items are threads of processor cores
  bool unified = false;              ///< true: uses host memory without copies
  bool doubles = false;              ///< true: supports double precision
  std::size_t work_group = 1;        ///< most work items of a group
  std::size_t local_bytes = 0;       ///< memory of a work group
  std::size_t global_bytes = 0;      ///< memory of the device
  std::size_t largest_buffer = 0;    ///< bytes
  std::size_t base_alignment = 128;  ///< bytes to which host memory must be aligned for use in place
};

/// Returns all devices of this machine, always in the same order; empty when drivers have none. Throws ResourceError
/// when there is no OpenCL library.
const std::vector<DeviceInfo>& devices();

/// Returns a list: "0: pthread-… (Portable Computing Language), 1: …".
std::string devices_text();

/// Finds a device by its number in devices(), or by a part of its name or platform, ignoring case. Throws ConfigError
/// with a list of the devices when none or several match, ResourceError when there are no devices.
const DeviceInfo& device_of(std::string_view wanted);

/// The owner of an OpenCL handle, released by the destructor.
template <typename Handle, auto Release>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  [[nodiscard]] Handle get() const noexcept { return handle_; }
  /// Releases the old handle, and returns the place where a function stores a new one.
  [[nodiscard]] Handle* fill() noexcept {
    reset();
    return &handle_;
  }
  void reset() noexcept {
    if (handle_ != nullptr) (api().*Release)(std::exchange(handle_, nullptr));
  }

 private:
  Handle handle_ = nullptr;
};
using Queue = Owned<cl_command_queue, &Api::release_queue>;
using Memory = Owned<cl_mem, &Api::release_memory>;
using Event = Owned<cl_event, &Api::release_event>;

/// A device with its own context. It outlives all objects made from it.
class Device {
 public:
  explicit Device(const DeviceInfo& info);
  [[nodiscard]] const DeviceInfo& info() const noexcept { return info_; }
  /// Returns the work items of a group: one that does much work on a processor core, many that do little on other
  /// devices.
  [[nodiscard]] std::uint32_t group() const noexcept { return group_; }
  [[nodiscard]] cl_context context() const noexcept { return context_.get(); }
  /// Returns the queue for work before and after a run.
  [[nodiscard]] cl_command_queue own_queue() const noexcept { return own_queue_.get(); }
  /// Makes a queue that runs commands in order.
  [[nodiscard]] Queue queue() const;
  /// Allocates memory that is not cleared. 0 bytes: no memory.
  [[nodiscard]] Memory memory(std::size_t bytes, std::string_view what) const;
  /// Allocates memory with these values.
  [[nodiscard]] Memory memory_with(const void* values, std::size_t bytes, std::string_view what) const;
  template <typename T>
  [[nodiscard]] Memory memory_of(const std::vector<T>& values, std::string_view what) const {
    return memory_with(values.data(), values.size() * sizeof(T), what);
  }
  /// Makes memory of the host's bytes from `data` on, which the device uses in place.
  [[nodiscard]] Memory memory_at(void* data, std::size_t bytes, std::string_view what) const;
  /// Allocates memory that the driver makes accessible to host and device, for maps.
  [[nodiscard]] Memory shared_memory(std::size_t bytes, std::string_view what) const;
  /// Returns the bytes requested through memory(), memory_with() and memory_of() so far. The threads that make these
  /// may call it.
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }

 private:
  [[nodiscard]] Memory make(cl_mem_flags flags, std::size_t bytes, void* data, std::string_view what) const;
  DeviceInfo info_;
  std::uint32_t group_;
  Owned<cl_context, &Api::release_context> context_;
  Queue own_queue_;
  mutable std::size_t taken_ = 0;
};

/// Host memory with the fastest copies to and from the device (pinned, where the driver pins), cleared to 0. 0 bytes:
/// no memory.
class HostMemory {
 public:
  HostMemory() = default;
  HostMemory(const Device& device, std::size_t bytes, std::string_view what);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  template <typename T>
  [[nodiscard]] T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  cl_command_queue queue_ = nullptr;
  Memory memory_;
  void* data_ = nullptr;
};

/// The kernels of one source, compiled for a device.
class Program {
 public:
  /// Compiles the joined parts of `source`. Throws ResourceError with the compiler's message and `name`.
  Program(const Device& device, const std::string& name, const std::vector<std::string_view>& source,
          const std::string& options);
  [[nodiscard]] cl_program get() const noexcept { return program_.get(); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
  Owned<cl_program, &Api::release_program> program_;
};

/// A kernel function of a program. One thread at a time.
class Kernel {
 public:
  Kernel(const Program& program, const char* name);
  /// Enqueues `columns` × `rows` groups of `group` work items. The arguments have the types of the kernel's: cl_mem,
  /// cl_uint, …
  template <typename... Arguments>
  cl_int run(cl_command_queue queue, std::size_t columns, std::size_t rows, std::size_t group,
             const Arguments&... arguments) const noexcept {
    cl_uint number = 0;
    cl_int code = CL_SUCCESS;
    ((code = code != CL_SUCCESS
                 ? code
                 : argument(number++, &arguments, sizeof(Arguments))),  // NOLINT(bugprone-sizeof-expression): handles
     ...);
    return code != CL_SUCCESS ? code : start(queue, columns, rows, group);
  }

 private:
  cl_int argument(cl_uint number, const void* value, std::size_t bytes) const noexcept {
    return api().set_argument(kernel_.get(), number, bytes, value);
  }
  cl_int start(cl_command_queue queue, std::size_t columns, std::size_t rows, std::size_t group) const noexcept;
  Owned<cl_kernel, &Api::release_kernel> kernel_;
};

}  // namespace rashpa::memory::opencl
