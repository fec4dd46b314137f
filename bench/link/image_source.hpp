// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>

#include "peers.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::bench {

/// The loop of a DTP's thread, pinned to the source's processor: descriptors in batches, the record's CRC32C made by
/// the link on its way. `frames` holds the images that are sent over and over; all lines of an image lie side by side.
void send_images(const Load& load, const ReceiverDtp& dtp, Sender& sender, const memory::Buffer& frames,
                 const std::atomic<bool>& stop);

}  // namespace rashpa::link::bench
