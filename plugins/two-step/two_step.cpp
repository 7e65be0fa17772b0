// Examines a few sources, and requests all others only if these hold enough data: sequential selection.
//   first           sources of the first step, as 1,2,8-11 (default: the first source of the run)
//   minimum_bytes   total size that they must have (default 1)
//   keep            all (default): accepted slices with raw data; first: only the first step's; none
// The filter result of an accepted slice: bytes of the first step u64, bytes of all u64, little-endian.
#include <weir/filter.hpp>

namespace {

constexpr double kSizeMax = 64 * 1024;

// The result of step 0, carried to step 1.
struct Seen {
  std::uint64_t first_bytes = 0;
};

class TwoStep : public weir::Filter {
 public:
  explicit TwoStep(weir::FilterSetup& setup)
      : Filter(setup),
        first_(setup.sources("first")),
        first_given_(!first_.empty()),
        minimum_bytes_(setup.parameter("minimum_bytes", std::uint64_t{1})),
        keep_(setup.choice("keep", {"all", "first", "none"})),
        went_on_(counter("two_step_went_on")),
        first_bytes_(histogram("two_step_first_bytes")),
        sizes_(book_histogram("bytes of the first step", 64, 0, kSizeMax)) {}

  void begin_run(const weir_filter_run& run) override {
    if (!first_given_ && run.source_count > 0) first_ = {run.sources[0]};
  }
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() const override { return first_; }

  weir::Decision process(const weir::Slice& slice) override {
    const Seen* seen = slice.remembered<Seen>();
    return seen == nullptr ? first_step(slice) : second_step(slice, *seen);
  }

 private:
  weir::Decision first_step(const weir::Slice& slice) {
    std::uint64_t bytes = 0;
    bool all_asked = true;
    for (const std::uint32_t source : first_) {
      const weir::Fragment fragment = slice.find(source);
      if (!fragment) continue;
      if (!fragment.requested()) all_asked = false;
      bytes += fragment.bytes().size();
    }
    // Step 0 may come with other fragments than wished for: a trigger type can have its own list of sources.
    if (!all_asked) return need(first_);
    first_bytes_.record(static_cast<double>(bytes));
    sizes_.fill(static_cast<double>(bytes));
    if (bytes < minimum_bytes_) return reject();
    went_on_.add();
    const Seen& seen = slice.remember<Seen>(Seen{bytes});
    for (const weir::Fragment fragment : slice) {
      if (!fragment.requested()) return need_all();
    }
    return second_step(slice, seen);
  }

  weir::Decision second_step(const weir::Slice& slice, const Seen& seen) {
    result_.clear();
    set_result(result_.put(seen.first_bytes).put(slice.bytes()).bytes());
    if (keep_ == 0) return accept();
    return keep_ == 1 ? accept().keep_raw_data_of(first_) : accept().keep_no_raw_data();
  }

  std::vector<std::uint32_t> first_;
  bool first_given_;
  std::uint64_t minimum_bytes_;
  std::size_t keep_;
  weir::Counter went_on_;
  weir::Histogram first_bytes_;
  weir::Histogram1D sizes_;
  weir::ByteWriter result_;
};

}  // namespace

WEIR_FILTER_PLUGIN(TwoStep, "two-step", "1.0", "looks at a few sources first, then asks for all")
