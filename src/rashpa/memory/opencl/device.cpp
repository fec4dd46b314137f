// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/opencl/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::memory::opencl {

namespace {

constexpr std::size_t kGroup = 256;  // work items, where they are many

std::string without_padding(std::string text) {
  while (!text.empty() && (text.back() == '\0' || std::isspace(static_cast<unsigned char>(text.back())) != 0)) {
    text.pop_back();
  }
  return text;
}

template <typename Get, typename From, typename What>
std::string text_of(Get get, From from, What what) {
  std::size_t bytes = 0;
  if (get(from, what, 0, nullptr, &bytes) != CL_SUCCESS) return {};
  std::string text(bytes, '\0');
  if (get(from, what, bytes, text.data(), nullptr) != CL_SUCCESS) return {};
  return without_padding(text);
}

template <typename T>
T value_of(cl_device_id device, cl_device_info what) {
  T value{};
  return api().get_device_info(device, what, sizeof(value), &value, nullptr) == CL_SUCCESS ? value : T{};
}

// "OpenCL 1.2 …": 1.2 and later.
bool new_enough(cl_device_id device) {
  const std::string version = text_of(api().get_device_info, device, CL_DEVICE_VERSION);
  int major = 0;
  int minor = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 2);
}

DeviceInfo info_of(cl_device_id id, const std::string& platform) {
  DeviceInfo info;
  info.id = id;
  info.platform = platform;
  info.name = text_of(api().get_device_info, id, CL_DEVICE_NAME);
  info.driver = text_of(api().get_device_info, id, CL_DRIVER_VERSION);
  info.processor = (value_of<cl_device_type>(id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  info.unified = value_of<cl_bool>(id, CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
  info.doubles = value_of<cl_device_fp_config>(id, CL_DEVICE_DOUBLE_FP_CONFIG) != 0;
  info.work_group = std::max<std::size_t>(1, value_of<std::size_t>(id, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  info.local_bytes = value_of<cl_ulong>(id, CL_DEVICE_LOCAL_MEM_SIZE);
  info.global_bytes = value_of<cl_ulong>(id, CL_DEVICE_GLOBAL_MEM_SIZE);
  info.largest_buffer = value_of<cl_ulong>(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  info.base_alignment = std::max<std::size_t>(1, value_of<cl_uint>(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8);
  return info;
}

bool fits(cl_device_id id) {
  return value_of<cl_bool>(id, CL_DEVICE_AVAILABLE) != CL_FALSE &&
         value_of<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE &&
         value_of<cl_bool>(id, CL_DEVICE_ENDIAN_LITTLE) != CL_FALSE && new_enough(id);
}

std::vector<DeviceInfo> find_devices() {
  std::array<cl_platform_id, 32> platforms{};
  cl_uint count = 0;
  // A library without a driver answers with an error of its own.
  if (api().get_platforms(static_cast<cl_uint>(platforms.size()), platforms.data(), &count) != CL_SUCCESS) return {};
  std::vector<DeviceInfo> found;
  for (cl_uint p = 0; p < std::min<cl_uint>(count, platforms.size()); ++p) {
    const std::string platform = text_of(api().get_platform_info, platforms[p], CL_PLATFORM_NAME);
    std::array<cl_device_id, 64> ids{};
    cl_uint there = 0;
    if (api().get_devices(platforms[p], CL_DEVICE_TYPE_ALL, static_cast<cl_uint>(ids.size()), ids.data(), &there) !=
        CL_SUCCESS) {
      continue;
    }
    for (cl_uint d = 0; d < std::min<cl_uint>(there, ids.size()); ++d) {
      if (fits(ids[d])) found.push_back(info_of(ids[d], platform));
    }
  }
  return found;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

const std::vector<DeviceInfo>& devices() {
  static const std::vector<DeviceInfo> found = find_devices();
  return found;
}

std::string devices_text() {
  std::string text;
  for (std::size_t i = 0; i < devices().size(); ++i) {
    text += fmt::format("{}{}: {} ({})", i == 0 ? "" : ", ", i, devices()[i].name, devices()[i].platform);
  }
  return text;
}

const DeviceInfo& device_of(std::string_view wanted) {
  const std::vector<DeviceInfo>& all = devices();
  if (all.empty()) {
    throw ResourceError("unit: unit opencl cannot be used here: no OpenCL device; install a driver, or use unit cpu");
  }
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (problem == std::errc{} && end == wanted.data() + wanted.size()) {
    if (number < all.size()) return all[number];
    throw ConfigError(fmt::format("unit: there is no OpenCL device {}; choose one of {}", number, devices_text()));
  }
  const std::string part = lower(wanted);
  const DeviceInfo* found = nullptr;
  for (const DeviceInfo& device : all) {
    if (lower(fmt::format("{} ({})", device.name, device.platform)).find(part) == std::string::npos) continue;
    if (found != nullptr) {
      throw ConfigError(
          fmt::format("unit: several OpenCL devices have '{}' in their names: {}; say more of one, or its "
                      "number",
                      wanted, devices_text()));
    }
    found = &device;
  }
  if (found == nullptr) {
    throw ConfigError(
        fmt::format("unit: no OpenCL device has '{}' in its name; choose one of {}", wanted, devices_text()));
  }
  return *found;
}

Device::Device(const DeviceInfo& info)
    : info_(info),
      group_(info.processor ? 1 : static_cast<std::uint32_t>(std::bit_floor(std::min(kGroup, info.work_group)))) {
  cl_int code = CL_SUCCESS;
  context_ =
      Owned<cl_context, &Api::release_context>(api().create_context(nullptr, 1, &info_.id, nullptr, nullptr, &code));
  check(code, "a context on " + info_.name);
  own_queue_ = queue();
}

Queue Device::queue() const {
  cl_int code = CL_SUCCESS;
  Queue queue(api().create_queue(context_.get(), info_.id, 0, &code));
  check(code, "a command queue on " + info_.name);
  return queue;
}

Memory Device::make(cl_mem_flags flags, std::size_t bytes, void* data, std::string_view what) const {
  if (bytes == 0) return {};
  if (bytes > info_.largest_buffer) {
    throw ResourceError(fmt::format("opencl: {}: {} bytes are more than {} takes at once ({}); take a smaller stack",
                                    what, bytes, info_.name, info_.largest_buffer));
  }
  cl_int code = CL_SUCCESS;
  Memory memory(api().create_buffer(context_.get(), flags, bytes, data, &code));
  check(code, fmt::format("{}, {} bytes on {}", what, bytes, info_.name));
  if ((flags & (CL_MEM_USE_HOST_PTR | CL_MEM_ALLOC_HOST_PTR)) == 0) taken_ += bytes;
  return memory;
}

Memory Device::memory(std::size_t bytes, std::string_view what) const {
  return make(CL_MEM_READ_WRITE, bytes, nullptr, what);
}
Memory Device::memory_with(const void* values, std::size_t bytes, std::string_view what) const {
  return make(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, bytes, const_cast<void*>(values), what);
}
Memory Device::memory_at(void* data, std::size_t bytes, std::string_view what) const {
  return make(CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes, data, what);
}
Memory Device::shared_memory(std::size_t bytes, std::string_view what) const {
  return make(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, what);
}

HostMemory::HostMemory(const Device& device, std::size_t bytes, std::string_view what) {
  if (bytes == 0) return;
  queue_ = device.own_queue();
  memory_ = device.shared_memory(bytes, what);
  cl_int code = CL_SUCCESS;
  data_ = api().map_buffer(queue_, memory_.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr,
                           &code);
  check(code, what);
  std::memset(data_, 0, bytes);
}

HostMemory::~HostMemory() {
  if (data_ == nullptr) return;
  api().unmap(queue_, memory_.get(), data_, 0, nullptr, nullptr);
  api().flush(queue_);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : queue_(other.queue_), memory_(std::move(other.memory_)), data_(std::exchange(other.data_, nullptr)) {}

// The old content goes with `other`.
HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(queue_, other.queue_);
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  return *this;
}

Program::Program(const Device& device, const std::string& name, const std::vector<std::string_view>& source,
                 const std::string& options)
    : name_(name) {
  std::vector<const char*> parts;
  std::vector<std::size_t> lengths;
  for (const std::string_view part : source) {
    parts.push_back(part.data());
    lengths.push_back(part.size());
  }
  cl_int code = CL_SUCCESS;
  program_ = Owned<cl_program, &Api::release_program>(
      api().create_program(device.context(), static_cast<cl_uint>(parts.size()), parts.data(), lengths.data(), &code));
  check(code, "the program " + name);
  const cl_device_id id = device.info().id;
  code = api().build_program(program_.get(), 1, &id, options.c_str(), nullptr, nullptr);
  if (code == CL_SUCCESS) return;
  std::size_t bytes = 0;
  api().get_build_info(program_.get(), id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string said(bytes, '\0');
  api().get_build_info(program_.get(), id, CL_PROGRAM_BUILD_LOG, bytes, said.data(), nullptr);
  throw ResourceError(
      fmt::format("opencl: {} does not compile for {} ({}): {}; update its driver, or choose another device", name,
                  device.info().name, error_text(code), without_padding(said)));
}

Kernel::Kernel(const Program& program, const char* name) {
  cl_int code = CL_SUCCESS;
  kernel_ = Owned<cl_kernel, &Api::release_kernel>(api().create_kernel(program.get(), name, &code));
  check(code, fmt::format("the function {} of {}", name, program.name()));
}

cl_int Kernel::start(cl_command_queue queue, std::size_t columns, std::size_t rows, std::size_t group) const noexcept {
  if (columns == 0 || rows == 0) return CL_SUCCESS;
  const std::array<std::size_t, 2> global{columns * group, rows};
  const std::array<std::size_t, 2> local{group, 1};
  return api().run_kernel(queue, kernel_.get(), 2, nullptr, global.data(), local.data(), 0, nullptr, nullptr);
}

}  // namespace rashpa::memory::opencl
