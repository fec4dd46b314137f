// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/file_mapping.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"

namespace rashpa::memory {
namespace {

constexpr std::size_t kBytes = 16384;

FileDescriptor made(const TemporaryFolder& folder, const std::string& name) {
  FileDescriptor file(::open(folder.file(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(::ftruncate(file.get(), kBytes), 0);
  return file;
}

TEST(FileMapping, shows_the_file_and_what_is_written_to_it) {
  const TemporaryFolder folder;
  const FileDescriptor file = made(folder, "a");
  const FileMapping writer(file.get(), kBytes, FileAccess::write);
  const FileMapping reader(file.get(), kBytes, FileAccess::read);
  static_cast<volatile char*>(writer.data())[5000] = 'x';
  EXPECT_EQ(static_cast<volatile char*>(reader.data())[5000], 'x');
  EXPECT_FALSE(writer.cut());
  EXPECT_FALSE(reader.cut());
}

TEST(FileMapping, outlives_a_file_that_is_cut) {
  const TemporaryFolder folder;
  const FileDescriptor file = made(folder, "a");
  const FileMapping writer(file.get(), kBytes, FileAccess::write);
  const FileMapping reader(file.get(), kBytes, FileAccess::read);
  auto* const bytes = static_cast<volatile char*>(writer.data());
  for (std::size_t at = 0; at < kBytes; at += 512) bytes[at] = 'x';
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  EXPECT_EQ(static_cast<volatile char*>(reader.data())[8192], '\0');
  EXPECT_EQ(static_cast<volatile char*>(reader.data())[512], 'x') << "this page is still the file's";
  EXPECT_TRUE(reader.cut());
  EXPECT_FALSE(writer.cut()) << "it has not touched what is gone";
  for (std::size_t at = 0; at < kBytes; at += 512) bytes[at] = 'y';
  EXPECT_TRUE(writer.cut());
  EXPECT_EQ(static_cast<volatile char*>(reader.data())[512], 'y');
  EXPECT_EQ(bytes[12288], 'y');
}

TEST(FileMapping, of_many_threads_are_all_held) {
  const TemporaryFolder folder;
  std::vector<std::jthread> threads;
  threads.reserve(8);
  for (int n = 0; n < 8; ++n) {
    threads.emplace_back([&, n] {
      for (int round = 0; round < 100; ++round) {  // new ones come where others have just gone
        const FileDescriptor file = made(folder, std::to_string(n));
        const FileMapping mapping(file.get(), kBytes, FileAccess::write);
        EXPECT_EQ(::ftruncate(file.get(), 0), 0);
        auto* const bytes = static_cast<volatile char*>(mapping.data());
        for (std::size_t at = 0; at < kBytes; at += 64) bytes[at] = 'z';
        EXPECT_TRUE(mapping.cut());
      }
    });
  }
}

TEST(FileMapping, of_no_file_is_none) {
  const FileMapping mapping(-1, kBytes, FileAccess::read);
  EXPECT_EQ(mapping.data(), nullptr);
  EXPECT_EQ(errno, EBADF);
  EXPECT_FALSE(mapping.cut());
}

/// Returns true when the signal ended the process, or, where a sanitizer takes it, a message and an exit code did.
bool ended_by_it(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) == SIGBUS; }

TEST(FileMappingDeathTest, lets_other_bus_errors_end_the_process) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const TemporaryFolder folder;
        const FileDescriptor file = made(folder, "a");
        const FileMapping mapping(file.get(), kBytes, FileAccess::write);
        ::raise(SIGBUS);
      },
      ended_by_it, "");
}

}  // namespace
}  // namespace rashpa::memory
