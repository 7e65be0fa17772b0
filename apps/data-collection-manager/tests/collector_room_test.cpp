// No fragment may be lost for lack of memory, however small or awkward fragments are: random farms in a pool
// that `weir check` takes.
#include "../src/collector.hpp"
#include "weir_catch.hpp"
#include <weir/base/hash.hpp>
#include <weir/config/expected_sizes.hpp>
#include <weir/wire/block.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;

struct Shape {
  std::uint32_t readouts = 1;
  std::uint32_t per_readout = 1;
  std::uint32_t least = 0;  // bytes of a fragment
  std::uint32_t most = 0;
  std::size_t memory = 0;
  std::size_t credits = 64;
  bool two_steps = false;  // a slice requests a few sources, and one slice in thirty then the others
  bool by_id = false;
  // Readouts lack every fragment of the first slices, or of one slice in this many.
  std::uint64_t lacking_first = 0;
  std::uint64_t lacking_every = 0;

  [[nodiscard]] std::uint32_t sources() const { return readouts * per_readout; }
  [[nodiscard]] std::uint32_t bytes(SliceId slice, SourceId source) const {
    const std::uint64_t dice = mix64(slice.value << 20 ^ source.value);
    return least + static_cast<std::uint32_t>(dice % (most - least + 1));
  }
  [[nodiscard]] bool lacks(SliceId slice, std::uint64_t readout) const {
    if (slice.value <= lacking_first) return readout > 0 || slice.value % 2 == 0;
    return lacking_every > 0 && mix64(slice.value << 8 ^ readout) % lacking_every == 0;
  }
};

// A collector with readouts that answer in blocks and in fragment frames, and slices that stay for a while
// after completion.
class Farm {
 public:
  Farm(const Shape& shape, std::uint64_t seed)
      : shape_(shape),
        random_(seed),
        memory_(std::make_unique_for_overwrite<std::byte[]>(shape.memory)),
        pool_({memory_.get(), shape.memory}),
        assembler_(without_checksums(shape), sources(shape), pool_, slices_),
        asked_(shape.readouts) {
    CollectorSettings settings;
    settings.readouts = shape.readouts;
    settings.memory_bytes = pool_.bytes_total();
    shaping::ShaperSettings none;
    none.readouts = shape.readouts;
    collector_.emplace(settings, assembler_, slices_, pool_, shaping::make_shaper("none", none).value());
    for (std::uint32_t readout = 0; readout < shape.readouts; ++readout) collector_->readout_up(readout);
    std::vector<SourceId> few;
    for (std::uint32_t source = 1; source <= shape.sources(); source += 7) few.push_back(SourceId(source));
    few_ = collector_->select(few);
  }

  // Runs until so many slices have left.
  void run(std::size_t slices) {
    for (std::size_t pass = 0; left_ < slices; ++pass) {
      REQUIRE(pass < 1000 * slices);
      step();
    }
  }
  [[nodiscard]] std::uint64_t lost() const {
    return assembler_.counters().missing[static_cast<std::size_t>(MissingReason::no_buffer)];
  }
  [[nodiscard]] std::size_t together() const { return together_; }
  [[nodiscard]] std::size_t handed_back() const { return handed_back_; }

 private:
  static assembly::AssemblySettings without_checksums(const Shape& shape) {
    assembly::AssemblySettings settings;
    settings.checksums = false;
    settings.slices_max = shape.credits;
    if (shape.by_id) settings.order = assembly::ReleaseOrder::by_id;
    return settings;
  }
  static std::vector<assembly::SourceInfo> sources(const Shape& shape) {
    std::vector<assembly::SourceInfo> made;
    for (std::uint32_t i = 0; i < shape.sources(); ++i)
      made.push_back({SourceId(i + 1), i / shape.per_readout});
    return made;
  }

  void step() {
    now_ns_ += kMillisecond;
    while (slices_.open_count() < shape_.credits) open();
    const std::uint64_t answers = random_() % (2 * shape_.readouts) + 1;
    for (std::uint64_t n = 0; n < answers; ++n) answer(random_() % shape_.readouts);
    for (BuiltSlice* slice : assembler_.take_crowded_out()) hand_back(*slice);
    collector_->pass(now_ns_);
    together_ = std::max(together_, assembler_.collecting());
    take_requests();
    std::vector<BuiltSlice*> whole;
    assembler_.take_completed(whole);
    for (BuiltSlice* slice : whole) {
      const bool wants_more = shape_.two_steps && slice->step == 0 && slice->id().value % 30 == 29;
      if (wants_more) {
        slices_.change(*slice, assembly::BuildState::filtering);
        assembler_.next_step(*slice);
        collector_->collect(*slice, collector_->everything());
      } else {
        storing_.push_back(slice);
      }
    }
    for (std::uint64_t n = random_() % 3; n > 0 && !storing_.empty(); --n) release();
  }
  // The supervisor assigns returned slices again, after some newer ones.
  void open() {
    assembly::AssignedSlice assignment;
    const bool again = !returned_.empty() && random_() % 4 == 0;
    assignment.slice = again ? returned_.front() : SliceId(next_++);
    assignment.attempt = Attempt(static_cast<std::uint16_t>(again ? ++attempts_ : 0));
    if (again) returned_.pop_front();
    BuiltSlice& slice = slices_.assign(std::move(assignment));
    REQUIRE(assembler_.open(slice, now_ns_).has_value());
    collector_->collect(slice, shape_.two_steps ? few_ : collector_->everything());
  }
  void hand_back(BuiltSlice& slice) {
    REQUIRE(++handed_back_ < 200 * (left_ + 10));
    slice.decision = assembly::SliceDecision::fail("crowded_out");
    collector_->forget(slice);
    assembler_.withdraw(slice);
    returned_.push_back(slice.id());
    assembler_.release(slice);
  }
  void release() {
    BuiltSlice& slice = *storing_.front();
    storing_.pop_front();
    collector_->forget(slice);
    assembler_.release(slice);
    ++left_;
  }
  void take_requests() {
    for (const std::uint32_t readout : collector_->to_send()) {
      std::vector<std::byte> frames;
      collector_->take_frames(readout, frames);
      for (ConstBytes rest(frames); !rest.empty();) {
        const auto header = wire::decode_header(rest.first<wire::kHeaderBytes>(), UINT32_MAX);
        REQUIRE(header.has_value());
        REQUIRE(header->type == wire::FrameType::request);
        note(readout, rest.subspan(wire::kHeaderBytes, header->length));
        rest = rest.subspan(wire::kHeaderBytes + header->length);
      }
    }
    collector_->to_send().clear();
  }
  void note(std::uint32_t readout, ConstBytes request) {
    const auto view = wire::RequestView::parse(request);
    REQUIRE(view.has_value());
    for (std::size_t i = 0; i < view->entry_count(); ++i) {
      const wire::RequestEntry entry = view->entry(i);
      Asked& asked = asked_[readout].emplace_back();
      asked.entry = entry;
      if (entry.source_set == wire::kAllSources) {
        for (std::uint32_t n = 0; n < shape_.per_readout; ++n)
          asked.sources.push_back(SourceId(readout * shape_.per_readout + n + 1));
      } else {
        for (std::size_t n = 0; n < view->source_count(entry.source_set); ++n)
          asked.sources.push_back(view->source(entry.source_set, n));
      }
    }
  }
  void answer(std::uint64_t readout) {
    if (asked_[readout].empty()) return;
    const Asked asked = std::move(asked_[readout].front());
    asked_[readout].pop_front();
    const bool missing = shape_.lacks(asked.entry.slice, readout);
    for (const SourceId source : asked.sources) {
      const std::uint32_t bytes = missing ? 0 : shape_.bytes(asked.entry.slice, source);
      if (bytes > wire::kBlockFragmentMax) {
        send_fragment(static_cast<std::uint32_t>(readout), asked.entry, source, bytes);
        continue;
      }
      if (!block_.takes(bytes)) send_block(static_cast<std::uint32_t>(readout));
      if (block_.empty()) block_.begin({asked.entry.slice, asked.entry.attempt, asked.entry.slot});
      wire::BlockRow row;
      row.source = source;
      row.length = bytes;
      if (missing) {
        row.status = FragmentStatus::missing;
        row.reason = MissingReason::restarted;
      }
      block_.add(row);
    }
    send_block(static_cast<std::uint32_t>(readout));
  }
  void send_block(std::uint32_t readout) {
    if (block_.empty()) return;
    std::vector<std::byte> frame(block_.head_bytes());
    block_.write_head(frame);
    frame.resize(block_.frame_bytes());
    block_.clear();
    const auto header = wire::decode_header(ConstBytes(frame).first<wire::kHeaderBytes>(), UINT32_MAX);
    REQUIRE(header.has_value());
    const auto view = wire::BlockView::parse(*header, ConstBytes(frame).subspan(wire::kHeaderBytes));
    REQUIRE(view.has_value());
    view->for_each_slice([&](const wire::BlockSlice& of, const wire::BlockPart& part) {
      const auto reception = assembler_.take(of, part, readout, now_ns_);
      collector_->arrived(readout, reception.slice, frame.size(), now_ns_);
      collector_->answered(readout, reception, of, part);
    });
  }
  void send_fragment(std::uint32_t readout, const wire::RequestEntry& entry, SourceId source,
                     std::uint32_t bytes) {
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = entry.slice;
    header.attempt = entry.attempt;
    header.source = source;
    header.status = FragmentStatus::ok;
    header.length = header.total = bytes;
    const assembly::Reception reception = assembler_.begin(header, readout);
    collector_->arrived(readout, reception.slice, bytes + wire::kHeaderBytes, now_ns_);
    collector_->answered(readout, reception, header);
    (void)assembler_.finish(reception, header, now_ns_);
  }

  struct Asked {
    wire::RequestEntry entry;
    std::vector<SourceId> sources;
  };
  const Shape shape_;
  std::mt19937_64 random_;
  std::unique_ptr<std::byte[]> memory_;
  BufferPool pool_;
  assembly::SliceTable slices_;
  assembly::Assembler assembler_;
  std::optional<Collector> collector_;
  std::shared_ptr<const assembly::Selection> few_;
  TimeNs now_ns_ = kSecond;
  std::uint64_t next_ = 1;
  std::vector<std::deque<Asked>> asked_;  // by readout
  std::deque<BuiltSlice*> storing_;
  std::deque<SliceId> returned_;
  std::size_t handed_back_ = 0;
  std::uint16_t attempts_ = 0;
  wire::BlockWriter block_;
  std::size_t left_ = 0;
  std::size_t together_ = 0;
};

std::uint64_t slice_bytes(const Shape& shape) {
  const std::uint32_t mean = (shape.least + shape.most) / 2;
  return std::uint64_t{shape.sources()} * assembly::SliceMemory::placed_bytes(mean);
}

// The least memory that `weir check` takes, or up to twenty times as much, in whole pages.
std::size_t some_memory(const Shape& shape, std::mt19937_64& random) {
  config::ExpectedSizes sizes;
  sizes.placed = slice_bytes(shape);
  const std::uint64_t least = std::max<std::uint64_t>(config::dcm_buffer_min(sizes), 64 * 1024);
  const std::uint64_t most = random() % 3 == 0 ? least : least + random() % (20 * least);
  return (most + BufferPool::kBlockMin - 1) / BufferPool::kBlockMin * BufferPool::kBlockMin;
}

Shape random_shape(std::mt19937_64& random, bool tiny) {
  Shape shape;
  const auto sources = static_cast<std::uint32_t>(300 + random() % (tiny ? 4700 : 500));
  shape.per_readout = static_cast<std::uint32_t>(1 + random() % 300);
  shape.readouts = (sources + shape.per_readout - 1) / shape.per_readout;
  constexpr std::uint32_t kPage = 16 * 1024;
  const auto spread = static_cast<std::uint32_t>(random() % 3 == 0 ? 0 : random() % (tiny ? 21 : 400));
  shape.least = tiny ? static_cast<std::uint32_t>(random() % (21 - std::min(spread, 20U)))
                     : kPage - 200 + static_cast<std::uint32_t>(random() % 400);
  shape.most = shape.least + spread;
  shape.credits = 1 + random() % 64;
  shape.two_steps = random() % 4 == 0;
  shape.by_id = random() % 4 == 0;
  if (random() % 3 == 0) shape.lacking_first = random() % 20;
  if (random() % 4 == 0) shape.lacking_every = 2 + random() % 20;
  shape.memory = some_memory(shape, random);
  return shape;
}

}  // namespace

TEST_CASE("no fragment of a random farm is lost for lack of memory") {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    std::mt19937_64 random(seed);
    const bool tiny = seed % 3 != 0;
    const Shape shape = random_shape(random, tiny);
    CAPTURE(seed, shape.readouts, shape.per_readout, shape.least, shape.most, shape.memory, shape.credits,
            shape.two_steps, shape.by_id, shape.lacking_first, shape.lacking_every);
    Farm farm(shape, seed);
    farm.run(tiny ? 100 : 40);
    REQUIRE(farm.lost() == 0);
  }
}

TEST_CASE("memory is filled with as many slices as have room in it") {
  for (const std::uint32_t bytes : {1U, 12U, 16'385U}) {
    Shape shape{8, 50, bytes, bytes, 0, 64, false};
    const std::size_t block = BufferPool::block_bytes(slice_bytes(shape));
    shape.memory = 16 * block;
    CAPTURE(bytes);
    Farm farm(shape, bytes);
    farm.run(200);
    CHECK(farm.lost() == 0);
    CHECK(farm.together() >= 13);
  }
}

}  // namespace weir::dcm
