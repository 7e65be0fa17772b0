#include "adaptive.hpp"
#include "paced.hpp"
#include "window.hpp"

#include <algorithm>

namespace weir::shaping {
namespace {

class Unlimited final : public Shaper {
 public:
  Credit try_take(const Demand&, TimeNs) override { return Credit::granted; }
  std::uint64_t room(std::uint32_t) const override { return UINT64_MAX; }
  void take(const Demand&, TimeNs) override {}
  void arrived(std::uint32_t, std::uint64_t, TimeNs) override {}
  void answered(std::uint32_t, std::uint32_t, std::uint64_t, TimeNs) override {}
  void readout_lost(std::uint32_t) override {}
  std::uint64_t outstanding() const override { return 0; }
  std::uint64_t window() const override { return 0; }
};

// A shaper with one quota of fragments for all readouts together.
class FragmentWindow final : public Shaper {
 public:
  explicit FragmentWindow(const ShaperSettings& settings)
      : accounts_(settings.readouts), window_(settings.window_fragments), strict_(settings.window_strict) {}

  Credit try_take(const Demand& demand, TimeNs now_ns) override {
    const bool alone = !strict_ && accounts_.taken() == 0;
    if (!alone && accounts_.taken() + demand.fragments > window_) return Credit::full;
    take(demand, now_ns);
    return Credit::granted;
  }
  void take(const Demand& demand, TimeNs) override {
    accounts_.take(demand.readout, demand.fragments, demand.fragments);
  }
  void arrived(std::uint32_t, std::uint64_t, TimeNs) override {}
  void answered(std::uint32_t readout, std::uint32_t fragments, std::uint64_t, TimeNs) override {
    accounts_.give_back(readout, fragments);
    accounts_.answered(readout, fragments);
  }
  void readout_lost(std::uint32_t readout) override { accounts_.lost(readout); }
  bool strict() const override { return strict_; }
  std::uint32_t fragments_max() const override {
    if (!strict_) return accounts_.taken() == 0 ? UINT32_MAX : static_cast<std::uint32_t>(window_);
    const std::uint64_t left = window_ - std::min(window_, accounts_.taken());
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, left));
  }
  std::uint64_t outstanding() const override { return accounts_.taken(); }
  std::uint64_t window() const override { return window_; }

 private:
  Accounts accounts_;
  std::uint64_t window_;
  bool strict_;
};

class DividedWindow final : public ByteWindow {
 public:
  using ByteWindow::ByteWindow;

 private:
  // A request to an idle readout makes it an active one.
  std::uint64_t share_of_one() const override {
    return window() / std::max<std::uint32_t>(1, accounts_.active());
  }
};

}  // namespace

Expected<std::unique_ptr<Shaper>, ShapingError> make_shaper(std::string_view name,
                                                            const ShaperSettings& settings) {
  if (name == "none") return std::make_unique<Unlimited>();
  if (name == "fragment-credits") return std::make_unique<FragmentWindow>(settings);
  if (name == "byte-credits")
    return std::make_unique<ByteWindow>(settings.window_bytes, settings.range_bytes, settings.readouts);
  if (name == "diatcp")
    return std::make_unique<DividedWindow>(settings.window_bytes, settings.range_bytes, settings.readouts);
  if (name == "paced") return std::make_unique<Paced>(settings);
  if (name == "adaptive") return std::make_unique<Adaptive>(settings);
  return Unexpected<ShapingError>(ShapingError::unknown_name);
}

}  // namespace weir::shaping
