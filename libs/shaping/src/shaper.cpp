#include <weir/shaping/shaper.hpp>

namespace weir::shaping {
namespace {

class Unlimited final : public Shaper {
 public:
  bool try_take(const Demand&, TimeNs) override { return true; }
  void take(const Demand&) override {}
  void answered(std::uint32_t, TimeNs) override {}
  void readout_lost(std::uint32_t) override {}
  std::uint64_t outstanding() const override { return 0; }
};

enum class Unit : std::uint8_t { fragments, bytes };

constexpr std::uint64_t kUnknownDemands = 16;  // of unknown size, that fill the window

// A window over all readouts together. An answer gives back the readout's average charge: fragments of one
// readout that were guessed differently even out, and when its last answer is there nothing remains.
class Window final : public Shaper {
 public:
  Window(Unit unit, std::uint64_t limit, std::uint32_t readouts)
      : unit_(unit), limit_(limit), flows_(readouts) {}

  bool try_take(const Demand& demand, TimeNs) override {
    if (taken_ > 0 && taken_ + charge_of(demand) > limit_) return false;
    take(demand);
    return true;
  }
  void take(const Demand& demand) override {
    const std::uint64_t charge = charge_of(demand);
    Flow& flow = flows_[demand.readout];
    flow.fragments += demand.fragments;
    flow.charge += charge;
    taken_ += charge;
  }
  void answered(std::uint32_t readout, TimeNs) override {
    Flow& flow = flows_[readout];
    if (flow.fragments == 0) return;  // an answer that nobody asked for
    const std::uint64_t back = flow.charge / flow.fragments;
    --flow.fragments;
    flow.charge -= back;
    taken_ -= back;
  }
  void readout_lost(std::uint32_t readout) override {
    taken_ -= flows_[readout].charge;
    flows_[readout] = {};
  }
  std::uint64_t outstanding() const override { return taken_; }

 private:
  [[nodiscard]] std::uint64_t charge_of(const Demand& demand) const {
    if (unit_ == Unit::fragments) return demand.fragments;
    return demand.bytes > 0 ? demand.bytes : (limit_ + kUnknownDemands - 1) / kUnknownDemands;
  }

  struct Flow {
    std::uint64_t fragments = 0;
    std::uint64_t charge = 0;
  };
  Unit unit_;
  std::uint64_t limit_;
  std::vector<Flow> flows_;
  std::uint64_t taken_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Shaper>, ShapingError> make_shaper(std::string_view name,
                                                            const ShaperSettings& settings) {
  if (name == "none") return std::make_unique<Unlimited>();
  if (name == "fragment-credits") {
    return std::make_unique<Window>(Unit::fragments, settings.window_fragments, settings.readouts);
  }
  if (name == "byte-credits") {
    return std::make_unique<Window>(Unit::bytes, settings.window_bytes, settings.readouts);
  }
  return Unexpected<ShapingError>(ShapingError::unknown_name);
}

}  // namespace weir::shaping
