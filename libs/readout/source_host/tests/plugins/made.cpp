// A source that makes its fragments: each holds the slice's number, repeated once for each source id above
// the first.
#include <weir/source.hpp>

#include <stdexcept>

namespace {

class Made : public weir::SyncSource {
 public:
  explicit Made(weir::SourceSetup& setup)
      : SyncSource(setup), fail_at_(setup.parameter("fail_at", UINT64_MAX)), made_(counter("made")) {}
  weir::SourceBytes make(std::uint32_t source, const weir_source_trigger& trigger) override {
    if (trigger.slice == fail_at_) throw std::runtime_error("nothing to be had");
    made_.add();
    weir::SourceBytes bytes(std::vector<std::byte>(source, static_cast<std::byte>(trigger.slice)));
    bytes.stamp = {trigger.slice, trigger.time_utc_ns, 0};
    return bytes;
  }

 private:
  std::uint64_t fail_at_;
  weir::SourceCounter made_;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Made, "made", "1.5", "makes the requested fragments")
