// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An RNIC in this process, behind the names and versions of libibverbs.so.1, for tests. A program that links it gets
/// it from dlopen() in place of the machine's library. It writes into host memory at once, and into memory of an
/// accelerator (a dma-buf, or peer memory) so that the bytes are visible only after a flush, as over a real bus. It
/// refuses what an RNIC refuses: writes out of bounds, with a wrong key, without a registration, and late ones.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace rashpa::link::testing::rnic {

/// The abilities of the device, as of its driver and of loaded kernel modules.
struct Abilities {
  bool dma_bufs = true;      ///< false: as Soft-RoCE, EOPNOTSUPP
  bool peer_memory = false;  ///< true: nvidia-peermem is loaded
  /// IBV_ODP_SUPPORT_… of RC, as of RNICs and of rxe since Linux 6.15; 0: no paging on demand, as of older ones
  std::uint32_t on_demand_of_rc = 0;
  std::uint32_t vendor = 0x02C9;
  int most_reads = 16;  ///< RDMA READs in flight of a queue pair
};

/// The writes so far, by their fate.
struct Fates {
  std::uint64_t written = 0;        ///< accepted messages
  std::uint64_t wrong_key = 0;      ///< refused: no such registration, or of another protection domain
  std::uint64_t out_of_bounds = 0;  ///< refused: not inside the registration
  std::uint64_t not_writable = 0;   ///< refused: registered without remote write
  std::uint64_t read = 0;           ///< RDMA READs that were answered
  std::uint64_t not_readable = 0;   ///< refused: registered, or connected, without remote read
  std::uint64_t late = 0;           ///< refused: the queue pair has ended
  std::uint64_t flushes = 0;        ///< calls of flush()
};

/// Writes bytes at an offset of an exported file that cannot be mapped, such as that of a GPU.
using WriteFile = std::function<void(std::uint64_t offset, std::span<const std::byte> bytes)>;

/// Starts anew: default abilities, no fates, nothing on the wire. All objects of verbs must have been destroyed.
void reset();
void set(const Abilities& abilities);
/// Declares memory of an accelerator: plain registrations of it are refused unless peer memory is supported.
void declare_accelerator(std::span<std::byte> memory);
/// Sets the way to write exported files that cannot be mapped.
void set_writer(WriteFile writer);
/// Keeps messages on the wire until let_go().
void hold();
/// Delivers up to `messages` of those on the wire, in their order.
void deliver(std::size_t messages);
/// Keeps RDMA READs, and all messages posted behind them, on the wire until let_go().
void hold_reads();
/// Returns the number of messages on the wire.
[[nodiscard]] std::size_t held();
/// Returns the completions of receives that no thread has taken yet.
[[nodiscard]] std::size_t untaken();
/// Delivers all messages on the wire, and no longer holds later ones.
void let_go();
/// Makes all written bytes in accelerators' memory visible.
void flush();
[[nodiscard]] Fates fates();
/// Returns the number of written bytes that are not visible yet.
[[nodiscard]] std::size_t unseen_bytes();

}  // namespace rashpa::link::testing::rnic
