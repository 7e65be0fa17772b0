// Decides over the bytes of one to three steps, which need the source groups `first`, `second` and `third`,
// and throws if a step shows fragments that its steps have not named, or has forgotten the step before.
// Parameters:
//   steps       1: the whole slice at once (default); 3: a group of sources a step
//   keep        true: accepts slices that it would reject, with a result of one byte (default: false)
//   ascending   true: throws if a slice begins after a newer one (default: false)
//   to          a group of DCMs: forwards each slice there, with its id (default: decides)
//   dies_in     a folder: each dies_every-th slice kills its process once, and leaves a file there (default:
//   none) dies_every  default 50 alerts_at   ids of slices around which it gives a burst alert
#include <weir/filter.hpp>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::uint64_t kBytesRead = 16;  // of a fragment
constexpr std::uint64_t kBins = 32;

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

class Pairs : public weir::Filter {
 public:
  explicit Pairs(weir::FilterSetup& setup)
      : Filter(setup),
        to_(setup.parameter("to", std::string())),
        keep_(setup.parameter("keep", false)),
        ascending_(setup.parameter("ascending", false)),
        steps_(setup.parameter("steps", std::uint32_t{1}, std::uint32_t{1}, std::uint32_t{3})),
        dies_in_(setup.parameter("dies_in", std::string())),
        dies_every_(setup.parameter("dies_every", std::uint64_t{50})),
        groups_{group("first"), group("second"), group("third")},
        hashes_(book_histogram("hash", kBins, 0, kBins)) {
    for (const std::uint32_t id : setup.sources("alerts_at")) alerts_at_.insert(id);
  }

  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() const override {
    if (steps_ == 1) return std::nullopt;
    return groups_.front().sources();
  }

  weir::Decision process(const weir::Slice& slice) override {
    const std::uint32_t step = slice.step();
    check_what_is_shown(slice);
    if (step == 0) check_order(slice.id());
    std::uint64_t value = slice.id();
    if (step == 0) {
      for (const weir::Fragment fragment : slice) value = add(value, fragment);
    } else {
      const std::uint64_t* before = slice.remembered<std::uint64_t>();
      if (before == nullptr)
        throw std::runtime_error("slice " + std::to_string(slice.id()) + " forgot its step " +
                                 std::to_string(step - 1));
      value = *before;
      for (const std::uint32_t source : groups_.at(step).sources()) value = add(value, slice.find(source));
    }
    if (step + 1 == steps_) return decide(slice, value);
    if (value % 7 == 0) {
      hashes_.fill(kBins - 1);
      if (keep_) alert_at(slice);
      return refuse();
    }
    slice.remember<std::uint64_t>(value);
    if (step == 0) prefetch(groups_[2]);
    return need(groups_.at(step + 1));
  }

 private:
  static std::uint64_t add(std::uint64_t value, const weir::Fragment& fragment) {
    if (!fragment.requested()) return value;
    value = mix(value ^ fragment.source());
    const std::span<const std::byte> bytes = fragment.bytes();
    value = mix(value ^ bytes.size());
    for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), kBytesRead)))
      value = mix(value ^ std::to_integer<std::uint64_t>(byte));
    return value;
  }

  weir::Decision decide(const weir::Slice& slice, std::uint64_t value) {
    die_once(slice.id());
    weir::ByteWriter bytes;
    if (!to_.empty()) return forward(to_, bytes.put(slice.id()).bytes());
    alert_at(slice);
    hashes_.fill(static_cast<double>(value % (kBins - 1)));
    if (value % 3 == 0) return refuse();
    set_result(bytes.put(value).bytes());
    return accept();
  }

  void alert_at(const weir::Slice& slice) {
    if (alerts_at_.contains(slice.id())) alert(50, 50, "slice " + std::to_string(slice.id()));
  }

  weir::Decision refuse() {
    if (!keep_) return reject();
    weir::ByteWriter bytes;
    set_result(bytes.put(std::uint8_t{0}).bytes());
    return accept();
  }

  void check_what_is_shown(const weir::Slice& slice) const {
    if (!slice.forwarded().empty() && weir::read_le<std::uint64_t>(slice.forwarded(), 0) != slice.id())
      throw std::runtime_error("slice " + std::to_string(slice.id()) + " came with bytes of another");
    std::set<std::uint32_t> named;
    for (std::uint32_t step = 0; step <= slice.step(); ++step)
      for (const std::uint32_t source : groups_.at(step).sources()) named.insert(source);
    for (const weir::Fragment fragment : slice)
      if (fragment.requested() != (steps_ == 1 || named.contains(fragment.source())))
        throw std::runtime_error("step " + std::to_string(slice.step()) + " of slice " +
                                 std::to_string(slice.id()) + " shows source " +
                                 std::to_string(fragment.source()) + " wrongly");
  }

  void check_order(std::uint64_t id) {
    if (ascending_ && newest_ && id <= *newest_)
      throw std::runtime_error("slice " + std::to_string(id) + " begins after slice " +
                               std::to_string(*newest_));
    newest_ = id;
  }

  void die_once(std::uint64_t id) const {
    if (dies_in_.empty() || id % dies_every_ != 7) return;
    const int mark =
        ::open((dies_in_ + "/" + std::to_string(id)).c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (mark < 0) return;
    ::close(mark);
    std::raise(SIGKILL);
  }

  std::string to_;
  bool keep_;
  bool ascending_;
  std::optional<std::uint64_t> newest_;
  std::uint32_t steps_;
  std::string dies_in_;
  std::uint64_t dies_every_;
  std::set<std::uint64_t> alerts_at_;
  std::vector<weir::SourceGroup> groups_;
  weir::Histogram1D hashes_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Pairs, "pairs", "1.0", "decides over the bytes of one to three steps")
