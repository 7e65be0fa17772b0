// A front-end built outside Weir: `length` bytes, each the slice's number plus the source's.
#include <weir/source.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

class Stamps : public weir::SyncSource {
 public:
  explicit Stamps(weir::SourceSetup& setup)
      : SyncSource(setup), length_(setup.parameter("length", std::uint64_t{16})) {}
  weir::SourceBytes make(std::uint32_t source, const weir_source_trigger& trigger) override {
    return weir::SourceBytes(std::vector<std::byte>(length_, static_cast<std::byte>(trigger.slice + source)));
  }

 private:
  std::uint64_t length_;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Stamps, "stamps", "2.1", "bytes that tell slice and source")
