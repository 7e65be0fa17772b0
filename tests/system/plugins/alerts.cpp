// Rejects every slice, and gives a burst alert with each from number `from` on.
#include <weir/filter.hpp>

namespace {

class Alerts : public weir::Filter {
 public:
  explicit Alerts(weir::FilterSetup& setup)
      : Filter(setup), from_(setup.parameter("from", std::uint64_t{1})) {}
  weir::Decision process(const weir::Slice& slice) override {
    if (slice.id() >= from_) alert(100'000, 200, "slice " + std::to_string(slice.id()));
    return reject();
  }

 private:
  std::uint64_t from_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Alerts, "alerts", "1.0", "gives burst alerts")
