// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/buffer.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/page.hpp"

namespace {

int g_shortened = -1;  // memory of a peer that makes it shorter, and seals it, when it is asked for its seals

int pass(int file, int what, void* with) {
  using Function = int (*)(int, int, ...);
  static const auto system = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "fcntl64"));
  if (const int own = what == F_GET_SEALS ? std::exchange(g_shortened, -1) : -1; own >= 0) {
    EXPECT_EQ(ftruncate(own, 4096), 0);
    EXPECT_EQ(system(own, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  }
  return system(file, what, with);
}

}  // namespace

/// Stand before the system's call in this program.
extern "C" int fcntl(int file, int what, ...) {
  std::va_list rest;
  va_start(rest, what);
  void* const with = va_arg(rest, void*);
  va_end(rest);
  return pass(file, what, with);
}
extern "C" int fcntl64(int file, int what, ...) {
  std::va_list rest;
  va_start(rest, what);
  void* const with = va_arg(rest, void*);
  va_end(rest);
  return pass(file, what, with);
}

namespace rashpa::memory {
namespace {

TEST(Buffer, every_kind_gives_zeroed_writable_memory) {
  for (auto kind : {MemoryKind::pageable, MemoryKind::huge}) {
    for (auto sharing : {Sharing::process, Sharing::machine}) {
      Buffer buffer(3'000'001, kind, sharing);
      ASSERT_EQ(buffer.size(), 3'000'001U);
      EXPECT_TRUE(
          std::all_of(buffer.bytes().begin(), buffer.bytes().end(), [](std::byte b) { return b == std::byte{0}; }));
      buffer.bytes().back() = std::byte{7};
      EXPECT_NE(buffer.granted(), "none");
      EXPECT_EQ(buffer.granted().starts_with("shared-"), sharing == Sharing::machine);
      EXPECT_EQ(buffer.shared_path().empty(), sharing == Sharing::process);
    }
  }
}

TEST(Buffer, every_page_of_a_large_buffer_is_there_at_once) {
  for (auto sharing : {Sharing::process, Sharing::machine}) {
    const Buffer buffer((std::size_t{100} << 20) + 1, MemoryKind::pageable, sharing);  // of parts, the last one smaller
    std::vector<unsigned char> there(buffer.size() / kPage + 1);
    ASSERT_EQ(mincore(buffer.data(), buffer.size(), there.data()), 0);
    EXPECT_TRUE(std::ranges::all_of(there, [](unsigned char page) { return (page & 1U) != 0; }));
  }
}

TEST(Buffer, shared_memory_is_seen_by_a_second_mapping_which_outlives_its_owner) {
  Buffer owner(8192, MemoryKind::pageable, Sharing::machine);
  const std::string path = owner.shared_path();
  Buffer other = Buffer::open_shared(path);
  EXPECT_EQ(other.size(), 8192U);
  owner.data()[100] = std::byte{42};
  EXPECT_EQ(other.data()[100], std::byte{42});
  owner = Buffer();
  EXPECT_EQ(other.data()[100], std::byte{42});
  EXPECT_TRUE(other.shared_path().empty()) << "only the owner offers it";
}

TEST(Buffer, nobody_can_make_shared_memory_shorter) {
  const Buffer owner(8192, MemoryKind::pageable, Sharing::machine);
  EXPECT_EQ(ftruncate(owner.shared_file(), 4096), -1);
  EXPECT_EQ(ftruncate(owner.shared_file(), 16384), -1);
  struct stat status {};
  ASSERT_EQ(fstat(owner.shared_file(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U) << "for the same user only";
}

TEST(Buffer, a_path_of_another_form_is_refused) {
  for (const char* path : {"", "/", "/proc/1/fd/", "/proc//fd/3", "/proc/1/fd/3 ", "/proc/+1/fd/3", "/proc/-1/fd/3",
                           "/proc/01/fd/3", "/proc/1/fd/../mem", "/proc/1/mem", "proc/1/fd/3", "/proc/1/fd/3/x",
                           "/proc/self/fd/3", "/proc/99999999999999999999/fd/3", "/dev/shm/rashpa"}) {
    EXPECT_THROW(Buffer::open_shared(path), ConfigError) << path;
  }
  EXPECT_EQ(parse_shared_path("/proc/17/fd/0"), std::pair(17, 0));
}

TEST(Buffer, what_is_no_sealed_memory_is_refused) {
  EXPECT_THROW(Buffer::open_shared(shared_path(getpid(), 1'000'000)), ResourceError) << "no such file";
  EXPECT_THROW(Buffer::open_shared(shared_path(2'000'000'000, 3)), ResourceError) << "no such process";
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  EXPECT_THROW(Buffer::open_shared(shared_path(getpid(), pipe_ends[0])), ConfigError) << "a pipe";
  const int unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(unsealed, 4096), 0);
  EXPECT_THROW(Buffer::open_shared(shared_path(getpid(), unsealed)), ConfigError) << "it could become shorter";
  for (const int file : {pipe_ends[0], pipe_ends[1], unsealed}) close(file);
}

TEST(Buffer, memory_that_becomes_shorter_before_it_is_sealed_is_as_long_as_it_is_then) {
  const int peers = memfd_create("peer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(peers, 1 << 20), 0);
  g_shortened = peers;
  const Buffer buffer = Buffer::open_shared(shared_path(getpid(), peers));
  EXPECT_EQ(buffer.size(), 4096U) << "a touch behind that is a bus error";
  buffer.data()[buffer.size() - 1] = std::byte{1};
  close(peers);
}

TEST(Buffer, a_buffer_too_large_for_the_machine_is_refused) {
  EXPECT_THROW(Buffer(available_bytes() * 2, MemoryKind::pageable), ResourceError);
  EXPECT_THROW(Buffer(available_bytes() * 2, MemoryKind::huge, Sharing::machine), ResourceError);
  EXPECT_THROW(Buffer(0, MemoryKind::pageable), ConfigError);
}

TEST(Buffer, moving_leaves_one_owner) {
  Buffer first(4096, MemoryKind::pageable);
  std::byte* address = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), address);
  // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the moved-from state is the subject
  EXPECT_EQ(first.data(), nullptr);
}

TEST(MemoryKind, names_go_both_ways_and_a_wrong_one_is_refused) {
  for (auto kind : {MemoryKind::pageable, MemoryKind::huge}) {
    EXPECT_EQ(memory_kind(name_of(kind)), kind);
  }
  EXPECT_THROW(memory_kind("gpu?"), ConfigError);
}

}  // namespace
}  // namespace rashpa::memory
