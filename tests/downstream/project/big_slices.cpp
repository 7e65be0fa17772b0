#include <weir/filter.hpp>

class BigSlices : public weir::Filter {
 public:
  explicit BigSlices(weir::FilterSetup& setup) : Filter(setup), minimum_(setup.parameter("minimum", 1000U)) {}
  weir::Decision process(const weir::Slice& slice) override {
    sizes_.fill(double(slice.bytes()));
    return slice.bytes() >= minimum_ ? accept() : reject();
  }

 private:
  unsigned minimum_;
  weir::Histogram1D sizes_ = book_histogram("slice bytes", 50, 0, 50000);
};
WEIR_FILTER_PLUGIN(BigSlices, "big-slices", "1.0", "accepts slices of at least `minimum` bytes")
