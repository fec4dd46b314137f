// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/byte_stream.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zstd.h>

#include <fstream>
#include <numeric>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"

namespace rashpa::dataset {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::size_t kBytes = 200'003;  // several times what is unpacked at once

/// Bytes that zstd cannot make much smaller.
Bytes some_bytes() {
  Bytes made(kBytes);
  std::uint32_t value = 1;
  for (std::byte& one : made) one = static_cast<std::byte>((value = value * 1664525U + 1013904223U) >> 24U);
  return made;
}

Bytes packed(std::span<const std::byte> bytes) {
  Bytes made(ZSTD_compressBound(bytes.size()));
  made.resize(ZSTD_compress(made.data(), made.size(), bytes.data(), bytes.size(), 1));
  return made;
}

class Stream : public testing::TestWithParam<Compression> {
 protected:
  [[nodiscard]] Bytes stored(std::span<const std::byte> bytes) const {
    return GetParam() == Compression::zstd ? packed(bytes) : Bytes(bytes.begin(), bytes.end());
  }
  [[nodiscard]] ByteStream stream(const Bytes& bytes) const { return {"m.bin", bytes, GetParam()}; }
};

TEST_P(Stream, bytes_come_in_order_however_many_are_read_at_once) {
  const Bytes wanted = some_bytes(), file = stored(wanted);
  for (const std::size_t piece : {std::size_t{1009}, std::size_t{65'536}, kBytes, kBytes + 1}) {
    ByteStream from = stream(file);
    Bytes found, part(piece);
    std::size_t got = 0;
    do {
      got = from.read(part);
      found.insert(found.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
    } while (got == piece);
    EXPECT_EQ(found, wanted) << piece << " at once";
    EXPECT_EQ(from.read(part), 0U) << "behind the end";
  }
}

TEST_P(Stream, what_is_passed_over_is_not_read_later) {
  const Bytes wanted = some_bytes(), file = stored(wanted);
  ByteStream from = stream(file);
  Bytes part(10);
  EXPECT_EQ(from.skip(100'000), 100'000U);
  ASSERT_EQ(from.read(part), part.size());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), wanted.begin() + 100'000));
  EXPECT_EQ(from.skip_rest(kBytes), kBytes - 100'010);
  EXPECT_EQ(from.skip(5), 0U);
}

INSTANTIATE_TEST_SUITE_P(Compressions, Stream, testing::Values(Compression::none, Compression::zstd),
                         [](const auto& one) { return one.param == Compression::none ? "none" : "zstd"; });

TEST(ByteStream, the_rest_of_packed_data_is_unpacked_no_further_than_it_may_be) {
  const Bytes file = packed(Bytes(1 << 20));
  ASSERT_LT(file.size(), 1000U) << "zeros";
  ByteStream from("m.zst", file, Compression::zstd);
  EXPECT_EQ(from.skip_rest(1000), 1000U);
}

TEST(ByteStream, frames_of_zstd_behind_one_another_are_one_stream) {
  const Bytes bytes = some_bytes();
  Bytes file = packed(std::span(bytes).first(77'777));
  const Bytes rest = packed(std::span(bytes).subspan(77'777));
  file.insert(file.end(), rest.begin(), rest.end());
  ByteStream from("m.zst", file, Compression::zstd);
  Bytes found(kBytes);
  EXPECT_EQ(from.read(found), kBytes);
  EXPECT_EQ(found, bytes);
}

TEST(ByteStream, packed_data_that_ends_early_or_is_damaged_is_an_error_with_its_name) {
  const Bytes file = packed(some_bytes());
  Bytes out(kBytes);
  const auto text_of = [&](const Bytes& bytes) -> std::string {
    ByteStream from("m.zst", bytes, Compression::zstd);
    try {
      from.read(out);
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(text_of(file), "");
  for (const std::size_t left : {file.size() - 1, file.size() / 2, std::size_t{7}}) {
    EXPECT_EQ(text_of(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(left))),
              "dataset: m.zst: its zstd data ends too early; copy the file again")
        << left << " bytes";
  }
  Bytes damaged = file;
  damaged[0] ^= std::byte{1};
  EXPECT_TRUE(text_of(damaged).starts_with("dataset: m.zst: its zstd data is damaged: ")) << text_of(damaged);
}

TEST(ByteStream, anything_but_a_regular_file_is_refused_before_a_byte_is_read) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  for (const std::string& path : {folder.file("pipe"), folder.path().string(), std::string("/dev/zero")}) {
    EXPECT_THROW(ByteStream(path, Compression::none), FileError) << path;
  }
  EXPECT_THROW(ByteStream(folder.file("gone"), Compression::none), FileError);
  std::ofstream(folder.file("small")) << "abc";
  ByteStream from(folder.file("small"), Compression::none);
  Bytes out(8);
  EXPECT_EQ(from.read(out), 3U);
}

}  // namespace
}  // namespace rashpa::dataset
