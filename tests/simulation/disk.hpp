// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The disk of a simulated run: files lie in memory (a folder of /dev/shm), and this decides how writes go.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "world.hpp"

namespace rashpa::simulation::disk {

struct Faults {
  std::int64_t write_ns = 2'000;  ///< of a write, and at most so much more by chance
  std::int64_t sync_ns = 100'000;
  double slow = 0;  ///< of a write that takes `slow_ns`
  std::int64_t slow_ns = 0;
  double short_write = 0;           ///< takes a part
  double error = 0;                 ///< EIO
  std::uint64_t room = UINT64_MAX;  ///< bytes, then ENOSPC
  double sync_error = 0;
};

struct Answer {
  std::size_t bytes = 0;
  int error = 0;
};

/// Files below the folder are of this disk.
void begin(std::uint64_t seed, const std::filesystem::path& folder, const Faults& faults);
/// Whether the calling thread is of the world and the file of its disk.
[[nodiscard]] bool guards(int fd) noexcept;
/// How many of so many bytes at a place of a file are taken.
Answer write(int fd, std::uint64_t offset, std::size_t bytes) noexcept;
/// Bytes of the file have been written there; a sync of the file makes them safe.
void written(int fd, std::uint64_t offset, std::span<const std::byte> bytes);
/// A file has another name; a sync of any file makes it safe, as on disks with a journal.
void renamed(const char* from, const char* to);
/// Before that: a file that has the name now may have it again.
void renaming(const char* to) noexcept;
/// 0, or an error. What was written to the file before, and all names, are safe then.
int sync(int fd) noexcept;
/// The power fails: some of what is not safe is gone, and no process has a file any more. Nothing fails afterwards.
void lose_power();
/// Whether anything was refused so far.
[[nodiscard]] bool failed() noexcept;

}  // namespace rashpa::simulation::disk
