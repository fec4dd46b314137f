// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/system/writer_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa {
namespace {

class WriterLockTest : public ::testing::Test {
 protected:
  WriterLockTest() : path_(std::string(::testing::TempDir()) + "writer_lock_" + std::to_string(::getpid())) {}
  ~WriterLockTest() override { std::filesystem::remove(path_); }
  [[nodiscard]] FileDescriptor opened(int mode) const {
    return FileDescriptor(::open(path_.c_str(), mode | O_CREAT | O_CLOEXEC, 0644));
  }
  std::string path_;
};

TEST_F(WriterLockTest, one_writes_at_a_time_and_everybody_sees_it) {
  const FileDescriptor looker = opened(O_RDONLY);
  EXPECT_FALSE(has_writer(looker.get()));
  {
    const FileDescriptor writer = opened(O_RDWR);
    const FileDescriptor other = opened(O_RDWR);
    EXPECT_EQ(take_writer_lock(writer.get()), WriterLock::taken);
    EXPECT_TRUE(has_writer(looker.get()));
    EXPECT_FALSE(lacks_writer(looker.get()));
    EXPECT_EQ(take_writer_lock(other.get()), WriterLock::other);
    EXPECT_EQ(take_writer_lock(looker.get()), WriterLock::other);
  }
  EXPECT_FALSE(has_writer(looker.get()));
}

TEST_F(WriterLockTest, who_only_reads_is_no_writer_whatever_lock_he_has) {
  const FileDescriptor writer = opened(O_RDWR);
  const FileDescriptor reader = opened(O_RDONLY);
  ASSERT_EQ(::flock(reader.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(has_writer(writer.get()));
  EXPECT_EQ(take_writer_lock(writer.get()), WriterLock::taken);
}

TEST_F(WriterLockTest, a_lock_to_read_is_in_the_way_and_is_told_from_a_writer) {
  const FileDescriptor writer = opened(O_RDWR);
  const FileDescriptor reader = opened(O_RDONLY);
  struct flock lock {};
  lock.l_type = F_RDLCK;
  ASSERT_EQ(::fcntl(reader.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_FALSE(has_writer(writer.get()));
  EXPECT_EQ(take_writer_lock(writer.get()), WriterLock::readers);
}

TEST_F(WriterLockTest, what_cannot_be_locked_has_no_writer) {
  const FileDescriptor reader = opened(O_RDONLY);
  EXPECT_EQ(take_writer_lock(reader.get()), WriterLock::none);
  EXPECT_EQ(take_writer_lock(-1), WriterLock::none);
  EXPECT_FALSE(has_writer(-1));
  EXPECT_FALSE(lacks_writer(-1));
  EXPECT_TRUE(lacks_writer(reader.get()));
}

}  // namespace
}  // namespace rashpa
