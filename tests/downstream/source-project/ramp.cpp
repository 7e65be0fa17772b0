#include <weir/source.hpp>

class Ramp : public weir::SyncSource {
 public:
  explicit Ramp(weir::SourceSetup& setup) : SyncSource(setup), length_(setup.parameter("length", 100U)) {}
  weir::SourceBytes make(std::uint32_t source, const weir_source_trigger& trigger) override {
    return weir::SourceBytes(std::vector<std::byte>(length_, static_cast<std::byte>(source + trigger.slice)));
  }

 private:
  unsigned length_;
};
WEIR_SOURCE_PLUGIN(Ramp, "ramp", "1.0", "`length` bytes of source + slice")
