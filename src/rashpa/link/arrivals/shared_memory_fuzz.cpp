// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: writes of another process into the memory that both share: the words and records that announce images,
/// and, where the first byte is 0, the control block that a source opens.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/arrivals/event_handler.hpp"
#include "rashpa/link/pcie/control_block.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link {
namespace {

using Bytes = std::span<const std::byte>;

void check(bool ok) {
  if (!ok) std::abort();
}

// Gives a record the CRC32C that it would be refused without.
void repair(std::span<std::byte> record) {
  const std::uint32_t crc = crc32c(record.first(FrameRecord::kBytes - sizeof crc));
  std::memcpy(record.data() + FrameRecord::kBytes - sizeof crc, &crc, sizeof crc);
}

class InOrder final : public ArrivalOutput {
 public:
  [[nodiscard]] bool ready(std::uint32_t) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    check(arrival.index == next_++);
    return true;
  }

 private:
  std::uint64_t next_ = 0;
};

// Four bytes an order: an action and two numbers. Every image is decided once, in order, and all are in the end.
void fuzz_announcements(Bytes bytes, bool credits) {
  constexpr std::uint64_t kImages = 8;
  const ReceiverDtp dtp = testing::small_dtp(1, kImages, 4, 64, 2);
  std::array<std::byte, 1024> region{};
  const std::span<std::byte> used = std::span(region).first(testing::end_of(dtp));
  ReceiverCounters counters;
  EventDtp port(dtp, 0, used, credits ? NotFree::late : NotFree::overrun, Verify::all, counters);
  EventHandler handler(used, counters);
  InOrder out;
  std::int64_t now = 0;
  for (; bytes.size() >= 4; bytes = bytes.subspan(4)) {
    const auto number = static_cast<std::uint32_t>(bytes[1]);
    const std::uint64_t index = number % (2 * kImages);
    now += 1000 * static_cast<std::int64_t>(bytes[3]);
    switch (static_cast<unsigned>(bytes[0]) % 8) {
      case 0:  // any word
        handler.announce(port, number << 24 | static_cast<std::uint32_t>(bytes[2]));
        break;
      case 1:
        handler.announce(port, immediate_of(dtp.id, index));
        break;
      case 2:
        while (handler.next_event(port, now, out)) {
        }
        break;
      case 3:
        handler.event(port, immediate_of(dtp.id, index), now, out);
        break;
      case 4: {  // the record of an image, one byte of it wrong or none
        FrameRecord record;
        record.dtp = dtp.id;
        record.index = index;
        record.slot = static_cast<std::uint32_t>(index % dtp.placement.slots);
        record.frame_number = dtp.slice.frame(index);
        record.lines = dtp.placement.lines;
        record.payload_bytes = dtp.placement.payload_bytes();
        record.run = dtp.run;
        record.payload_crc32c = crc32c(used.subspan(dtp.placement.image_offset(index), record.payload_bytes));
        const auto place = used.subspan(dtp.placement.record_offset(index)).first<FrameRecord::kBytes>();
        encode(record, place);
        if (bytes[2] < std::byte{128}) place[static_cast<std::size_t>(bytes[2])] ^= bytes[3];
        if (bytes[3] == std::byte{1}) repair(place);
        break;
      }
      case 5:  // pixels
        used[static_cast<std::size_t>(number) * 4 % used.size()] = bytes[2];
        break;
      case 6:
        port.release(std::min<std::uint64_t>(number, port.assembly.undecided()));
        handler.decide(port, now, out);
        break;
      default:
        port.close(number % (kImages + 1));
        handler.decide(port, now, out);
        break;
    }
    check(port.looked_at <= port.announced && port.announced <= kImages);
    static_cast<void>(port.overwritten(index));
  }
  port.close(kImages);
  handler.decide(port, now, out);
  handler.decide(port, now, out);
  check(port.assembly.finished());
}

// A source opens what an endpoint names: a block of one DTP, of which the input writes the header.
void fuzz_control_block(Bytes bytes) {
  static const memory::Buffer region(4096, memory::MemoryKind::pageable, memory::Sharing::machine);
  static pcie::ControlBlock block(4096, region.shared_file(), 2, 1);
  static const Endpoint endpoint = block.endpoint(1);
  static const memory::Buffer peer = memory::Buffer::open_shared(endpoint.address);
  static const pcie::Header good = *reinterpret_cast<const pcie::Header*>(peer.data());
  pcie::Header header = good;
  for (; bytes.size() >= 2; bytes = bytes.subspan(2)) {
    reinterpret_cast<std::byte*>(&header)[static_cast<std::size_t>(bytes[0]) % sizeof header] = bytes[1];
  }
  std::memcpy(peer.data(), &header, sizeof header);
  try {
    const auto remote = pcie::RemoteMemory::open(endpoint);
    check(!remote->region().empty() && remote->dtps() > 0);
    // Reading the first and last of everything is allowed, whatever lies there; the sum is only for the compiler.
    static volatile std::uint64_t sum = 0;
    sum = sum + static_cast<std::uint64_t>(remote->region().front()) +
          static_cast<std::uint64_t>(remote->region().back());
    for (std::uint32_t d = 0; d < remote->dtps(); ++d) {
      sum = sum + remote->dtp(d).granted.load() + remote->dtp(d).begun.load();
      sum = sum + static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&remote->thread_of(d) + 1)[-1]);
    }
  } catch (const Error&) {
  }
  std::memcpy(peer.data(), &good, sizeof good);
}

}  // namespace
}  // namespace rashpa::link

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::link;
  if (size < 2) return 0;
  const Bytes bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  if (data[0] == 0) {
    fuzz_control_block(bytes);
  } else {
    fuzz_announcements(bytes, data[0] % 2 != 0);
  }
  return 0;
}
