// Checks every byte from `dummy` sources, and accepts every slice: into the default stream if all bytes and
// lengths are right, otherwise into `debug`, with a line in the log.
//   keep           all (default): with raw data; none: without (a slice with a mismatch always keeps all)
//   distribution   unchecked (default): any length is good; fixed, uniform, exponential or log_normal: the
//                  source's lengths, which are then set with size_bytes, size_bytes_min, size_bytes_max,
//                  sigma and seed as in the farm file
// Counters: verify_fragments, verify_bytes, verify_absent (no bytes, for any reason), verify_mismatch
// (fragments with a wrong byte), verify_wrong_length.
#include <weir/emulation/dummy_content.hpp>
#include <weir/filter.hpp>

namespace {

using weir::emulation::DummySettings;
using weir::emulation::DummySizes;
using weir::emulation::SizeDistribution;

class Verify : public weir::Filter {
 public:
  explicit Verify(weir::FilterSetup& setup)
      : Filter(setup),
        keep_(setup.choice("keep", {"all", "none"}) == 0),
        sizes_(read_sizes(setup)),
        fragments_(counter("verify_fragments")),
        bytes_(counter("verify_bytes")),
        absent_(counter("verify_absent")),
        mismatch_(counter("verify_mismatch")),
        wrong_length_(counter("verify_wrong_length")) {}

  weir::Decision process(const weir::Slice& slice) override {
    bool good = true;
    for (const weir::Fragment fragment : slice) {
      if (!fragment.requested()) continue;
      // An empty fragment is present; a missing or suppressed one is not.
      const bool there = fragment.ok() || fragment.status() == WEIR_FRAGMENT_TRUNCATED ||
                         fragment.status() == WEIR_FRAGMENT_CORRUPT;
      if (there) {
        good = check(slice, fragment) && good;
      } else {
        absent_.add();
      }
    }
    if (!good) return accept().to(WEIR_STREAM_DEBUG);
    return keep_ ? accept() : accept().keep_no_raw_data();
  }

 private:
  static std::optional<DummySizes> read_sizes(weir::FilterSetup& setup) {
    const std::size_t choice =
        setup.choice("distribution", {"unchecked", "fixed", "uniform", "exponential", "log_normal"});
    DummySettings settings;
    settings.size_bytes = setup.parameter("size_bytes", settings.size_bytes);
    settings.size_bytes_min = setup.parameter("size_bytes_min", settings.size_bytes_min);
    settings.size_bytes_max =
        setup.parameter("size_bytes_max", settings.size_bytes_max, settings.size_bytes_min, UINT32_MAX);
    settings.sigma = setup.parameter("sigma", settings.sigma);
    settings.seed = setup.parameter("seed", settings.seed);
    if (choice == 0) return std::nullopt;
    settings.distribution = static_cast<SizeDistribution>(choice - 1);
    return DummySizes(settings);
  }

  static std::string where(weir::SliceId slice, weir::SourceId source) {
    return "slice " + std::to_string(slice.value) + ", source " + std::to_string(source.value) + ": ";
  }

  bool check(const weir::Slice& slice, const weir::Fragment& fragment) {
    const weir::SourceId source(fragment.source());
    const weir::SliceId id(slice.id());
    const weir::ConstBytes bytes = fragment.bytes();
    fragments_.add();
    bytes_.add(bytes.size());
    if (fragment.ok() && sizes_ && bytes.size() != (*sizes_)(source, id)) {
      wrong_length_.add();
      log(WEIR_LOG_ERROR, where(id, source) + std::to_string(bytes.size()) + " bytes, not " +
                              std::to_string((*sizes_)(source, id)) + " as the source makes");
      return false;
    }
    const auto verified = verifier_.verify(weir::RunNumber(slice.run()), source, id, bytes);
    if (verified) return true;
    mismatch_.add();
    log(WEIR_LOG_ERROR, where(id, source) + "wrong byte at " + std::to_string(verified.error()) + " of " +
                            std::to_string(bytes.size()));
    return false;
  }

  bool keep_;
  std::optional<DummySizes> sizes_;
  weir::emulation::DummyVerifier verifier_;
  weir::Counter fragments_;
  weir::Counter bytes_;
  weir::Counter absent_;
  weir::Counter mismatch_;
  weir::Counter wrong_length_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Verify, "verify", "1.0", "checks every byte of dummy fragments")
