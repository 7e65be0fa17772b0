#pragma once

#include <weir/base/assert.hpp>
#include <weir/shaping/shaper.hpp>

#include <vector>

namespace weir::shaping {

// Credit that is taken and not returned, by readout. A readout's remainder is returned with its last answer,
// so that wrong estimates leave nothing behind.
class Accounts {
 public:
  explicit Accounts(std::uint32_t readouts) : flows_(readouts) {}

  void take(std::uint32_t readout, std::uint32_t fragments, std::uint64_t charge) {
    Flow& flow = flows_[readout];
    if (flow.fragments == 0) ++active_;
    flow.fragments += fragments;
    flow.charge += charge;
    taken_ += charge;
  }
  void give_back(std::uint32_t readout, std::uint64_t charge) {
    Flow& flow = flows_[readout];
    const std::uint64_t back = charge < flow.charge ? charge : flow.charge;
    WEIR_ASSERT(back <= flow.charge);
    flow.charge -= back;
    WEIR_ASSERT(back <= taken_);
    taken_ -= back;
  }
  void answered(std::uint32_t readout, std::uint32_t fragments) {
    Flow& flow = flows_[readout];
    if (flow.fragments == 0) return;  // an answer that was not requested
    flow.fragments -= fragments < flow.fragments ? fragments : flow.fragments;
    if (flow.fragments == 0) close(flow);
  }
  void lost(std::uint32_t readout) {
    Flow& flow = flows_[readout];
    if (flow.fragments > 0) close(flow);
  }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] std::uint64_t of(std::uint32_t readout) const { return flows_[readout].charge; }
  [[nodiscard]] std::uint32_t active() const { return active_; }  // readouts that owe an answer
  [[nodiscard]] std::uint32_t readouts() const { return static_cast<std::uint32_t>(flows_.size()); }

 private:
  struct Flow {
    std::uint64_t fragments = 0;
    std::uint64_t charge = 0;
  };
  void close(Flow& flow) {
    WEIR_ASSERT(flow.charge <= taken_);
    taken_ -= flow.charge;
    flow = {};
    WEIR_ASSERT(active_ > 0);
    --active_;
  }

  std::vector<Flow> flows_;
  std::uint64_t taken_ = 0;
  std::uint32_t active_ = 0;
};

// A window in bytes, returned as they arrive.
class ByteWindow : public Shaper {
 public:
  ByteWindow(std::uint64_t window, std::uint64_t range_bytes, std::uint32_t readouts)
      : accounts_(readouts), window_(window), range_bytes_(range_bytes) {}

  Credit try_take(const Demand& demand, TimeNs now_ns) override;
  std::uint64_t room(std::uint32_t readout) const override;
  void take(const Demand& demand, TimeNs now_ns) override;
  void arrived(std::uint32_t readout, std::uint64_t bytes, TimeNs now_ns) override;
  void answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t bytes, TimeNs now_ns) override;
  void readout_lost(std::uint32_t readout) override { accounts_.lost(readout); }
  std::uint64_t piece_bytes() const override;
  std::uint64_t outstanding() const override { return accounts_.taken(); }
  std::uint64_t window() const override { return window_; }

 protected:
  // Returns how much of the window one readout may hold, so that a slow source cannot hold all of it.
  [[nodiscard]] virtual std::uint64_t share_of_one() const;
  [[nodiscard]] std::uint64_t charge_of(const Demand& demand) const {
    return demand.bytes > 0 ? demand.bytes : (window_ + kUnknownInWindow - 1) / kUnknownInWindow;
  }
  [[nodiscard]] std::uint64_t range_bytes() const { return range_bytes_; }
  void set_window(std::uint64_t window) { window_ = window; }

  Accounts accounts_;

 private:
  static constexpr std::uint64_t kUnknownInWindow = 16;  // requests of unknown size that fill the window

  std::uint64_t window_;
  std::uint64_t range_bytes_;
};

}  // namespace weir::shaping
