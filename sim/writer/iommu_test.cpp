// SPDX-License-Identifier: Apache-2.0
/// Bytes of a beat at their places, and faults where nothing is mapped.
#include "iommu.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::sim {
namespace {

constexpr std::uint64_t kAt = 0x7000;

std::array<std::byte, Iommu::kBeat> beat() {
  std::array<std::byte, Iommu::kBeat> made{};
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::byte>(i + 1);
  return made;
}

TEST(Iommu, strobes_say_which_bytes_are_written) {
  std::vector<std::byte> memory(200);
  Iommu iommu;
  iommu.map(kAt, memory);
  const std::uint64_t strobe = 1ULL << 63 | 1ULL << 5 | 1;
  ASSERT_TRUE(iommu.may_write(kAt + 64, strobe));
  iommu.write(kAt + 64, beat(), strobe);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    const bool written = i == 64 || i == 69 || i == 127;
    EXPECT_EQ(memory[i], written ? static_cast<std::byte>(i - 63) : std::byte{}) << i;
  }
  EXPECT_EQ(iommu.faults(), 0U);
}

TEST(Iommu, a_word_is_written_alone) {
  alignas(4) std::array<std::byte, 64> memory{};
  Iommu iommu;
  iommu.map(kAt, memory);
  ASSERT_TRUE(iommu.may_write(kAt, 0xF0));
  iommu.write(kAt, beat(), 0xF0);
  EXPECT_EQ(memory[3], std::byte{});
  EXPECT_EQ(memory[4], std::byte{5});
  EXPECT_EQ(memory[7], std::byte{8});
  EXPECT_EQ(memory[8], std::byte{});
}

TEST(Iommu, what_is_not_mapped_is_a_fault_and_named) {
  std::vector<std::byte> memory(100);
  Iommu iommu;
  EXPECT_FALSE(iommu.may_write(kAt, 1));
  iommu.map(kAt, memory);
  EXPECT_TRUE(iommu.may_write(kAt + 64, (1ULL << 36) - 1)) << "up to its last byte";
  EXPECT_FALSE(iommu.may_write(kAt + 64, 1ULL << 36)) << "the byte behind it";
  EXPECT_FALSE(iommu.may_write(kAt - 64, 1ULL << 63)) << "the byte before it";
  EXPECT_TRUE(iommu.may_write(kAt - 64, 0)) << "no byte at all";
  EXPECT_EQ(iommu.faults(), 3U);
  EXPECT_EQ(iommu.first_fault(), kAt);
  iommu.unmap(kAt);
  EXPECT_FALSE(iommu.may_write(kAt, 1));
}

TEST(Iommu, maps_lie_apart_at_pages) {
  std::vector<std::byte> memory(2 * Iommu::kPage);
  Iommu iommu;
  iommu.map(kAt, memory);
  EXPECT_THROW(iommu.map(kAt + 64, memory), ConfigError);
  EXPECT_THROW(iommu.map(kAt + Iommu::kPage, memory), ConfigError);
  EXPECT_THROW(iommu.map(kAt - Iommu::kPage, memory), ConfigError);
  EXPECT_THROW(iommu.map(0x100000, {}), ConfigError);
  iommu.map(kAt + 2 * Iommu::kPage, memory);
  iommu.map(kAt - 2 * Iommu::kPage, memory);
}

}  // namespace
}  // namespace rashpa::sim
