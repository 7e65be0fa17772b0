// Which slices begin while memory is short.
#include "building.hpp"

namespace weir::dcm {
namespace {

using assembly::BuiltSlice;

// One slice collects, and others have all the memory that may be planned with.
struct Short : Building {
  Short() { fill(); }
  explicit Short(const assembly::AssemblySettings& settings)
      : Building({{SourceId(1), 0}, {SourceId(2), 1}}, settings) {
    fill();
  }
  void fill() {
    notes.release(complete(1));  // how large slices are is known
    (void)collect(10);
    pass();
    REQUIRE(find(10)->gathering.has_begun());
    while (builder.pool.bytes_used() < kMemory / 16 * 15) (void)builder.pool.allocate(BufferPool::kBlockMin);
  }
  BuiltSlice& collect(std::uint64_t id) {
    BuiltSlice& slice = open(id);
    collector().collect(slice, collector().everything());
    return slice;
  }
  void pass() {
    now() += kMillisecond;
    collector().pass(now());
  }
};

}  // namespace

TEST_CASE("a slice that is older than all that collect begins with the memory that is left") {
  Short dcm;
  BuiltSlice& newer = dcm.collect(11);
  BuiltSlice& old = dcm.collect(6);
  BuiltSlice& older = dcm.collect(5);
  dcm.pass();
  CHECK(older.gathering.has_begun());
  CHECK_FALSE(old.gathering.has_begun());
  dcm.pass();
  CHECK_FALSE(old.gathering.has_begun());
  CHECK_FALSE(newer.gathering.has_begun());
}

TEST_CASE("but not while a complete slice has yet to release its memory") {
  Short dcm;
  BuiltSlice& older = dcm.collect(5);
  std::vector<BuiltSlice*> done;
  for (const std::uint32_t readout : {0U, 1U}) dcm.answer(10, readout);
  (void)dcm.collect(11);
  dcm.builder.assembler.take_completed(done);
  REQUIRE(done.size() == 1);
  REQUIRE(dcm.builder.assembler.leaving() == 1);
  dcm.pass();
  CHECK_FALSE(older.gathering.has_begun());
  dcm.notes.release(*done.front());
  dcm.pass();
  CHECK(older.gathering.has_begun());  // no other slice gives memory back
}

TEST_CASE("and waits if none is left") {
  Short dcm;
  while (dcm.builder.pool.allocate(BufferPool::kBlockMin)) {
  }
  BuiltSlice& older = dcm.collect(5);
  dcm.pass();
  CHECK_FALSE(older.gathering.has_begun());
}

TEST_CASE("the newest slice gives way to an older one when no byte arrives") {
  Short dcm;
  while (dcm.builder.pool.allocate(BufferPool::kBlockMin)) {
  }
  const BuiltSlice& newer = dcm.collect(6);
  const BuiltSlice& oldest = dcm.collect(5);
  dcm.pass();
  CHECK(dcm.builder.assembler.take_crowded_out().empty());
  dcm.now() += 400 * kMillisecond;
  dcm.answer(10, 0);
  dcm.pass();
  CHECK(dcm.builder.assembler.take_crowded_out().empty());
  dcm.now() += 499 * kMillisecond;
  dcm.pass();
  const auto crowded_out = dcm.builder.assembler.take_crowded_out();
  REQUIRE(crowded_out == std::vector<BuiltSlice*>{dcm.find(10)});
  dcm.pass();
  CHECK(dcm.builder.assembler.take_crowded_out().empty());
  dcm.collector().forget(*crowded_out.front());
  dcm.builder.assembler.withdraw(*crowded_out.front());
  std::vector<std::byte> frames;
  dcm.collector().take_frames(1, frames);
  frames.clear();
  dcm.pass();  // readouts answer cancelled requests, which frees the window
  dcm.collector().take_frames(1, frames);
  REQUIRE(frames.size() >= wire::kHeaderBytes);
  const auto header = wire::decode_header(ConstBytes(frames).first<wire::kHeaderBytes>(), UINT32_MAX);
  REQUIRE(header.has_value());
  CHECK(header->type == wire::FrameType::cancel);
  dcm.builder.assembler.release(*crowded_out.front());
  dcm.pass();
  CHECK(oldest.gathering.has_begun());
  CHECK_FALSE(newer.gathering.has_begun());
}

TEST_CASE("and so does the first slice, which collects alone until the sizes are known") {
  Building dcm;
  const auto collect = [&](std::uint64_t id) -> BuiltSlice& {
    BuiltSlice& slice = dcm.open(id);
    dcm.collector().collect(slice, dcm.collector().everything());
    return slice;
  };
  const auto pass_after = [&](DurationNs time) {
    dcm.now() += time;
    dcm.collector().pass(dcm.now());
  };
  BuiltSlice& first = collect(10);
  pass_after(kMillisecond);
  REQUIRE(first.gathering.has_begun());
  const BuiltSlice& oldest = collect(5);
  pass_after(499 * kMillisecond);
  CHECK(dcm.builder.assembler.take_crowded_out().empty());
  pass_after(kMillisecond);
  REQUIRE(dcm.builder.assembler.take_crowded_out() == std::vector<BuiltSlice*>{&first});
  dcm.collector().forget(first);
  dcm.builder.assembler.withdraw(first);
  dcm.builder.assembler.release(first);
  pass_after(kMillisecond);
  CHECK(oldest.gathering.has_begun());
}

// With a full buffer the readouts of the pushed slice make it when the oldest one is cleared.
TEST_CASE("in id order complete slices give way to an older one beside pushed slices without data") {
  assembly::AssemblySettings settings = Building::assembly();
  settings.order = assembly::ReleaseOrder::by_id;
  Short dcm(settings);
  while (dcm.builder.pool.allocate(BufferPool::kBlockMin)) {
  }
  BuiltSlice& pushed = dcm.open(11);
  pushed.pushed = true;
  dcm.builder.assembler.expect(pushed, dcm.now() + 60 * kSecond);
  dcm.collector().expect_pushed(pushed, dcm.now());
  const BuiltSlice& oldest = dcm.collect(5);
  for (const std::uint32_t readout : {0U, 1U}) dcm.answer(10, readout);
  std::vector<BuiltSlice*> done;
  const auto pass_after = [&](DurationNs time) {
    dcm.now() += time;
    dcm.pass();
    dcm.builder.assembler.take_completed(done);
  };
  pass_after(0);
  pass_after(400 * kMillisecond);
  CHECK(done.empty());
  pass_after(100 * kMillisecond);
  REQUIRE(done == std::vector<BuiltSlice*>{dcm.find(10)});
  CHECK_FALSE(oldest.gathering.has_begun());
  dcm.notes.release(*done.front());
  dcm.pass();
  CHECK(oldest.gathering.has_begun());
}

TEST_CASE("an older slice is requested before newer ones, whenever it arrives") {
  Short dcm;
  BuiltSlice& older = dcm.collect(5);
  dcm.pass();
  REQUIRE(older.gathering.has_begun());
  CHECK(older.gathering.order < dcm.find(10)->gathering.order);
}

}  // namespace weir::dcm
