#pragma once

#include "../src/collector.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/hash.hpp>
#include <weir/wire/frame.hpp>

#include <deque>
#include <string>
#include <utility>

// A collector and its assembler among readouts that answer a few requests at a time, in any order of
// readouts. Only readouts of one source each answer.
namespace weir::dcm {

class CollectorFarm {
 public:
  struct Asked {
    std::uint32_t readout = 0;
    wire::RequestEntry entry;
  };

  CollectorFarm(const std::string& shaper, shaping::ReadoutOrder order, std::uint32_t readouts,
                std::uint64_t window_fragments, std::size_t in_flight, std::uint32_t sources_each = 1)
      : CollectorFarm(made(shaper, readouts, window_fragments), order, readouts, in_flight, sources_each) {}
  CollectorFarm(std::unique_ptr<shaping::Shaper> shaper, shaping::ReadoutOrder order, std::uint32_t readouts,
                std::size_t in_flight, std::uint32_t sources_each = 1)
      : memory_(64U << 20),
        pool_(memory_),
        assembler_(without_checksums(), sources(readouts, sources_each), pool_, slices_),
        in_flight_(in_flight),
        waiting_(readouts) {
    CollectorSettings settings;
    settings.readouts = readouts;
    settings.order = order;
    settings.first_readout = readouts / 3;
    settings.memory_bytes = pool_.bytes_total();
    collector_.emplace(settings, assembler_, slices_, pool_, std::move(shaper));
    for (std::uint32_t readout = 0; readout < readouts; ++readout) collector_->readout_up(readout);
  }

  // One pass: slices are opened and asked for, `answers` requests answered, whole slices released. Returns
  // how many.
  std::size_t pass(std::size_t answers) {
    now_ns_ += kMillisecond / 10;
    while (slices_.open_count() < in_flight_) open();
    for (std::size_t n = 0; n < answers && unanswered_ > 0; ++n) answer_somebody();
    collector_->pass(now_ns_);
    std::vector<assembly::BuiltSlice*> whole;
    assembler_.take_completed(whole);
    for (assembly::BuiltSlice* slice : whole) {
      collector_->forget(*slice);
      assembler_.release(*slice);
    }
    take_requests();
    return whole.size();
  }
  // The fragments of this readout are shorter than all others.
  void shorten(std::uint32_t readout) { short_ = readout; }
  // No request made so far is ever answered.
  void park_requests() {
    for (auto& requests : waiting_) requests.clear();
    with_requests_.clear();
    unanswered_ = 0;
  }
  // Opens a slice with pushed fragments.
  void expect_pushed() {
    assembly::BuiltSlice& slice = opened();
    assembler_.expect(slice, now_ns_ + kSecond);
    collector_->expect_pushed(slice, now_ns_);
  }
  [[nodiscard]] Collector& collector() { return *collector_; }
  [[nodiscard]] assembly::Assembler& assembler() { return assembler_; }
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }
  [[nodiscard]] std::size_t unanswered_of(std::uint32_t readout) const { return waiting_[readout].size(); }

  static constexpr std::uint32_t kBytes = 64;
  static constexpr std::uint32_t kShortBytes = 8;

 private:
  static constexpr TimeNs kStart = kSecond;

  static std::unique_ptr<shaping::Shaper> made(const std::string& shaper, std::uint32_t readouts,
                                               std::uint64_t window_fragments) {
    shaping::ShaperSettings settings;
    settings.readouts = readouts;
    settings.window_fragments = static_cast<std::uint32_t>(window_fragments);
    settings.window_bytes = window_fragments * (kBytes + wire::kHeaderBytes);
    auto made = shaping::make_shaper(shaper, settings);
    WEIR_ASSERT(made.has_value());
    return std::move(*made);
  }
  static assembly::AssemblySettings without_checksums() {
    assembly::AssemblySettings settings;
    settings.checksums = false;
    settings.deadline_ns = 60 * kSecond;
    return settings;
  }
  static std::vector<assembly::SourceInfo> sources(std::uint32_t readouts, std::uint32_t each) {
    std::vector<assembly::SourceInfo> made;
    for (std::uint32_t i = 0; i < readouts * each; ++i) made.push_back({SourceId(i + 1), i / each});
    return made;
  }
  assembly::BuiltSlice& opened() {
    assembly::AssignedSlice assignment;
    assignment.slice = SliceId(next_slice_++);
    assembly::BuiltSlice& slice = slices_.assign(std::move(assignment));
    WEIR_ASSERT(assembler_.open(slice, now_ns_).has_value());
    return slice;
  }
  void open() { collector_->collect(opened(), collector_->everything()); }
  void take_requests() {
    for (const std::uint32_t readout : collector_->to_send()) {
      frames_.clear();
      collector_->take_frames(readout, frames_);
      ConstBytes rest(frames_);
      while (!rest.empty()) {
        const auto header = wire::decode_header(rest.first<wire::kHeaderBytes>(), UINT32_MAX);
        WEIR_ASSERT(header.has_value() && header->type == wire::FrameType::request);
        const auto view = wire::RequestView::parse(rest.subspan(wire::kHeaderBytes, header->length));
        WEIR_ASSERT(view.has_value());
        for (std::size_t i = 0; i < view->entry_count(); ++i) waiting_[readout].push_back(view->entry(i));
        if (waiting_[readout].size() == view->entry_count()) with_requests_.push_back(readout);
        unanswered_ += view->entry_count();
        rest = rest.subspan(wire::kHeaderBytes + header->length);
      }
    }
    collector_->to_send().clear();
  }
  void answer_somebody() {
    dice_ = mix64(dice_);
    const std::size_t at = dice_ % with_requests_.size();
    const std::uint32_t readout = with_requests_[at];
    const wire::RequestEntry entry = waiting_[readout].front();
    waiting_[readout].pop_front();
    --unanswered_;
    if (waiting_[readout].empty()) {
      with_requests_[at] = with_requests_.back();
      with_requests_.pop_back();
    }
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = entry.slice;
    header.attempt = entry.attempt;
    header.source = SourceId(readout + 1);
    header.status = FragmentStatus::ok;
    header.length = header.total = readout == short_ ? kShortBytes : kBytes;
    const assembly::Reception reception = assembler_.begin(header, readout);
    collector_->arrived(readout, reception.slice, header.length + wire::kHeaderBytes, now_ns_);
    collector_->answered(readout, reception, header);
    (void)assembler_.finish(reception, header, now_ns_);
  }

  std::vector<std::byte> memory_;
  BufferPool pool_;
  assembly::SliceTable slices_;
  assembly::Assembler assembler_;
  std::size_t in_flight_;
  std::optional<Collector> collector_;
  TimeNs now_ns_ = kStart;
  std::uint64_t next_slice_ = 1;
  std::vector<std::deque<wire::RequestEntry>> waiting_;  // by readout
  std::vector<std::uint32_t> with_requests_;
  std::optional<std::uint32_t> short_;
  std::size_t unanswered_ = 0;
  std::vector<std::byte> frames_;
  std::uint64_t dice_ = 1;
};

}  // namespace weir::dcm
