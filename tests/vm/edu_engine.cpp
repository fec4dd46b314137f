// SPDX-License-Identifier: Apache-2.0
#include "edu_engine.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "rashpa/core/error.hpp"

namespace rashpa::vm {

namespace {

constexpr std::size_t kIdentification = 0x00, kSource = 0x80, kDestination = 0x88, kCount = 0x90, kCommand = 0x98;
constexpr std::uint64_t kDeviceMemory = 0x40000;
constexpr std::uint32_t kStart = 1, kFromDevice = 2;
constexpr auto kPatience = std::chrono::seconds(10);

template <typename T>
void write(std::span<volatile std::byte> registers, std::size_t at, T value) {
  *reinterpret_cast<volatile T*>(registers.data() + at) = value;
}
template <typename T>
T read(std::span<volatile std::byte> registers, std::size_t at) {
  return *reinterpret_cast<volatile T*>(registers.data() + at);
}

}  // namespace

EduEngine::EduEngine(const std::string& address) : device_(address), registers_(device_.registers(0)) {
  const auto identification = read<std::uint32_t>(registers_, kIdentification);
  if ((identification & 0xFFFFU) != 0x00EDU) {
    throw ResourceError(fmt::format("edu: {} says {:#x} instead of 0x…00ed", address, identification));
  }
  device_.enable_bus_mastering();
}

void EduEngine::load(std::uint64_t from, std::uint32_t bytes) { transfer(from, kDeviceMemory, bytes, kStart); }

void EduEngine::store(std::uint32_t at, std::uint64_t to, std::uint32_t bytes) {
  transfer(kDeviceMemory + at, to, bytes, kStart | kFromDevice);
}

void EduEngine::transfer(std::uint64_t source, std::uint64_t destination, std::uint32_t bytes, std::uint32_t command) {
  write<std::uint64_t>(registers_, kSource, source);
  write<std::uint64_t>(registers_, kDestination, destination);
  write<std::uint64_t>(registers_, kCount, bytes);
  write<std::uint64_t>(registers_, kCommand, command);
  ++transfers_;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while ((read<std::uint64_t>(registers_, kCommand) & kStart) != 0) {
    if (std::chrono::steady_clock::now() > end) throw ResourceError("edu: a transfer does not end");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // wait: of the device, in bounded time
  }
}

}  // namespace rashpa::vm
