// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Made by tools/make_card_registers.py of schema/unit_registers.rdl; do not edit.
/// Registers of the processing unit: bytes in the page. Plain constants, any thread.
#include <cstddef>
#include <cstdint>

#include "rashpa/card/registers.hpp"

// clang-format off

namespace rashpa::card::unit_registers {

inline constexpr std::size_t kPageBytes = 0x8000;

using registers::Field;

enum class State : std::uint32_t {
  idle = 0,  ///< no stack is under way
  working = 1,  ///< stacks are
  aborting = 2,  ///< no burst begins any more; those on their way end
  failed = 3,  ///< ended by an error: nothing begins until Abort
};

enum class ErrorCode : std::uint32_t {
  none = 0,  ///< none
  images = 1,  ///< a stack of no image, or of more than most_images
  blocks = 2,  ///< images of no block
  read = 3,  ///< card memory answered a read of raw images with an error
  calibration = 4,  ///< card memory answered a read of the calibration with an error
  write = 5,  ///< card memory answered a write with an error
};

namespace identity {
inline constexpr std::uint32_t kMagic = 0x0;  ///< 0x55505352, the text RSPU in memory.
inline constexpr std::uint32_t kVersion = 0x4;  ///< Of this map of registers.
inline constexpr std::uint32_t kGitHash = 0x8;  ///< The first eight digits of the commit that the card was made of.
inline constexpr std::uint32_t kCapabilities = 0xC;  ///< The abilities of this card.
inline constexpr Field kCapabilitiesLanes{0, 8};  ///< pixels a cycle
inline constexpr Field kCapabilitiesMostImages{8, 8};  ///< images of a stack, at most
inline constexpr Field kCapabilitiesSlots{16, 8};  ///< entries of the ring of stacks
inline constexpr std::uint32_t kBlockPixels = 0x10;  ///< Pixels of a block.
inline constexpr std::uint32_t kClock = 0x14;  ///< 2^-10 MHz that the card was made for; 0: a simulated one, which has no clock.
inline constexpr std::uint32_t kMemoryBytes = 0x18;  ///< Bytes of card memory.
}  // namespace identity

namespace status {
inline constexpr std::uint32_t kState = 0x40;  ///< The state of the unit.
inline constexpr std::uint32_t kError = 0x44;  ///< The first error since the last Abort; 0: none.
inline constexpr Field kErrorCode{0, 8};  ///< its kind
inline constexpr std::uint32_t kErrorStack = 0x48;  ///< Of images and blocks: which stack, as stacks_posted counts them from 0. Of others: the first that is not done.
inline constexpr std::uint32_t kAbortDone = 0x4C;  ///< The value of doorbell abort that was carried out last: nothing is on its way, stacks that were posted before are dropped.
inline constexpr std::uint32_t kStacksDone = 0x50;  ///< Stacks whose results are in card memory, modulo 2^32. Abort makes it stacks_posted.
}  // namespace status

namespace counters {
inline constexpr std::uint32_t kCycles = 0x80;  ///< Cycles in state working.
inline constexpr std::uint32_t kBeats = 0x88;  ///< Beats of raw words that went through the lanes.
inline constexpr std::uint32_t kWaitCalibration = 0x90;  ///< Cycles in which raw words waited for their calibration.
inline constexpr std::uint32_t kWaitRoom = 0x98;  ///< Cycles in which raw words waited for room for their results.
inline constexpr std::uint32_t kWaitAddress = 0xA0;  ///< Cycles in which a burst waited for memory to take its address.
}  // namespace counters

namespace settings {
inline constexpr std::uint32_t kBlocks = 0x1000;  ///< Blocks of an image: its pixels / 2048, rounded up.
inline constexpr std::uint32_t kLast = 0x1004;  ///< Of the last block of an image.
inline constexpr Field kLastBeats{0, 6};  ///< its beats of 32 pixels, less one: 0 … 63
inline constexpr std::uint32_t kLastLanes = 0x1008;  ///< A bit a pixel of an image's last beat: 0, it is behind the end and not counted.
inline constexpr std::uint32_t kImagePages = 0x100C;  ///< From image to image, raw words and photons: in units of 4096 bytes.
inline constexpr std::uint32_t kCalibrationLow = 0x1010;  ///< Where the calibration of pixels 0 … 15 of each beat is: address / 4096.
inline constexpr std::uint32_t kCalibrationHigh = 0x1014;  ///< The same of pixels 16 … 31.
inline constexpr std::uint32_t kBright = 0x1018;  ///< Photons from which a pixel is bright: a number with a sign.
inline constexpr std::uint32_t kList = 0x101C;  ///< Lists of pixels.
inline constexpr Field kListThreshold{0, 16};  ///< photons from which a pixel is listed: a number with a sign
inline constexpr Field kListOn{16, 1};  ///< 1: there are lists
inline constexpr std::uint32_t kListPages = 0x1020;  ///< From list to list, and room of each: in units of 4096 bytes.
}  // namespace settings

namespace stacks {
inline constexpr std::size_t kCount = 4;
inline constexpr std::size_t kWords = 5;
/// First byte of the one at place `index`.
constexpr std::uint32_t at(std::size_t index) noexcept { return 0x2000 + static_cast<std::uint32_t>(index) * 0x20; }
// Offsets below are added to at().
inline constexpr std::uint32_t kRawPage = 0x0;  ///< Raw words of image 0.
inline constexpr std::uint32_t kPhotonsPage = 0x4;  ///< Photons of image 0.
inline constexpr std::uint32_t kResultsPage = 0x8;  ///< Records of 64 bytes, one an image: words masked, saturated, bright, listed pixels, beats of the list; the rest is 0. A list of more beats than it has room for is not whole.
inline constexpr std::uint32_t kImages = 0xC;  ///< Images: 1 … most_images.
inline constexpr std::uint32_t kListsPage = 0x10;  ///< The list of image 0, when there are lists.
}  // namespace stacks

namespace doorbells {
inline constexpr std::uint32_t kStacksPosted = 0x7FF8;  ///< Stacks written into the ring, modulo 2^32; at most slots ahead of stacks_done.
inline constexpr std::uint32_t kAbort = 0x7FFC;  ///< One more: drop posted stacks.
}  // namespace doorbells


}  // namespace rashpa::card::unit_registers
