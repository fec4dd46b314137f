// SPDX-License-Identifier: Apache-2.0
#include "disk.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>
#include <string_view>

namespace rashpa::simulation::disk {

namespace {

struct Disk {
  Dice dice;
  std::string folder;
  Faults faults;
  std::uint64_t written = 0;
  bool failed = false;
};

std::optional<Disk>& the_disk() noexcept {
  static std::optional<Disk> disk;
  return disk;
}

Answer refuse(const char* what, int error) {
  world::trace(fmt::format("disk: {}", what));
  the_disk()->failed = true;
  return {.bytes = 0, .error = error};
}

}  // namespace

void begin(std::uint64_t seed, const std::filesystem::path& folder, const Faults& faults) {
  the_disk() = Disk{.dice = Dice(seed, "disk"), .folder = folder.string() + "/", .faults = faults};
}

bool guards(int fd) noexcept {
  if (!world::inside() || !the_disk()) return false;
  std::array<char, PATH_MAX> place{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t length = ::readlink(link.c_str(), place.data(), place.size());
  return length > 0 &&
         std::string_view(place.data(), static_cast<std::size_t>(length)).substr(0, the_disk()->folder.size()) ==
             the_disk()->folder;
}

Answer write(std::size_t bytes) noexcept {
  Disk& disk = *the_disk();
  const Faults& faults = disk.faults;
  const bool slow = disk.dice.chance(faults.slow);
  const std::int64_t ns = faults.write_ns + disk.dice.between(0, faults.write_ns) + (slow ? faults.slow_ns : 0);
  world::wait(&disk, world::now() + ns, "the disk");
  if (disk.dice.chance(faults.error)) return refuse("an error in a write", EIO);
  if (disk.written + bytes > faults.room) return refuse("full", ENOSPC);
  std::size_t taken = bytes;
  if (bytes > 1 && disk.dice.chance(faults.short_write)) taken = 1 + disk.dice.below(bytes - 1);
  disk.written += taken;
  return {.bytes = taken, .error = 0};
}

int sync() noexcept {
  Disk& disk = *the_disk();
  world::wait(&disk, world::now() + disk.faults.sync_ns, "the disk");
  return disk.dice.chance(disk.faults.sync_error) ? refuse("an error in a sync", EIO).error : 0;
}

bool failed() noexcept { return the_disk() && the_disk()->failed; }

}  // namespace rashpa::simulation::disk
