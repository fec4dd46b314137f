// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: the first byte chooses a detector, the rest are datagrams of which each header but its frame and packet
/// number is made right, or left as it is. Images come out once and in order, and nothing outside the region changes.
#include <cstdlib>
#include <cstring>

#include "rashpa/link/sls/port_handler.hpp"
#include "rashpa/link/sls/testing/testing.hpp"

namespace rashpa::link::sls {
namespace {

void check_fuzzed(bool ok) {
  if (!ok) std::abort();
}

class InOrder final : public ArrivalOutput {
 public:
  [[nodiscard]] bool ready(std::uint32_t) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    check_fuzzed(arrival.index == next_++);
    return true;
  }
  [[nodiscard]] std::uint64_t next() const noexcept { return next_; }

 private:
  std::uint64_t next_ = 0;
};

Options options_of(unsigned choice) {
  Options options;
  options.detector = static_cast<Detector>(choice % 3);
  options.interfaces = 1 + choice / 3 % 2;
  constexpr std::uint32_t kBits[] = {4, 8, 12, 16, 32};
  options.bits = kBits[choice / 6 % 5];
  options.gigabits = choice / 30 % 2 == 0 ? 10 : 1;
  return options;
}

void fuzz(std::span<const std::byte> bytes) {
  const Options options = options_of(static_cast<unsigned>(bytes[0]));
  const auto place = testing::places(options, 1, 1000, 3);
  constexpr std::size_t kGuard = 4096;
  std::vector<std::byte> memory(place.bytes + 2 * kGuard, std::byte{0x5A});
  FrameCounts counts(1, 1);
  PortCounters counters;
  PortHandler port(options, 0, place.dtps, 0, std::span(memory).subspan(kGuard, place.bytes), counts, counters);
  InOrder out;
  std::vector<std::byte> datagram = testing::datagram(options, 0, 1, 0, 0);
  std::int64_t now = 1;
  for (std::size_t at = 1; at + 12 <= bytes.size(); at += 12) {
    now += 100'000;
    const std::span<const std::byte> part = bytes.subspan(at, 12);
    if (static_cast<unsigned>(part[11]) % 16 == 0) {  // anything at all
      port.handle(part, now);
      std::vector<std::byte> odd = datagram;
      std::memcpy(odd.data() + static_cast<unsigned>(part[10]) % 40, part.data(), 8);
      port.handle(odd, now);
      continue;
    }
    std::memcpy(datagram.data(), part.data(), static_cast<unsigned>(part[11]) % 8 + 1);
    std::memcpy(datagram.data() + 12, part.data() + 8, 2);
    port.handle(datagram, now);
    port.decide_touched(now, out);
    if (static_cast<unsigned>(part[10]) % 4 == 0) port.tiles()[0]->release(out.next());
    if (static_cast<unsigned>(part[10]) % 32 == 1) port.tiles()[0]->close(out.next() + 1);
    port.decide_all(now, out, Taken::all);
  }
  for (std::size_t i = 0; i < kGuard; ++i) {
    check_fuzzed(memory[i] == std::byte{0x5A});
    check_fuzzed(memory[memory.size() - 1 - i] == std::byte{0x5A});
  }
}

}  // namespace
}  // namespace rashpa::link::sls

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 13) rashpa::link::sls::fuzz({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
