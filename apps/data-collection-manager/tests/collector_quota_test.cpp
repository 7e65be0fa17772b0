// A collector under a strict quota.
#include "../src/collector.hpp"
#include "weir_catch.hpp"

#include <deque>
#include <memory>
#include <vector>

namespace weir::dcm {
namespace {

constexpr std::uint32_t kQuotaReadouts = 3;
constexpr std::uint32_t kSourcesEach = 4;
constexpr std::uint32_t kQuotaBytes = 1000;

assembly::AssemblySettings without_checksums() {
  assembly::AssemblySettings settings;
  settings.checksums = false;
  return settings;
}

std::vector<assembly::SourceInfo> sources() {
  std::vector<assembly::SourceInfo> made;
  for (std::uint32_t i = 0; i < kQuotaReadouts * kSourcesEach; ++i)
    made.push_back({SourceId(i + 1), i / kSourcesEach});
  return made;
}

std::unique_ptr<shaping::Shaper> quota_of(std::uint32_t fragments, bool strict) {
  shaping::ShaperSettings settings;
  settings.readouts = kQuotaReadouts;
  settings.window_fragments = fragments;
  settings.window_strict = strict;
  return *shaping::make_shaper("fragment-credits", settings);
}

// A farm of readouts that answer fragment by fragment, in the order of the requests.
class QuotaFarm {
 public:
  QuotaFarm(std::uint32_t fragments, bool strict) {
    CollectorSettings settings;
    settings.readouts = kQuotaReadouts;
    settings.memory_bytes = pool_.bytes_total();
    collector_ =
        std::make_unique<Collector>(settings, assembler_, slices_, pool_, quota_of(fragments, strict));
    for (std::uint32_t readout = 0; readout < kQuotaReadouts; ++readout) collector_->readout_up(readout);
  }
  void open(std::uint64_t id) {
    assembly::AssignedSlice assignment;
    assignment.slice = SliceId(id);
    assembly::BuiltSlice& slice = slices_.assign(std::move(assignment));
    REQUIRE(assembler_.open(slice, now_).has_value());
    collector_->collect(slice, collector_->everything());
  }
  void pass() {
    collector_->pass(now_);
    for (const std::uint32_t readout : collector_->to_send()) take_requests(readout);
    collector_->to_send().clear();
    most_owed_ = std::max(most_owed_, owed_.size());
  }
  void wait(DurationNs time) { now_ += time; }
  void answer_one() {
    const Owed owed = owed_.front();
    owed_.pop_front();
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = owed.slice;
    header.source = owed.source;
    header.status = FragmentStatus::ok;
    header.length = header.total = kQuotaBytes;
    const assembly::Reception reception = assembler_.begin(header, owed.readout);
    collector_->arrived(owed.readout, reception.slice, kQuotaBytes + wire::kHeaderBytes, now_);
    collector_->answered(owed.readout, reception, header);
    (void)assembler_.finish(reception, header, now_);
  }
  // Returns the number of slices that were built.
  std::size_t answer_all() {
    std::size_t built = 0;
    for (pass(); !owed_.empty(); pass()) {
      answer_one();
      std::vector<assembly::BuiltSlice*> whole;
      assembler_.take_completed(whole);
      built += whole.size();
    }
    return built;
  }
  [[nodiscard]] std::size_t owed() const { return owed_.size(); }
  [[nodiscard]] std::size_t most_owed() const { return most_owed_; }
  [[nodiscard]] const Collector& collector() const { return *collector_; }

 private:
  struct Owed {
    SliceId slice;
    std::uint32_t readout = 0;
    SourceId source;
  };
  void take_requests(std::uint32_t readout) {
    std::vector<std::byte> frames;
    collector_->take_frames(readout, frames);
    for (ConstBytes rest(frames); !rest.empty();) {
      const auto header = wire::decode_header(rest.first<wire::kHeaderBytes>(), UINT32_MAX);
      REQUIRE(header.has_value());
      const auto view = wire::RequestView::parse(rest.subspan(wire::kHeaderBytes, header->length));
      REQUIRE(view.has_value());
      for (std::size_t i = 0; i < view->entry_count(); ++i) note(readout, *view, view->entry(i));
      rest = rest.subspan(wire::kHeaderBytes + header->length);
    }
  }
  void note(std::uint32_t readout, const wire::RequestView& view, const wire::RequestEntry& entry) {
    const bool all = entry.source_set == wire::kAllSources;
    const std::size_t count = all ? kSourcesEach : view.source_count(entry.source_set);
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = static_cast<std::uint32_t>(readout * kSourcesEach + i + 1);
      owed_.push_back({entry.slice, readout, all ? SourceId(id) : view.source(entry.source_set, i)});
    }
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(1U << 20);
  BufferPool pool_{memory_};
  assembly::SliceTable slices_;
  assembly::Assembler assembler_{without_checksums(), sources(), pool_, slices_};
  std::unique_ptr<Collector> collector_;
  TimeNs now_ = kSecond;
  std::deque<Owed> owed_;
  std::size_t most_owed_ = 0;
};

}  // namespace

TEST_CASE("a strict quota bounds the requested fragments, and every slice is built") {
  const std::uint32_t quota = GENERATE(1U, 2U, 3U, 5U, 12U);
  CAPTURE(quota);
  QuotaFarm farm(quota, true);
  for (std::uint64_t id = 1; id <= 4; ++id) farm.open(id);
  CHECK(farm.answer_all() == 4);
  CHECK(farm.most_owed() == quota);
}

TEST_CASE("without a strict quota the fragments of one readout are requested together") {
  QuotaFarm farm(1, false);
  farm.open(1);
  farm.pass();
  CHECK(farm.owed() == kSourcesEach);
}

TEST_CASE("a strict quota is kept while nothing arrives, where another one is exceeded after half a second") {
  const bool strict = GENERATE(true, false);
  QuotaFarm farm(4, strict);
  farm.open(1);
  farm.pass();
  CHECK(farm.owed() == 4);
  farm.wait(600 * kMillisecond);
  farm.pass();
  CHECK(farm.owed() == (strict ? 4 : 8));
  CHECK(farm.collector().overdrawn() == (strict ? 0 : 1));
}

}  // namespace weir::dcm
