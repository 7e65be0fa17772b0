// Reports of decisions to the supervisor, and the order in which slices are opened.
#include "../src/decisions.hpp"

#include "../src/slice_admission.hpp"
#include "building.hpp"
#include <weir/filter_job/job.hpp>
#include <weir/slice_codec/decide.hpp>

#include <array>

namespace weir::dcm {
namespace {

using assembly::BuildState;
using assembly::BuiltSlice;
using assembly::SliceDecision;

struct Deciding : Building {
  Decisions decisions{builder};

  v1::Decide report() {
    std::vector<slice_rows::AttemptDecision> rows;
    decisions.report(rows);
    v1::Decide batch;
    slice_codec::encode(rows, batch);
    return batch;
  }
  BuiltSlice& accept(std::uint64_t id, std::uint32_t bytes) {
    BuiltSlice& slice = complete(id, bytes);
    decisions.decide(slice, SliceDecision::accept(DecisionKind::poison), now());
    return slice;
  }
};

}  // namespace

TEST_CASE("decisions go in a batch, each once, in the order in which they were made") {
  Deciding dcm;
  CHECK_FALSE(dcm.decisions.wait());
  BuiltSlice& accepted = dcm.accept(5, 64);
  BuiltSlice& rejected = dcm.complete(4);
  dcm.decisions.decide(rejected, SliceDecision::reject(), dcm.now());
  BuiltSlice& failed = dcm.complete(9);
  dcm.decisions.decide(failed, SliceDecision::fail("unreachable"), dcm.now());
  BuiltSlice& incomplete = dcm.complete(7);
  incomplete.flawed = 1;
  dcm.decisions.decide(incomplete, SliceDecision::reject(), dcm.now());
  CHECK(dcm.decisions.wait());
  const v1::Decide batch = dcm.report();
  REQUIRE(batch.slice_size() == 4);
  CHECK(batch.slice(0) == 5);
  CHECK(batch.verdict()[0] == v1::VERDICT_ACCEPT);
  CHECK(batch.slice(1) == 4);
  CHECK(batch.verdict()[1] == v1::VERDICT_REJECT);
  CHECK(batch.verdict()[2] == v1::VERDICT_FAILED);
  CHECK(batch.verdict()[3] == v1::VERDICT_REJECT_INCOMPLETE);
  REQUIRE(batch.failures_size() == 1);
  CHECK(batch.failures(0).index() == 2);
  CHECK(batch.failures(0).reason() == "unreachable");
  for (const BuiltSlice* slice : {&accepted, &rejected, &failed, &incomplete})
    CHECK(slice->state() == BuildState::reported);
  CHECK(dcm.decisions.accepted() == 1);
  CHECK_FALSE(dcm.decisions.wait());
  CHECK(dcm.report().slice_size() == 0);
}

TEST_CASE("accepts are held back while accepted slices hold half of the memory, and are reported once") {
  Deciding dcm;
  constexpr std::uint32_t kBytes = Building::kMemory / 16;  // each slice has two
  dcm.notes.release(dcm.complete(100, kBytes));  // the first one takes more, as its size is not known
  BuiltSlice& first = dcm.accept(1, kBytes);
  for (const std::uint64_t id : {2U, 3U, 4U}) dcm.accept(id, kBytes);
  REQUIRE(dcm.report().slice_size() == 4);
  REQUIRE(dcm.slices().accepted_bytes() == Building::kMemory / 2);
  dcm.accept(5, kBytes);
  REQUIRE(dcm.report().verdict()[0] == v1::VERDICT_ACCEPT);  // half is not too much
  BuiltSlice& held = dcm.accept(6, kBytes);
  const v1::Decide batch = dcm.report();
  REQUIRE(batch.slice_size() == 1);
  CHECK(batch.verdict()[0] == v1::VERDICT_HELD);
  CHECK(held.state() == BuildState::held_back);
  CHECK(dcm.decisions.wait());
  CHECK(dcm.report().slice_size() == 0);
  // Rejects are still reported.
  dcm.decisions.decide(dcm.complete(8), SliceDecision::reject(), dcm.now());
  CHECK(dcm.report().verdict()[0] == v1::VERDICT_REJECT);
  dcm.notes.release(first);
  const v1::Decide later = dcm.report();
  REQUIRE(later.slice_size() == 1);
  CHECK(later.slice(0) == held.id().value);
  CHECK(later.verdict()[0] == v1::VERDICT_ACCEPT);
}

TEST_CASE("a slice that was given back while its fragments are outstanding is withdrawn and reported") {
  Deciding dcm;
  BuiltSlice& slice = dcm.open(6);
  dcm.collector().collect(slice, dcm.collector().everything());
  dcm.collector().pass(dcm.now());
  REQUIRE(slice.state() == BuildState::collecting);
  dcm.collector().forget(slice);
  dcm.decisions.decide(slice, SliceDecision::fail("unreachable"), dcm.now());
  CHECK(slice.state() == BuildState::decided);
  CHECK(dcm.builder.assembler.counters().cancelled == 2);
}

TEST_CASE("a forward is reported with its group and bytes, and its confirmation counts it as forwarded") {
  Deciding dcm;
  BuiltSlice& slice = dcm.complete(5);
  filter_job::FilterResult result;
  result.verdict = filter_job::StepVerdict::forward;
  result.forward_group = 2;
  result.filter_result.assign(3, std::byte('x'));
  slice.result = &result;
  dcm.decisions.decide(slice, SliceDecision::forward(), dcm.now());
  const v1::Decide batch = dcm.report();
  REQUIRE(batch.slice_size() == 1);
  CHECK(batch.verdict()[0] == v1::VERDICT_FORWARD);
  REQUIRE(batch.forwards_size() == 1);
  CHECK(batch.forwards(0).index() == 0);
  CHECK(batch.forwards(0).group() == 2);
  CHECK(batch.forwards(0).bytes() == "xxx");
  CHECK(dcm.decisions.accepted() == 0);
  slice.result = nullptr;
}

TEST_CASE("with many sources a slice is opened when its turn for memory comes, the oldest first") {
  std::vector<assembly::SourceInfo> sources;
  for (std::uint32_t i = 0; i < 5000; ++i) sources.push_back({SourceId(i + 1), i % Building::kReadouts});
  Building dcm(std::move(sources));
  SliceAdmission admission({}, dcm.builder, nullptr, dcm.notes);
  const auto assignment = [](std::uint64_t id, std::uint64_t order) {
    assembly::AssignedSlice made = Building::assignment(id);
    made.order = SliceOrder(order);
    return made;
  };
  admission.assign({assignment(7, 2), assignment(8, 3), assignment(9, 4)});
  admission.open_assigned(dcm.now());
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(7) != nullptr);
  CHECK(dcm.find(8) == nullptr);
  CHECK(admission.in_flight() == 3);
  // Another DCM has lost it, and readouts may wait for its end.
  admission.assign({assignment(5, 1)});
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(5) != nullptr);
  CHECK(dcm.find(8) == nullptr);
  // The first slice is built alone, to learn the sizes.
  dcm.collector().pass(dcm.now());
  REQUIRE(dcm.find(7)->state() == assembly::BuildState::collecting);
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(8) == nullptr);
  constexpr std::uint32_t kBytes = 8;
  for (std::uint32_t source = 0; source < 5000; ++source) {
    const wire::FrameHeader header = Building::fragment(7, source, kBytes);
    const std::uint32_t readout = source % Building::kReadouts;
    const assembly::Reception reception = dcm.builder.assembler.begin(header, readout);
    dcm.collector().answered(readout, reception, header);
    (void)dcm.builder.assembler.finish(reception, header, dcm.now());
  }
  std::vector<assembly::BuiltSlice*> done;
  dcm.builder.assembler.take_completed(done);
  dcm.collector().pass(dcm.now());
  REQUIRE(dcm.find(5)->state() == assembly::BuildState::collecting);
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(8) != nullptr);
  CHECK(dcm.find(9) == nullptr);
}

TEST_CASE("a slice that goes to no filter is requested whole, whatever the first step wants") {
  Building dcm;
  SliceAdmission admission({{3, {SourceId(2)}}}, dcm.builder, nullptr, dcm.notes);
  const std::array first{SourceId(1)};
  admission.ask_first_for(first);
  std::vector<assembly::AssignedSlice> slices;
  for (std::uint64_t id = 0; id < 4; ++id) {
    slices.push_back(Building::assignment(id));
    slices.back().unfiltered = id >= 2;
    slices.back().type = TriggerType(id % 2 == 0 ? 0 : 3);
  }
  admission.assign(std::move(slices));
  admission.open_assigned(dcm.now());
  for (std::uint64_t id = 0; id < 4; ++id) {
    INFO("slice " << id);
    REQUIRE(dcm.find(id) != nullptr);
    REQUIRE(dcm.find(id)->gathering.next != nullptr);
    CHECK(dcm.find(id)->gathering.next->all == (id >= 2));
    CHECK(dcm.find(id)->first->all == (id >= 2));
  }
}

TEST_CASE("a later attempt waits until the earlier one has left, and of two that wait the later one counts") {
  Building dcm;
  SliceAdmission admission({}, dcm.builder, nullptr, dcm.notes);
  admission.assign({Building::assignment(5, 0), Building::assignment(6, 0)});
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(5) != nullptr);
  CHECK(admission.in_flight() == 2);
  admission.assign({Building::assignment(5, 1)});
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(5, 1) == nullptr);
  CHECK(admission.in_flight() == 3);
  CHECK(dcm.notes.told.empty());
  admission.assign({Building::assignment(5, 2)});
  admission.open_assigned(dcm.now());
  REQUIRE(dcm.notes.told.size() == 1);
  const v1::Decide& lost = dcm.notes.told.front().decide();
  CHECK(lost.slice(0) == 5);
  CHECK(lost.attempt(0) == 1);
  CHECK(lost.verdict()[0] == v1::VERDICT_FAILED);
  CHECK(lost.failures(0).reason() == "lost");
  dcm.notes.release(*dcm.find(5));
  admission.open_assigned(dcm.now());
  CHECK(dcm.find(5, 2) != nullptr);
  CHECK(admission.assigned() == 4);
}

}  // namespace weir::dcm
