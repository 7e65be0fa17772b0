// Accepts one of n slices and rejects the others. A slice's fate depends on its id alone, so every attempt
// and every processing unit decides alike.
//   n      one in this many (default 10)
//   how    every (default): ids that n divides; random: each id with a probability of 1 / n
//   keep   all (default): with raw data; none: without
#include <weir/filter.hpp>

namespace {

class Prescale : public weir::Filter {
 public:
  explicit Prescale(weir::FilterSetup& setup)
      : Filter(setup),
        n_(setup.parameter("n", std::uint32_t{10}, std::uint32_t{1}, UINT32_MAX)),
        random_(setup.choice("how", {"every", "random"}) == 1),
        keep_(setup.choice("keep", {"all", "none"}) == 0) {}

  weir::Decision process(const weir::Slice& slice) override {
    const std::uint64_t number = random_ ? random() : slice.id();
    if (number % n_ != 0) return reject();
    weir::Decision decision = accept().prescaled(n_, ++accepted_);
    return keep_ ? decision : decision.keep_no_raw_data();
  }

 private:
  std::uint32_t n_;
  bool random_;
  bool keep_;
  std::uint64_t accepted_ = 0;
};

}  // namespace

WEIR_FILTER_PLUGIN(Prescale, "prescale", "1.0", "accepts one of n slices")
