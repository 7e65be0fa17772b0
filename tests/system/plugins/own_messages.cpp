// Accepts every slice, and reads a farm's name through its own copy of Weir's messages, in another Protobuf.
#include <weir/filter.hpp>
#include <weir/v1/farm.pb.h>

namespace {

class OwnMessages : public weir::Filter {
 public:
  explicit OwnMessages(weir::FilterSetup& setup) : Filter(setup) {
    farm_.set_farm("its own");
    good_ = farm_.ParseFromString(farm_.SerializeAsString()) && farm_.farm() == "its own";
  }

  weir::Decision process(const weir::Slice& /*slice*/) override { return good_ ? accept() : reject(); }

 private:
  weir::v1::Farm farm_;
  bool good_ = false;
};

}  // namespace

WEIR_FILTER_PLUGIN(OwnMessages, "own-messages", "1.0", "accepts every slice if its own messages work")
