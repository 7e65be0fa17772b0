// A collector and sources of unknown size: the number of requests, and the length of their answers.
#include "../src/collector.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

namespace weir::dcm {
namespace {

constexpr std::uint64_t kLargePiece = 16 * 1024;
constexpr std::uint64_t kWindow = 4 * kLargePiece;

// One readout that answers each request at once. A size of nullopt: the fragment is missing.
class UnknownSizes {
 public:
  using Size = std::optional<std::uint32_t>;

  explicit UnknownSizes(std::vector<Size> sizes)
      : sizes_(std::move(sizes)), assembler_(without_checksums(), sources(sizes_.size()), pool_, slices_) {
    CollectorSettings settings;
    settings.readouts = 1;
    settings.memory_bytes = pool_.bytes_total();
    shaping::ShaperSettings window;
    window.readouts = 1;
    window.window_bytes = kWindow;
    window.range_bytes = kLargePiece;
    collector_ = std::make_unique<Collector>(settings, assembler_, slices_, pool_,
                                             *shaping::make_shaper("byte-credits", window));
    collector_->readout_up(0);
  }
  // Collects one slice; returns the number of passes.
  int collect(std::uint64_t id) {
    assembly::AssignedSlice assignment;
    assignment.slice = SliceId(id);
    assembly::BuiltSlice& slice = slices_.assign(std::move(assignment));
    REQUIRE(assembler_.open(slice, now_).has_value());
    collector_->collect(slice, collector_->everything());
    std::vector<assembly::BuiltSlice*> done;
    int passes = 0;
    while (done.empty()) {
      ++passes;
      collector_->pass(now_);
      REQUIRE_FALSE(collector_->to_send().empty());
      answer();
      assembler_.take_completed(done);
    }
    collector_->forget(slice);
    assembler_.release(slice);
    return passes;
  }
  [[nodiscard]] std::uint64_t longest_answer() const { return longest_answer_; }
  [[nodiscard]] const assembly::FragmentCounters& counters() const { return assembler_.counters(); }

 private:
  static assembly::AssemblySettings without_checksums() {
    assembly::AssemblySettings settings;
    settings.checksums = false;
    return settings;
  }
  static std::vector<assembly::SourceInfo> sources(std::size_t count) {
    std::vector<assembly::SourceInfo> made;
    for (std::uint32_t i = 0; i < count; ++i) made.push_back({SourceId(i + 1), 0});
    return made;
  }
  void answer() {
    std::vector<std::byte> frames;
    collector_->take_frames(0, frames);
    collector_->to_send().clear();
    now_ += kMillisecond;
    for (ConstBytes rest(frames); !rest.empty();) {
      const auto header = wire::decode_header(rest.first<wire::kHeaderBytes>(), UINT32_MAX);
      REQUIRE(header.has_value());
      const auto view = wire::RequestView::parse(rest.subspan(wire::kHeaderBytes, header->length));
      REQUIRE(view.has_value());
      for (std::size_t i = 0; i < view->entry_count(); ++i) answer(*view, view->entry(i));
      rest = rest.subspan(wire::kHeaderBytes + header->length);
    }
  }
  void answer(const wire::RequestView& view, const wire::RequestEntry& entry) {
    const bool all = entry.source_set == wire::kAllSources;
    const std::size_t count = all ? sizes_.size() : view.source_count(entry.source_set);
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const SourceId source =
          all ? SourceId(static_cast<std::uint32_t>(i + 1)) : view.source(entry.source_set, i);
      bytes += answer(entry, source);
    }
    longest_answer_ = std::max(longest_answer_, bytes);
  }
  std::uint64_t answer(const wire::RequestEntry& entry, SourceId source) {
    const Size size = sizes_[source.value - 1];
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = entry.slice;
    header.source = source;
    header.status = size ? FragmentStatus::ok : FragmentStatus::missing;
    header.offset = entry.offset;
    header.total = size.value_or(0);
    const std::uint32_t rest = header.total - std::min(header.total, entry.offset);
    header.length = entry.length == 0 ? rest : std::min(rest, entry.length);
    const assembly::Reception reception = assembler_.begin(header, 0);
    const bool whole = header.length == header.total;
    const std::uint64_t bytes =
        whole ? wire::fragment_wire_bytes(header.length) : wire::kHeaderBytes + header.length;
    collector_->arrived(0, reception.slice, bytes, now_);
    collector_->answered(0, reception, header);
    (void)assembler_.finish(reception, header, now_);
    return bytes;
  }

  TimeNs now_ = kSecond;
  std::vector<Size> sizes_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(std::size_t{64} << 20U);
  BufferPool pool_{memory_};
  assembly::SliceTable slices_;
  assembly::Assembler assembler_;
  std::unique_ptr<Collector> collector_;
  std::uint64_t longest_answer_ = 0;
};

constexpr std::size_t kMany = 100'000;

}  // namespace

TEST_CASE("100000 short fragments of unknown size take few round trips") {
  UnknownSizes dcm(std::vector<UnknownSizes::Size>(kMany, 12U));
  const int first = dcm.collect(1);
  const int second = dcm.collect(2);
  CHECK(first < 2 * second);
  CHECK(dcm.counters().received == 2 * kMany);
  CHECK(dcm.longest_answer() <= 2 * kLargePiece);
}

TEST_CASE("100000 missing fragments of unknown size take few round trips, slice after slice") {
  UnknownSizes dcm(std::vector<UnknownSizes::Size>(kMany, std::nullopt));
  for (std::uint64_t id = 1; id <= 3; ++id) CHECK(dcm.collect(id) < 120);
  CHECK(dcm.counters().received == 0);
}

TEST_CASE("no answer is longer than two pieces, however different the sizes of a readout's sources are") {
  std::vector<UnknownSizes::Size> sizes;
  std::uint64_t there = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    constexpr std::uint32_t kSizes[] = {0, 12, 0, 3000, 8, 40'000};
    const bool missing = i % 7 == 3;
    sizes.emplace_back(missing ? UnknownSizes::Size{} : kSizes[i % 6]);
    if (!missing) ++there;
  }
  UnknownSizes dcm(std::move(sizes));
  for (std::uint64_t id = 1; id <= 4; ++id) (void)dcm.collect(id);
  CHECK(dcm.counters().received == 4 * there);
  CHECK(dcm.longest_answer() <= 2 * kLargePiece + wire::kHeaderBytes);
}

}  // namespace weir::dcm
