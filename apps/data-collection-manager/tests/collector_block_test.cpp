// The collector and block frames: which requests they answer.
#include "../src/collector.hpp"
#include "weir_catch.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace weir::dcm {
namespace {

constexpr std::uint32_t kBytes = 150;
constexpr std::uint64_t kPiece = 100;  // two fragments do not fit into two of these

// Grants everything in small pieces, and records the reported answer times.
class Learner final : public shaping::Shaper {
 public:
  struct Told {
    std::uint64_t responses = 0;
    std::uint64_t bytes = 0;
  };
  explicit Learner(Told& told) : told_(told) {}

  shaping::Credit try_take(const shaping::Demand&, TimeNs) override { return shaping::Credit::granted; }
  void take(const shaping::Demand&, TimeNs) override {}
  void arrived(std::uint32_t, std::uint64_t, TimeNs) override {}
  void answered(std::uint32_t, std::uint32_t, std::uint64_t, TimeNs) override {}
  void readout_lost(std::uint32_t) override {}
  [[nodiscard]] std::uint64_t piece_bytes() const override { return kPiece; }
  [[nodiscard]] bool learns() const override { return true; }
  void response(const shaping::MeasuredAnswer& response, TimeNs) override {
    ++told_.responses;
    told_.bytes += response.bytes;
  }
  [[nodiscard]] std::uint64_t outstanding() const override { return 0; }
  [[nodiscard]] std::uint64_t window() const override { return 0; }

 private:
  Told& told_;
};

struct TwoSources {
  TwoSources() {
    CollectorSettings settings;
    settings.assembly = without_checksums();
    settings.readouts = 1;
    settings.memory_bytes = pool.bytes_total();
    collector =
        std::make_unique<Collector>(settings, assembler, slices, pool, std::make_unique<Learner>(told));
    collector->readout_up(0);
  }
  // Returns the entries of the requests that the last passes made, in order.
  std::vector<wire::RequestEntry> requests() {
    std::vector<std::byte> frames;
    collector->take_frames(0, frames);
    collector->to_send().clear();
    std::vector<wire::RequestEntry> entries;
    for (ConstBytes rest(frames); !rest.empty();) {
      const auto header = wire::decode_header(rest.first<wire::kHeaderBytes>(), UINT32_MAX);
      REQUIRE(header.has_value());
      const auto view = wire::RequestView::parse(rest.subspan(wire::kHeaderBytes, header->length));
      REQUIRE(view.has_value());
      for (std::size_t i = 0; i < view->entry_count(); ++i) entries.push_back(view->entry(i));
      rest = rest.subspan(wire::kHeaderBytes + header->length);
    }
    return entries;
  }
  void answer_with_range(SourceId source, const wire::RequestEntry& entry, std::uint32_t total) {
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = slice->id();
    header.source = source;
    header.status = FragmentStatus::ok;
    header.offset = entry.offset;
    header.length = std::min(entry.length, total - entry.offset);
    header.total = total;
    const assembly::Reception reception = assembler.begin(header, 0);
    REQUIRE(reception.slice != nullptr);
    collector->arrived(0, reception.slice, header.length + wire::kHeaderBytes, now);
    collector->answered(0, reception, header);
    (void)assembler.finish(reception, header, now);
  }
  // Opens the slice, and gives how many entries the readout is asked with.
  std::size_t ask(std::uint64_t id) {
    assembly::AssignedSlice assignment;
    assignment.slice = SliceId(id);
    slice = &slices.assign(std::move(assignment));
    REQUIRE(assembler.open(*slice, now).has_value());
    collector->collect(*slice, collector->everything());
    collector->pass(now);
    asked = requests();
    return asked.size();
  }
  void answer_with_one_block() {
    now += kMillisecond;
    wire::BlockWriter writer;
    writer.begin({slice->id(), slice->attempt(), 0});
    for (const std::uint32_t source : {1U, 2U}) {
      wire::BlockRow row;
      row.source = SourceId(source);
      row.length = kBytes;
      writer.add(row);
    }
    std::vector<std::byte> frame(writer.head_bytes());
    writer.write_head(frame);
    frame.resize(writer.frame_bytes());
    const auto header = wire::decode_header(ConstBytes(frame).first<wire::kHeaderBytes>(), 0);
    REQUIRE(header.has_value());
    const auto view = wire::BlockView::parse(*header, ConstBytes(frame).subspan(wire::kHeaderBytes));
    REQUIRE(view.has_value());
    collector->arrived(0, slice, frame.size(), now);
    view->for_each_slice([&](const wire::BlockSlice& of, const wire::BlockPart& part) {
      collector->answered(0, assembler.take(of, part, 0, now), of, part);
    });
    collector->timed(0, {slice->id(), 0, 1, 0}, now);
    collector->pass(now);
    frame_bytes = frame.size();
  }
  void leave() {
    std::vector<assembly::BuiltSlice*> done;
    assembler.take_completed(done);
    REQUIRE(done.size() == 1);
    CHECK(slice->gathering.parts[0].owed_fragments == 0);
    CHECK(slice->gathering.parts[0].owed_bytes == 0);
    collector->forget(*slice);
    assembler.release(*slice);
  }

  TimeNs now = kSecond;
  std::vector<std::byte> memory = std::vector<std::byte>(1U << 20);
  BufferPool pool{memory};
  assembly::SliceTable slices;
  assembly::Assembler assembler{without_checksums(), {{SourceId(1), 0}, {SourceId(2), 0}}, pool, slices};
  Learner::Told told;
  std::unique_ptr<Collector> collector;
  assembly::BuiltSlice* slice = nullptr;
  std::vector<wire::RequestEntry> asked;  // filled by ask()
  std::size_t frame_bytes = 0;

  static assembly::AssemblySettings without_checksums() {
    assembly::AssemblySettings settings;
    settings.checksums = false;
    return settings;
  }
};

}  // namespace

TEST_CASE("a block that answers two requests for one slice answers both, however many slices there are") {
  TwoSources dcm;
  for (std::uint64_t id = 1; id <= 40; ++id) {
    CAPTURE(id);
    CHECK(dcm.ask(id) == 2);
    dcm.answer_with_one_block();
    CHECK(dcm.told.responses == id);
    dcm.leave();
  }
  // From each block, the part that belongs to the last answered request.
  CHECK(dcm.told.bytes == 40 * dcm.frame_bytes / 2);
}

TEST_CASE("the rest of a fragment of unknown length is asked for in pieces that are all under way together") {
  constexpr std::uint32_t kTotal = 5000;
  TwoSources dcm;
  REQUIRE(dcm.ask(1) == 2);
  for (const std::uint32_t source : {1U, 2U}) {
    dcm.answer_with_range(SourceId(source), dcm.asked.front(), kTotal);
    dcm.collector->pass(dcm.now);
    const auto rest = dcm.requests();
    REQUIRE(rest.size() > kTotal / kPiece);
    std::uint32_t next = dcm.asked.front().length;
    for (const wire::RequestEntry& entry : rest) {
      CHECK(entry.offset == next);
      next += entry.length;
    }
    CHECK(next == kTotal);
    for (const wire::RequestEntry& entry : rest) dcm.answer_with_range(SourceId(source), entry, kTotal);
    dcm.collector->pass(dcm.now);
    CHECK(dcm.requests().empty());
  }
  CHECK(dcm.assembler.counters().received == 2);
  dcm.leave();
}

}  // namespace weir::dcm
