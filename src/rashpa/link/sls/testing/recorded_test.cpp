// SPDX-License-Identifier: Apache-2.0
/// Recorded datagrams of an EIGER module (shared/data/eiger_udp, beside the repository) against the known image.
#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "rashpa/link/sls/port_handler.hpp"
#include "rashpa/link/sls/testing/testing.hpp"

namespace rashpa::link::sls {
namespace {

constexpr std::uint32_t kFirstPort = 50028;
constexpr std::uint64_t kFirstFrame = 29512;
constexpr std::size_t kImage = std::size_t{512} * 1024;

std::vector<char> recorded() {
  const std::filesystem::path file =
      std::filesystem::path(RASHPA_SHARED_DATA) / "eiger_udp/eiger_beb60_beb30_2frames_32bit.bin.zst";
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
  if (packed.empty()) return {};
  std::vector<char> out(4'247'552);
  out.resize(ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size()));
  return out;
}

std::uint64_t sum_of(const std::uint32_t* image, std::size_t row, std::size_t column) {
  std::uint64_t sum = 0;
  for (std::size_t r = row; r < row + 256; ++r) {
    sum = std::accumulate(image + r * 1024 + column, image + r * 1024 + column + 512, sum);
  }
  return sum;
}

TEST(SlsRecorded, a_module_of_eiger_is_assembled_as_its_authors_do) {
  const std::vector<char> records = recorded();
  if (records.empty()) GTEST_SKIP() << "no recorded datagrams in " << RASHPA_SHARED_DATA;
  Options options;
  options.detector = Detector::eiger;
  options.bits = 32;
  constexpr std::uint32_t kSlots = 2;
  std::vector<std::byte> region(kSlots * kImage * 4 + 4 * 3 * FrameRecord::kBytes);
  FrameCounts counts(kFirstFrame, 4);
  PortCounters counters;
  testing::Decided out;
  std::vector<std::unique_ptr<PortHandler>> ports;
  for (std::uint32_t p = 0; p < 4; ++p) {
    ReceiverDtp dtp;
    dtp.id = p;
    dtp.images = 2;
    dtp.placement = {.pixels_offset = 0,
                     .slot_bytes = kImage * 4,
                     .slots = kSlots,
                     .first_line_offset = p / 2 * 256 * 4096ULL + p % 2 * 2048,
                     .pitch = 4096,
                     .line_bytes = 2048,
                     .lines = 256,
                     .records_offset = kSlots * kImage * 4 + p * 3 * FrameRecord::kBytes};
    ports.push_back(std::make_unique<PortHandler>(options, p, std::span(&dtp, 1), p, region, counts, counters));
  }
  const auto* const bytes = reinterpret_cast<const std::byte*>(records.data());
  for (std::size_t at = 0; at + 4 <= records.size();) {
    const auto word = [&](std::size_t i) {
      return static_cast<std::uint32_t>(bytes[at + i]) | static_cast<std::uint32_t>(bytes[at + i + 1]) << 8;
    };
    const std::uint32_t port = word(0) - kFirstPort;
    const std::uint32_t length = word(2);
    ASSERT_LT(port, 4U);
    ports[port]->handle({bytes + at + 4, length}, 0);
    ports[port]->decide_touched(0, out);
    at += 4 + length;
  }
  ASSERT_EQ(out.arrivals.size(), 8U);
  for (const Arrival& arrival : out.arrivals) EXPECT_EQ(arrival.completeness, Completeness::complete);
  const auto* const first = reinterpret_cast<const std::uint32_t*>(region.data());
  EXPECT_EQ(sum_of(first, 0, 0), 4249985U);
  EXPECT_EQ(sum_of(first, 0, 512), 7888344U);
  EXPECT_EQ(sum_of(first, 256, 0), 5792736U);
  EXPECT_EQ(sum_of(first, 256, 512), 16728791U);
  EXPECT_EQ(first[335 * 1024 + 1023], 45008U);
  EXPECT_EQ(first[0], 53U);
  EXPECT_EQ(first[1023], 118U);
  EXPECT_EQ(first[511 * 1024], 52U);
  EXPECT_EQ(first[255 * 1024 + 300], 72U);
  EXPECT_EQ(first[255 * 1024], 83U) << "the rows of double size lie at the middle";
  EXPECT_EQ(first[256 * 1024], 86U);
  EXPECT_EQ(counters.packets.get(), 1024U);
  EXPECT_EQ(counters.malformed.get() + counters.wrong_port.get() + counters.no_frame.get(), 0U);
}

}  // namespace
}  // namespace rashpa::link::sls
