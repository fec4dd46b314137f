// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/npy_header.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "rashpa/core/error.hpp"

namespace rashpa::dataset {
namespace {

std::string npy(const std::string& dictionary, unsigned major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  for (unsigned i = 0; i < (major == 1 ? 2U : 4U); ++i) out += static_cast<char>(dictionary.size() >> (8 * i) & 0xFF);
  return out + dictionary;
}

NpyHeader parse(const std::string& text) { return parse_npy_header(std::as_bytes(std::span(text))); }

TEST(NpyHeader, versions_1_to_3_are_read) {
  for (unsigned major : {1U, 2U, 3U}) {
    const NpyHeader header =
        parse(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (10, 512, 1024), }   \n", major));
    EXPECT_EQ(header.pixel, PixelType::u16);
    EXPECT_EQ(header.shape, (std::vector<std::uint64_t>{10, 512, 1024}));
  }
}

TEST(NpyHeader, keys_in_any_order_and_double_quotes_are_read) {
  const NpyHeader header = parse(npy("{\"shape\":(3,),\"descr\":\"|u1\",\"fortran_order\":False}"));
  EXPECT_EQ(header.pixel, PixelType::u8);
  EXPECT_EQ(header.shape, (std::vector<std::uint64_t>{3}));
  EXPECT_TRUE(parse(npy("{'shape':(),'descr':'<f4','fortran_order':False}")).shape.empty());
}

TEST(NpyHeader, what_is_not_a_plain_array_of_pixels_is_refused) {
  for (const char* text : {
           "{'descr': '>u2', 'fortran_order': False, 'shape': (1, 2)}",
           "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2)}",
           "{'descr': [('a', '<u2')], 'fortran_order': False, 'shape': (1, 2)}",
           "{'descr': '<u2', 'fortran_order': True, 'shape': (1, 2)}",
           "{'descr': '<u2', 'fortran_order': 0, 'shape': (1, 2)}",
           "{'descr': '<u2', 'fortran_order': False}",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (1 2)}",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (3)}",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (-1, 2)}",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (99999999999999999999, 2)}",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}",
           "{'descr': '<u2', 'descr': '<u2', 'fortran_order': False, 'shape': (1, 2)}",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2)} x",
           "{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2), 'more': 1}",
           "{'descr': '<u2",
           "{",
           "",
       }) {
    EXPECT_THROW(parse(npy(text)), FileError) << text;
  }
}

TEST(NpyHeader, what_a_message_quotes_is_printable) {
  try {
    parse(npy("{'descr': '<f8\xff', 'fortran_order': False, 'shape': (1, 2)}"));
    FAIL() << "accepted";
  } catch (const FileError& error) {
    EXPECT_NE(std::string_view(error.what()).find("'<f8\\xff' is not a pixel type"), std::string_view::npos)
        << error.what();
  }
}

TEST(NpyHeader, a_wrong_start_length_or_version_is_refused) {
  const std::string good = npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2)}");
  ASSERT_NO_THROW(parse(good));
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_THROW(parse(good.substr(0, length)), FileError) << length;
  std::string other = good;
  other[0] = 'x';
  EXPECT_THROW(parse(other), FileError);
  EXPECT_THROW(parse(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1, 2)}", 4)), FileError);
  EXPECT_THROW(parse(npy(std::string(70000, ' '), 2)), FileError);
}

TEST(NpyHeader, pixels_never_begin_inside_the_prefix) {
  for (const std::size_t length : {0U, 1U}) {
    const std::string text = npy(std::string(length, '{')) + std::string(64, '\0');
    const std::span bytes = std::as_bytes(std::span(text));
    EXPECT_THROW(npy_data_offset(bytes.first<kNpyPrefix>()), FileError) << length;
    EXPECT_THROW(parse_npy_header(bytes), FileError) << length;
  }
}

}  // namespace
}  // namespace rashpa::dataset
