// SPDX-License-Identifier: Apache-2.0
#include "disk.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace rashpa::simulation::disk {

namespace {

/// Bytes of a file that is known by its number: it may get another name.
struct Written {
  ino_t file = 0;
  std::uint64_t offset = 0;
  std::size_t bytes = 0;
};

struct Renamed {
  std::string from, to;
};

struct Disk {
  Dice dice;
  std::string folder;
  Faults faults;
  std::uint64_t written = 0;
  bool failed = false;
  std::vector<Written> unsafe{};
  std::vector<Renamed> names{};  // that are not safe, in order
};

constexpr const char* kBefore = ".before";  // of the file that had the name

ino_t number_of(int fd) noexcept {
  struct stat found {};
  return ::fstat(fd, &found) == 0 ? found.st_ino : 0;
}

// Zeros where something was written: room was taken for it before.
void forget(const Disk& disk, const Written& one) {
  for (const auto& entry : std::filesystem::directory_iterator(disk.folder)) {
    struct stat found {};
    if (::stat(entry.path().c_str(), &found) != 0 || found.st_ino != one.file) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(one.offset));
    file.write(std::string(one.bytes, '\0').data(), static_cast<std::streamsize>(one.bytes));
  }
}

// A killed process has none; here they are all of one.
void close_files(const std::string& folder) {
  std::vector<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code nothing;
    const std::string to = std::filesystem::read_symlink(entry.path(), nothing).string();
    if (to.starts_with(folder)) open.push_back(std::stoi(entry.path().filename().string()));
  }
  for (const int fd : open) ::close(fd);
}

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
  if (length <= 0) return false;
  const std::string_view path(place.data(), static_cast<std::size_t>(length));
  return path.starts_with(the_disk()->folder) || std::string(path) + "/" == the_disk()->folder;  // or the folder itself
}

Answer write(int /*fd*/, std::uint64_t /*offset*/, std::size_t bytes) noexcept {
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

// Contents of HDF5 files are kept: they are brought to the device at the end of a run, and nobody promises it before.
void written(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  std::error_code nothing;
  const std::string name = std::filesystem::read_symlink(link, nothing).filename().string();
  if (name.find(".h5") != std::string::npos) return;
  the_disk()->unsafe.push_back({.file = number_of(fd), .offset = offset, .bytes = bytes.size()});
}

void renaming(const char* to) noexcept {
  if (!world::inside() || !the_disk() || !std::string_view(to).starts_with(the_disk()->folder)) return;
  const std::string before = std::string(to) + kBefore;
  ::unlink(before.c_str());
  static_cast<void>(!::link(to, before.c_str()));
}

void renamed(const char* from, const char* to) {
  if (!world::inside() || !the_disk() || !std::string_view(to).starts_with(the_disk()->folder)) return;
  the_disk()->names.push_back({from, to});
}

int sync(int fd) noexcept {
  Disk& disk = *the_disk();
  const ino_t file = number_of(fd);
  const std::size_t names = disk.names.size();
  const std::vector<Written> before = disk.unsafe;
  world::wait(&disk, world::now() + disk.faults.sync_ns, "the disk");
  if (disk.dice.chance(disk.faults.sync_error)) return refuse("an error in a sync", EIO).error;
  disk.names.erase(disk.names.begin(),
                   disk.names.begin() + static_cast<std::ptrdiff_t>(std::min(names, disk.names.size())));
  for (const Written& one : before) {
    if (one.file != file) continue;
    std::erase_if(disk.unsafe, [&](const Written& other) {
      return other.file == one.file && other.offset == one.offset && other.bytes == one.bytes;
    });
  }
  return 0;
}

void lose_power() {
  Disk& disk = *the_disk();
  close_files(disk.folder);
  std::size_t lost = 0;
  for (const Written& one : disk.unsafe) {
    if (disk.dice.chance(0.5)) continue;
    forget(disk, one);
    ++lost;
  }
  const std::size_t kept = disk.dice.below(disk.names.size() + 1);
  for (std::size_t i = disk.names.size(); i > kept; --i) {
    std::error_code nothing;
    std::filesystem::rename(disk.names[i - 1].to, disk.names[i - 1].from, nothing);
    std::filesystem::rename(disk.names[i - 1].to + kBefore, disk.names[i - 1].to, nothing);
  }
  world::trace(fmt::format("disk: the power fails; {} of {} writes and {} of {} names are gone", lost,
                           disk.unsafe.size(), disk.names.size() - kept, disk.names.size()));
  disk.faults = {};
}

bool failed() noexcept { return the_disk() && the_disk()->failed; }

}  // namespace rashpa::simulation::disk
