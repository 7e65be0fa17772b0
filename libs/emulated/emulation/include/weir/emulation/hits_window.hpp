#pragma once

#include <weir/emulation/hits_source.hpp>
#include <weir/source/time_windows.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

namespace weir::emulation {

// One optical module in a farm with build.by: time. Its hits are a function of absolute time, so that two
// windows which overlap have the same ones. The fragment of a window has one piece (source, FORMAT.md): its
// hits, with times from the window's begin.
class HitsWindowSource final : public source::FragmentSource {
 public:
  // Requires: the source is one of the detector's.
  HitsWindowSource(SourceId id, std::shared_ptr<HitsGroup> group, const source::WindowSettings& windows)
      : id_(id), group_(std::move(group)), windows_(windows) {}

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber run) override {
    run_ = run;
    cells_.clear();
  }
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override;

 private:
  static constexpr std::size_t kCells = 3;  // that are kept: windows that ascend make each cell once
  struct Cell {
    source::Trigger at;
    std::vector<std::byte> hits;
    bool whole = true;
  };
  [[nodiscard]] const Cell& cell(const source::Trigger& at);

  SourceId id_;
  RunNumber run_;
  std::shared_ptr<HitsGroup> group_;
  source::WindowSettings windows_;
  std::deque<Cell> cells_;
  std::vector<std::byte> hits_;  // scratch memory
};

}  // namespace weir::emulation
