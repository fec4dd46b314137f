// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles the datagrams of one UDP port, without sockets: header, frame, places of pieces, assembly.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/scattered_bytes.hpp"
#include "rashpa/link/arrivals/told.hpp"
#include "rashpa/link/sls/frame_counts.hpp"
#include "rashpa/link/sls/header.hpp"
#include "rashpa/link/sls/options.hpp"
#include "rashpa/link/sls/packet_map.hpp"
#include "rashpa/link/sls/port_counters.hpp"

namespace rashpa::link::sls {

/// One DTP: a tile of a port. The port's thread owns it, except for the orders of Told.
struct TileDtp : Told {
  TileDtp(const ReceiverDtp& dtp, std::uint32_t list_index, std::uint32_t unit, const ReceiverMemory& memory,
          PortCounters& counters);

  Assembly assembly;
  bool touched = false;      // since the last decision, or held up then
  std::uint64_t packet = 0;  // the latest of the port's of which it had a piece
};

class PortHandler {
 public:
  /// Creates the handler of the port at place `port` of the receiver. `dtps` are its tiles, from number `first_dtp` of
  /// the receiver's list on. `counts` and `counters` outlive it, as does `gather`, which puts pixels into their places
  /// where these lie in memory of a device. Throws ConfigError.
  PortHandler(const Options& options, std::uint32_t port, std::span<const ReceiverDtp> dtps, std::uint32_t first_dtp,
              const ReceiverMemory& memory, FrameCounts& counts, PortCounters& counters,
              memory::Gather* gather = nullptr);

  /// Updates the free slots for the datagrams that follow.
  void refresh(std::int64_t now, ArrivalOutput& out) noexcept;
  /// Handles one datagram.
  void handle(const ScatteredBytes& datagram, std::int64_t now) noexcept;
  void handle(std::span<const std::byte> datagram, std::int64_t now) noexcept {
    handle(ScatteredBytes(std::span(&datagram, 1)), now);
  }
  /// Returns the frame number of a datagram of this port; nothing for any other datagram.
  [[nodiscard]] std::optional<std::uint64_t> number_of(std::span<const std::byte> datagram) const noexcept;
  /// Decides images of all tiles. Call it regularly, also when nothing comes.
  void decide_all(std::int64_t now, ArrivalOutput& out, Taken taken) noexcept;
  /// Decides images of tiles that had packets since the last call, or were held up then.
  void decide_touched(std::int64_t now, ArrivalOutput& out) noexcept;
  [[nodiscard]] bool news(ArrivalOutput& out) noexcept;

  [[nodiscard]] const PortShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::vector<std::unique_ptr<TileDtp>>& tiles() noexcept { return tiles_; }

 private:
  [[nodiscard]] bool ours(const Header& header) noexcept;
  void put(std::uint64_t frame, std::span<const Piece> pieces, const ScatteredBytes& payload, const Header& header,
           std::int64_t now) noexcept;
  void gather_by(memory::Gather& gather);
  void widen(const ScatteredBytes& payload) noexcept;

  Options options_;
  PortShape shape_;
  std::array<std::optional<PacketMap>, 2> maps_;  // upright, flipped
  std::vector<std::unique_ptr<TileDtp>> tiles_;
  PortCount count_;
  PortCounters* counters_;
  std::optional<std::pair<std::uint16_t, std::uint16_t>> place_;  // row and column of the first packet
  const PacketMap* map_ = nullptr;
  std::vector<std::byte> wide_;  // empty: nothing is widened here
  std::uint32_t narrow_ = 1;     // bytes of the image for each byte that put() gets
  std::uint64_t packet_ = 0;     // those that were put
};

}  // namespace rashpa::link::sls
