#pragma once

#include "../src/builder.hpp"
#include "../src/slice_router.hpp"
#include "weir_catch.hpp"
#include <weir/ports/clock.hpp>
#include <weir/v1/control.pb.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

// The surroundings of a part of the DCM: a builder of slices of two readouts with one source each, a clock
// that a test moves, and a recorder in the node's place.
namespace weir::dcm {

struct HandClock final : ports::Clock {
  [[nodiscard]] TimeNs now_ns() const override { return now; }
  [[nodiscard]] UtcNs utc_ns() const override { return now; }
  TimeNs now = kSecond;
};

struct Notes final : SliceRouter {
  explicit Notes(Builder& of) : builder(of) {}
  void to_filter(assembly::BuiltSlice& slice) override { filtered.push_back(&slice); }
  void release(assembly::BuiltSlice& slice) override {
    released.push_back(slice.id().value);
    if (before_release) before_release(slice);
    builder.collector.forget(slice);
    builder.assembler.release(slice);
  }
  void give_back(filter_job::FilterResult&) override { ++results; }
  bool tell_supervisor(const v1::Control& message) override {
    if (supervisor) told.push_back(message);
    return supervisor;
  }

  Builder& builder;
  std::function<void(assembly::BuiltSlice&)> before_release;
  std::vector<assembly::BuiltSlice*> filtered;
  std::vector<std::uint64_t> released;
  int results = 0;
  std::vector<v1::Control> told;
  bool supervisor = true;
};

struct Building {
  static constexpr std::uint32_t kReadouts = 2;
  static constexpr std::size_t kMemory = 1U << 20;

  explicit Building(std::vector<assembly::SourceInfo> sources = {{SourceId(1), 0}, {SourceId(2), 1}},
                    const assembly::AssemblySettings& settings = assembly())
      : builder("weir-test", kMemory, settings, std::move(sources), collecting(), shaper()) {
    collector().readout_up(0);
    collector().readout_up(1);
  }

  [[nodiscard]] TimeNs& now() { return clock.now; }
  [[nodiscard]] Collector& collector() { return builder.collector; }
  [[nodiscard]] assembly::SliceTable& slices() { return builder.slices; }
  [[nodiscard]] assembly::BuiltSlice* find(std::uint64_t id, std::uint16_t attempt = 0) {
    return builder.slices.find(SliceId(id), Attempt(attempt));
  }
  static assembly::AssignedSlice assignment(std::uint64_t id, std::uint16_t attempt = 0) {
    assembly::AssignedSlice made;
    made.slice = SliceId(id);
    made.attempt = Attempt(attempt);
    return made;
  }
  assembly::BuiltSlice& open(std::uint64_t id, std::uint16_t attempt = 0) {
    assembly::BuiltSlice& slice = builder.slices.assign(assignment(id, attempt));
    REQUIRE(builder.assembler.open(slice, now()).has_value());
    return slice;
  }
  // One that is as complete as it gets, `queued`, with so many bytes of each readout.
  assembly::BuiltSlice& complete(std::uint64_t id, std::uint32_t bytes = 64) {
    assembly::BuiltSlice& slice = open(id);
    collector().collect(slice, collector().everything());
    collector().pass(now());
    for (const std::uint32_t readout : {0U, 1U}) answer(id, readout, bytes);
    std::vector<assembly::BuiltSlice*> done;
    builder.assembler.take_completed(done);
    REQUIRE(done == std::vector<assembly::BuiltSlice*>{&slice});
    return slice;
  }
  static wire::FrameHeader fragment(std::uint64_t id, std::uint32_t readout, std::uint32_t bytes = 64) {
    wire::FrameHeader header;
    header.type = wire::FrameType::fragment;
    header.slice = SliceId(id);
    header.source = SourceId(readout + 1);
    header.status = FragmentStatus::ok;
    header.length = header.total = bytes;
    return header;
  }
  void answer(std::uint64_t id, std::uint32_t readout, std::uint32_t bytes = 64) {
    const wire::FrameHeader header = fragment(id, readout, bytes);
    const assembly::Reception reception = builder.assembler.begin(header, readout);
    collector().arrived(readout, reception.slice, bytes, now());
    collector().answered(readout, reception, header);
    (void)builder.assembler.finish(reception, header, now());
  }
  static assembly::AssemblySettings assembly() {
    assembly::AssemblySettings settings;
    settings.checksums = false;
    return settings;
  }
  static CollectorSettings collecting() {
    CollectorSettings settings;
    settings.readouts = kReadouts;
    return settings;
  }
  static std::unique_ptr<shaping::Shaper> shaper() {
    shaping::ShaperSettings settings;
    settings.readouts = kReadouts;
    return shaping::make_shaper("none", settings).value();
  }

  HandClock clock;
  Builder builder;
  Notes notes{builder};
};

}  // namespace weir::dcm
