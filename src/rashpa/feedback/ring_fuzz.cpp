// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: a ring whose words another process has changed. Four bytes a change: the word, and its new value; the
/// first byte of the input says whether the file is cut. A reader refuses it, or reads records that are within its
/// bounds.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/feedback/ring_reader.hpp"
#include "rashpa/feedback/ring_writer.hpp"
#include "rashpa/feedback/testing.hpp"

namespace rashpa::feedback {
namespace {

constexpr std::uint64_t kEntries = 4;

void check(bool ok) {
  if (!ok) std::abort();
}

/// A ring of four entries with six images, as its file has it.
std::vector<std::uint64_t> good_ring() {
  RingWriter ring("", R"({"format": "rashpa feedback"})", testing::small(kEntries, 1));
  testing::Numbered numbered;
  for (std::uint64_t n = 3; n < 9; ++n) ring.publish(numbered.image(n), 0);
  ring.end();
  const FileDescriptor file(::open(ring.open_path().c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::uint64_t> words(1U << 16U);
  const ssize_t bytes = ::read(file.get(), words.data(), words.size() * kWordBytes);
  check(bytes > 0);
  words.resize(static_cast<std::size_t>(bytes) / kWordBytes);
  return words;
}

/// Numbers near which mistakes are made, with the input's own low byte.
std::uint64_t value_of(std::uint8_t kind, std::uint8_t low, std::uint64_t was) {
  switch (kind % 8) {
    case 0:
      return low;
    case 1:
      return was + low;
    case 2:
      return was - low;
    case 3:
      return ~std::uint64_t{0} - low;
    case 4:
      return std::uint64_t{1} << (low % 64U);
    case 5:
      return was ^ std::uint64_t{1} << (low % 64U);
    case 6:
      return std::uint64_t{low} << 32U | low;
    default:
      return std::uint64_t{low} * 8;
  }
}

}  // namespace
}  // namespace rashpa::feedback

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::feedback;  // NOLINT(google-build-using-namespace): of one function
  if (size < 1) return 0;
  static const std::vector<std::uint64_t> good = good_ring();
  static const std::size_t entries = good[head::kEntriesAt] / kWordBytes;
  std::vector<std::uint64_t> words = good;
  for (std::size_t at = 1; at + 4 <= size; at += 4) {
    // the head's 32 words, or those of the entries
    const std::size_t place =
        data[at] % 2 == 0 ? data[at + 1] % 32U : std::min(entries + data[at + 1], good.size() - 1);
    words[place] = value_of(data[at + 2], data[at + 3], words[place]);
  }
  std::size_t bytes = words.size() * kWordBytes;
  if (data[0] % 4 == 3) bytes -= std::min(bytes, std::size_t{data[0]} * 64);
  const rashpa::FileDescriptor file(::memfd_create("ring", MFD_CLOEXEC));
  check(::write(file.get(), words.data(), bytes) == static_cast<ssize_t>(bytes));
  try {
    RingReader reader("/proc/self/fd/" + std::to_string(file.get()), data[0] % 2 == 0 ? Begin::oldest : Begin::next);
    for (int i = 0; i < 64 && reader.next() == Got::record; ++i) {
      std::size_t rows = 0;
      for (const TableShape& table : reader.tables()) rows += table.bytes() / kWordBytes;
      check(reader.record().size() >= entry::kScalars + reader.columns());
      check(reader.record().size() <= entry::kScalars + reader.columns() + rows);
    }
  } catch (const rashpa::FileError&) {  // refused: as it should be
  }
  return 0;
}
