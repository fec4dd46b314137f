#include "rashpa/link/pcie/cpu_engine.hpp"

#include <cstring>

#include "rashpa/link/stream_copy.hpp"

namespace rashpa::link::pcie {

std::size_t CpuEngine::copy(std::span<const BufferDescriptor> writes) noexcept {
  for (const BufferDescriptor& write : writes) {
    crc_ = stream_copy_crc32c(memory_.data() + write.destination, {write.source, write.bytes}, crc_);
  }
  done_ += writes.size();
  return writes.size();
}

bool CpuEngine::announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept {
  std::memcpy(memory_.data() + event.destination, event.record, FrameRecord::kBytes);
  stream_fence();
  // An exchange, since the receiver's flag must not be read before the word is out; it also releases the record.
  lock.exchange(event.immediate, std::memory_order_seq_cst);
  return true;
}

std::unique_ptr<Engine> make_engine(EngineKind kind, std::span<std::byte> memory) {
  switch (kind) {
    case EngineKind::cpu:
      break;
  }
  return std::make_unique<CpuEngine>(memory);
}

}  // namespace rashpa::link::pcie
