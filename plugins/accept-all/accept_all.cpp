// Accepts every slice.
//   keep   all (default): with its raw data; none: without
#include <weir/filter.hpp>

namespace {

class AcceptAll : public weir::Filter {
 public:
  explicit AcceptAll(weir::FilterSetup& setup)
      : Filter(setup), keep_(setup.choice("keep", {"all", "none"}) == 0) {}

  weir::Decision process(const weir::Slice& /*slice*/) override {
    return keep_ ? accept() : accept().keep_no_raw_data();
  }

 private:
  bool keep_;
};

}  // namespace

WEIR_FILTER_PLUGIN(AcceptAll, "accept-all", "1.0", "accepts every slice")
