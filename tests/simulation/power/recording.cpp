// SPDX-License-Identifier: Apache-2.0
#include "power/recording.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "disk.hpp"
#include "system/system.hpp"

namespace rashpa::simulation {

namespace power {
namespace {

struct Recorder {
  std::string folder;  // with a slash behind it
  Trace trace{};
  std::map<ino_t, std::uint32_t> files{};
  std::uint32_t latest = 0;
  disk::Faults faults{};
  Dice dice{0, ""};
};

std::optional<Recorder>& recorder() noexcept {
  static std::optional<Recorder> one;
  return one;
}

ino_t number_of(int fd) noexcept {
  struct stat found {};
  return ::fstat(fd, &found) == 0 ? found.st_ino : 0;
}

std::uint64_t bytes_of_files() noexcept {
  std::uint64_t all = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(recorder()->folder)) all += entry.file_size(gone);
  return all;
}

/// Whether a file has no room to reach so far: what all files have is taken.
bool is_full(int fd, std::uint64_t end) noexcept {
  struct stat found {};
  if (::fstat(fd, &found) != 0 || end <= static_cast<std::uint64_t>(found.st_size)) return false;
  return end - static_cast<std::uint64_t>(found.st_size) + bytes_of_files() > recorder()->faults.room;
}

std::uint32_t file_of(int fd) { return recorder()->files.at(number_of(fd)); }

/// Its name in the folder; nothing: it is elsewhere.
std::optional<std::string> name_in_folder(const char* path) noexcept {
  const auto& one = recorder();
  if (!world::inside() || !one || !std::string_view(path).starts_with(one->folder)) return std::nullopt;
  return std::string(std::string_view(path).substr(one->folder.size()));
}

void add_opened(const std::string& name, int fd, bool was_there, int flags) {
  Recorder& one = *recorder();
  if (!was_there) {
    one.files[number_of(fd)] = ++one.latest;
    one.trace.push_back({.kind = Op::Kind::create, .file = one.latest, .name = name});
  } else if ((flags & O_TRUNC) != 0) {
    one.trace.push_back({.kind = Op::Kind::resize, .file = file_of(fd)});
  }
}

void add_size(int fd) {
  struct stat found {};
  ::fstat(fd, &found);
  recorder()->trace.push_back(
      {.kind = Op::Kind::resize, .file = file_of(fd), .at = static_cast<std::uint64_t>(found.st_size)});
}

/// What another call has copied into a file.
void add_copied(int fd, off_t at, std::size_t bytes) {
  std::string content(bytes, '\0');
  const std::string path = fmt::format("/proc/self/fd/{}", fd);
  static const auto open_call = real<int (*)(const char*, int, ...)>("open");
  const int again = open_call(path.c_str(), O_RDONLY | O_CLOEXEC);
  static_cast<void>(!::pread(again, content.data(), bytes, at));
  ::close(again);
  disk::written(fd, static_cast<std::uint64_t>(at), std::as_bytes(std::span(content)));
}

int open_by(const char* call_name, const char* path, int flags, mode_t mode) noexcept {
  using Call = int (*)(const char*, int, ...);
  const auto call = real<Call>(call_name);
  const std::optional<std::string> name = name_in_folder(path);
  const bool was_there = name && ::access(path, F_OK) == 0;
  const int fd = call(path, flags, mode);
  if (name && fd >= 0 && (flags & O_DIRECTORY) == 0 && name->find('/') == std::string::npos) {
    add_opened(*name, fd, was_there, flags);
  }
  return fd;
}

}  // namespace

const Trace& recorded() noexcept { return recorder()->trace; }

void mark(const char* what, std::uint64_t images, const std::string& which) {
  recorder()->trace.push_back({.kind = Op::Kind::mark, .at = images, .name = what, .bytes = which});
}

void leave_room(std::uint64_t bytes) { recorder()->faults.room = bytes_of_files() + bytes; }

}  // namespace power

namespace disk {

void begin(std::uint64_t seed, const std::filesystem::path& folder, const Faults& faults) {
  power::recorder() = power::Recorder{.folder = folder.string() + "/", .faults = faults, .dice = Dice(seed, "disk")};
}

bool guards(int fd) noexcept {
  if (!world::inside() || !power::recorder()) return false;
  std::array<char, PATH_MAX> place{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  const ssize_t length = ::readlink(link.c_str(), place.data(), place.size());
  if (length <= 0) return false;
  const std::string path(place.data(), static_cast<std::size_t>(length));
  return path.starts_with(power::recorder()->folder) || path + "/" == power::recorder()->folder;
}

Answer write(int fd, std::uint64_t offset, std::size_t bytes) noexcept {
  power::Recorder& one = *power::recorder();
  if (power::is_full(fd, offset + bytes)) return {.bytes = 0, .error = ENOSPC};
  world::wait(&one, world::now() + one.faults.write_ns + one.dice.between(0, one.faults.write_ns), "the disk");
  return {.bytes = bytes, .error = 0};
}

void written(int fd, std::uint64_t offset, std::span<const std::byte> bytes) {
  power::recorder()->trace.push_back({.kind = power::Op::Kind::write,
                                      .file = power::file_of(fd),
                                      .at = offset,
                                      .bytes = std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())});
}

void renaming(const char* /*to*/) noexcept {}

void renamed(const char* from, const char* to) {
  const auto old = power::name_in_folder(from);
  const auto name = power::name_in_folder(to);
  if (old && name) power::recorder()->trace.push_back({.kind = power::Op::Kind::rename, .name = *old, .to = *name});
}

int sync(int fd) noexcept {
  power::Recorder& one = *power::recorder();
  const std::uint64_t begun = one.trace.size();
  world::wait(&one, world::now() + one.faults.sync_ns, "the disk");
  struct stat found {};
  if (::fstat(fd, &found) == 0 && S_ISDIR(found.st_mode)) {
    one.trace.push_back({.kind = power::Op::Kind::sync_names, .at = begun});
  } else {
    one.trace.push_back({.kind = power::Op::Kind::sync, .file = power::file_of(fd), .at = begun});
  }
  return 0;
}

bool failed() noexcept { return false; }

}  // namespace disk
}  // namespace rashpa::simulation

using namespace rashpa::simulation;  // NOLINT(google-build-using-namespace): functions of libc have no other place

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return power::open_by("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return power::open_by("open64", path, flags, mode);
}

int ftruncate(int fd, off_t length) noexcept {
  static const auto call = real<int (*)(int, off_t)>("ftruncate");
  const int done = call(fd, length);
  if (done == 0 && disk::guards(fd)) power::add_size(fd);
  return done;
}

int posix_fallocate(int fd, off_t offset, off_t length) {
  static const auto call = real<int (*)(int, off_t, off_t)>("posix_fallocate");
  if (disk::guards(fd) && power::is_full(fd, static_cast<std::uint64_t>(offset + length))) return ENOSPC;
  const int done = call(fd, offset, length);
  if (done == 0 && disk::guards(fd)) power::add_size(fd);
  return done;
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  static const auto call = real<int (*)(int, int, off_t, off_t)>("fallocate");
  if (disk::guards(fd) && power::is_full(fd, static_cast<std::uint64_t>(offset + length))) return said(ENOSPC);
  const int done = call(fd, mode, offset, length);
  if (done == 0 && disk::guards(fd)) power::add_size(fd);
  return done;
}

int unlink(const char* path) noexcept {
  static const auto call = real<int (*)(const char*)>("unlink");
  const int done = call(path);
  const auto name = power::name_in_folder(path);
  if (done == 0 && name) power::recorder()->trace.push_back({.kind = power::Op::Kind::unlink, .name = *name});
  return done;
}

int link(const char* from, const char* to) noexcept {
  static const auto call = real<int (*)(const char*, const char*)>("link");
  const int done = call(from, to);
  const auto old = power::name_in_folder(from);
  const auto name = power::name_in_folder(to);
  if (done == 0 && old && name) {
    power::recorder()->trace.push_back({.kind = power::Op::Kind::link, .name = *old, .to = *name});
  }
  return done;
}

ssize_t copy_file_range(int from, off64_t* from_at, int to, off64_t* to_at, std::size_t bytes, unsigned flags) {
  static const auto call = real<ssize_t (*)(int, off64_t*, int, off64_t*, std::size_t, unsigned)>("copy_file_range");
  const off_t at = to_at != nullptr ? *to_at : ::lseek(to, 0, SEEK_CUR);
  const ssize_t done = call(from, from_at, to, to_at, bytes, flags);
  if (done > 0 && disk::guards(to)) power::add_copied(to, at, static_cast<std::size_t>(done));
  return done;
}

ssize_t sendfile(int to, int from, off_t* from_at, std::size_t bytes) noexcept {
  static const auto call = real<ssize_t (*)(int, int, off_t*, std::size_t)>("sendfile");
  const off_t at = ::lseek(to, 0, SEEK_CUR);
  const ssize_t done = call(to, from, from_at, bytes);
  if (done > 0 && disk::guards(to)) power::add_copied(to, at, static_cast<std::size_t>(done));
  return done;
}

}  // extern "C"
