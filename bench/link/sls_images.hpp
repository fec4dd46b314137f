// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the images of sls_rate.cpp go.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/link/arrivals/receiver_memory.hpp"

namespace rashpa::link::sls {

/// The memory of images, and the way from there to the unit. The taker's thread uses it.
class Images {
 public:
  using Release = std::function<void(std::uint32_t dtp, std::uint64_t end)>;
  virtual ~Images() = default;
  [[nodiscard]] virtual ReceiverMemory memory() = 0;
  /// Takes an image that has arrived, in whole or in part.
  virtual void take(std::uint32_t dtp, std::uint64_t index, std::uint64_t offset, std::uint64_t bytes) = 0;
  /// Releases the slots of images that are where they shall be. Returns true while others are under way.
  virtual bool release(const Release& release) = 0;
};

/// Images that are where they shall be as soon as they have arrived.
class PlacedImages : public Images {
 public:
  void take(std::uint32_t dtp, std::uint64_t index, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) override {
    taken_.emplace_back(dtp, index);
  }
  bool release(const Release& release) override {
    for (const auto& [dtp, index] : taken_) release(dtp, index + 1);
    taken_.clear();
    return false;
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint64_t>> taken_;
};

/// Makes images by their name: "host", "copied" (host memory, from which a copy engine takes each image), "gathered"
/// (memory of CUDA device 0), or "listed" (nowhere: lists are made and not carried out, the floor of "gathered").
/// Throws ConfigError.
std::unique_ptr<Images> make_images(const std::string& name, std::uint64_t bytes);

/// Makes those on a GPU. Throws ConfigError where the build leaves CUDA out.
std::unique_ptr<Images> make_gpu_images(bool gathered, std::uint64_t bytes);

}  // namespace rashpa::link::sls
