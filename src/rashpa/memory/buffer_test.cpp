#include "rashpa/memory/buffer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "rashpa/core/error.hpp"

namespace rashpa::memory {
namespace {

TEST(Buffer, every_kind_gives_zeroed_writable_memory) {
  for (auto kind : {MemoryKind::pageable, MemoryKind::huge, MemoryKind::shared}) {
    Buffer buffer(3'000'001, kind, "/rashpa-test-" + std::to_string(getpid()));
    ASSERT_EQ(buffer.size(), 3'000'001U);
    EXPECT_TRUE(
        std::all_of(buffer.bytes().begin(), buffer.bytes().end(), [](std::byte b) { return b == std::byte{0}; }));
    buffer.bytes().back() = std::byte{7};
    EXPECT_NE(buffer.granted(), "none");
  }
}

TEST(Buffer, shared_memory_is_seen_by_a_second_mapping_and_gone_with_its_owner) {
  const std::string name = "/rashpa-test-open-" + std::to_string(getpid());
  {
    Buffer owner(8192, MemoryKind::shared, name);
    Buffer other = Buffer::open_shared(name);
    owner.data()[100] = std::byte{42};
    EXPECT_EQ(other.data()[100], std::byte{42});
  }
  EXPECT_THROW(Buffer::open_shared(name), ResourceError);
}

TEST(Buffer, a_buffer_too_large_for_the_machine_is_refused) {
  EXPECT_THROW(Buffer(available_bytes() * 2, MemoryKind::pageable), ResourceError);
  EXPECT_THROW(Buffer(0, MemoryKind::pageable), ConfigError);
  EXPECT_THROW(Buffer(4096, MemoryKind::shared, "no-slash"), ConfigError);
}

TEST(Buffer, moving_leaves_one_owner) {
  Buffer first(4096, MemoryKind::pageable);
  std::byte* address = first.data();
  Buffer second = std::move(first);
  EXPECT_EQ(second.data(), address);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move): the moved-from state is the subject
}

TEST(MemoryKind, names_go_both_ways_and_a_wrong_one_is_refused) {
  for (auto kind : {MemoryKind::pageable, MemoryKind::huge, MemoryKind::shared}) {
    EXPECT_EQ(memory_kind(name_of(kind)), kind);
  }
  EXPECT_THROW(memory_kind("gpu?"), ConfigError);
}

}  // namespace
}  // namespace rashpa::memory
