// Accepts slices with a number of hits within a short time, on sources of the format of the `hits` source.
// The same filter is in multiplicity.py.
//   minimum     hits (default 10)
//   window_ns   the first hit's time is in the window, its end is not (default 100)
//   keep        all (default): with raw data; none: without
#include <weir/filter.hpp>
#include <weir/hits.hpp>

#include <algorithm>
#include <vector>

namespace {

class Multiplicity : public weir::Filter {
 public:
  explicit Multiplicity(weir::FilterSetup& setup)
      : Filter(setup),
        minimum_(setup.parameter("minimum", std::uint32_t{10}, std::uint32_t{1}, UINT32_MAX)),
        window_ns_(setup.parameter("window_ns", std::uint32_t{100}, std::uint32_t{1}, UINT32_MAX)),
        keep_(setup.choice("keep", {"all", "none"}) == 0),
        hits_(counter("my_hits")) {}

  weir::Decision process(const weir::Slice& slice) override {
    times_.clear();
    for (const weir::Fragment fragment : slice) {
      weir::HitReader reader(fragment.bytes());
      while (const auto hit = reader.next()) times_.push_back(hit->time_ns);
    }
    hits_.add(times_.size());
    std::sort(times_.begin(), times_.end());
    std::uint32_t most = 0;
    for (std::size_t first = 0, end = 0; first < times_.size(); ++first) {
      while (end < times_.size() && times_[end] < std::uint64_t{times_[first]} + window_ns_) ++end;
      most = std::max(most, static_cast<std::uint32_t>(end - first));
    }
    if (most < minimum_) return reject();
    result_.clear();
    set_result(result_.put(most).bytes());
    weir::Decision decision = accept();
    return keep_ ? decision : decision.keep_no_raw_data();
  }

 private:
  std::uint32_t minimum_;
  std::uint32_t window_ns_;
  bool keep_;
  weir::Counter hits_;
  std::vector<std::uint32_t> times_;
  weir::ByteWriter result_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Multiplicity, "multiplicity", "1.0",
                   "accepts slices with `minimum` hits within `window_ns`")
