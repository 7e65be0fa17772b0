// A front-end in which the sources of one readout have far less data than the others. Every announced slice
// is delivered immediately, but those sources have no fragment for most slices and do not report that.
//   bytes         of a fragment (default 1000), each of them the sum of source and slice
//   slow_readout  the number of that readout (default 0)
//   one_in        of so many slices its sources have a fragment (default 200)
#include <weir/source.hpp>

#include <vector>

namespace {

class Uneven : public weir::AsyncSource {
 public:
  explicit Uneven(weir::SourceSetup& setup)
      : AsyncSource(setup),
        bytes_(setup.parameter("bytes", 1000U)),
        slow_(setup.readout().index == setup.parameter("slow_readout", 0U)),
        one_in_(setup.parameter("one_in", 200U)) {}

  void announced(const weir_source_trigger& trigger) override {
    if (slow_ && trigger.slice % one_in_ != 0) return;
    announced_.push_back(trigger.slice);
    wake();
  }
  void poll(std::int64_t /*now_ns*/) override {
    for (const std::uint64_t slice : announced_) {
      for (const std::uint32_t source : source_ids()) {
        deliver(source, slice,
                weir::SourceBytes(std::vector<std::byte>(bytes_, static_cast<std::byte>(source + slice))));
      }
    }
    announced_.clear();
  }

 private:
  unsigned bytes_;
  bool slow_;
  unsigned one_in_;
  std::vector<std::uint64_t> announced_;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Uneven, "uneven", "1.0", "fragments of which one readout has few")
