#pragma once

#include "scenario.hpp"
#include <weir/ports/scratch_disk.hpp>
#include <weir/simnet/random.hpp>
#include <weir/simnet/timeline.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace weir::sim {

// ports::ScratchDisk in memory, with delays: one operation at a time. Until the scenario's faults end,
// operations fail, and reads return flipped bits, depending on the seed. Bytes are copied at the end of an
// operation, so that memory that is changed too early shows.
class SimScratch final : public ports::ScratchDisk {
 public:
  // `wake` is called when there are results. Requires: all references outlive the disk.
  SimScratch(const Scenario& scenario, simnet::Timeline& timeline, simnet::Random random, std::uint64_t bytes,
             std::function<void()> wake);
  ~SimScratch() override;
  SimScratch(const SimScratch&) = delete;
  SimScratch& operator=(const SimScratch&) = delete;

  void write(std::uint64_t offset, ConstBytes bytes, std::uint64_t token) override;
  void read(std::uint64_t offset, std::uint64_t length, std::uint64_t token) override;
  [[nodiscard]] std::vector<ports::ScratchResult> take_results() override;

 private:
  struct Operation {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::uint64_t token = 0;
    const std::byte* from = nullptr;  // null: a read
  };

  void ask(const Operation& operation);
  void begin();
  void end();

  const Scenario& scenario_;
  simnet::Timeline& timeline_;
  simnet::Random random_;
  std::vector<std::byte> bytes_;
  std::function<void()> wake_;
  std::deque<Operation> queue_;  // the first is in progress
  std::vector<ports::ScratchResult> done_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::sim
