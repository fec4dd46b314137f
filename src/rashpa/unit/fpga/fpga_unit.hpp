// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/memory/ring.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/fpga/card_delivery.hpp"
#include "rashpa/unit/fpga/card_pages.hpp"
#include "rashpa/unit/fpga/count_decision.hpp"
#include "rashpa/unit/limits/step_changes.hpp"
#include "rashpa/unit/stack_flow.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::fpga {

/// The number of stacks with places in card memory: one comes in, one is computed, one goes out.
inline constexpr std::uint32_t kBenches = 3;

/// The processing unit on a card (rtl/unit): conversion by jungfrau to photons, a count of pixels, and a list of them.
/// One thread copies images into card memory and posts stacks. Another waits for them, reads counts, decides, and
/// fetches accepted images and lists.
class FpgaUnit final : public Unit, public Adjusting, public OnDevice {
 public:
  FpgaUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell);
  ~FpgaUnit() override;
  FpgaUnit(const FpgaUnit&) = delete;
  FpgaUnit& operator=(const FpgaUnit&) = delete;

  void submit(Stack* stack) noexcept override { flow_.submit(stack); }
  Stack* take() noexcept override { return flow_.take(); }
  void stop() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return steps_.output; }
  [[nodiscard]] std::string how() const override { return how_; }
  [[nodiscard]] std::size_t device_bytes() const noexcept override { return pages_.bytes(); }
  [[nodiscard]] std::string error() const override { return flow_.error(); }
  [[nodiscard]] std::optional<Busy> busy() const override;
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override;

  /// The longest time that the card may make no progress with stacks in flight.
  static constexpr std::int64_t kPatienceNs = 5'000'000'000;

 private:
  /// A stack in flight, which keeps its bench until it is handed back.
  struct Flight {
    Stack* stack = nullptr;
    std::uint32_t bench = 0;
    std::uint32_t ticket = 0;  ///< value of UnitCard::done() when it is complete
    bool posted = false;       ///< true: the card has it
    bool lost = false;
  };
  void set_up();
  void bring_in(const std::stop_token& ending, int processor) noexcept;
  void bring_out() noexcept;
  void start(Flight& flight) noexcept;
  void finish(Flight& flight) noexcept;
  [[nodiscard]] bool wait_for(const Flight& flight) noexcept;
  void hand_back(Flight& flight) noexcept;

  const Steps steps_;
  const Layout layout_;
  CountDecision decision_;
  StepChanges<kernel::CountTap> changes_;
  StepWatch watch_{1};  // of the stack that is waited for
  const std::uint32_t stack_;
  const std::size_t pixels_;  // of an image
  card::UnitCard card_;
  const CardPages pages_;
  CardDelivery delivery_;
  std::string how_;
  std::vector<card::UnitCounts> counts_;  // of the stack that goes out

  StackFlow flow_;
  memory::Ring<Flight> flying_;
  Doorbell posted_;
  Doorbell freed_;
  std::atomic<std::uint32_t> handed_back_{0};  // release by the one that hands back, acquire by the one that begins
  std::atomic<bool> brought_in_{false};        // no more flights come; release by the first, acquire by the second

  std::jthread in_thread_;
  std::jthread out_thread_;
};

/// Makes the unit, as unit::make_unit(); Choice::device is the card's directory. Throws ConfigError when the card does
/// not support the pipeline or has too little memory, and the errors of UnitCard.
std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell);

}  // namespace rashpa::unit::fpga
