// Accepts every slice, and needs a library that it finds by $ORIGIN in its RUNPATH.
#include <weir/filter.hpp>

extern "C" int weir_test_sibling();

namespace {

class NeedsSibling : public weir::Filter {
 public:
  using Filter::Filter;
  weir::Decision process(const weir::Slice& /*slice*/) override {
    return weir_test_sibling() == 1 ? accept() : reject();
  }
};

}  // namespace

WEIR_FILTER_PLUGIN(NeedsSibling, "needs-sibling", "1.0", "needs a library beside it")
