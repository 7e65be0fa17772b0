#include "../src/request_cutter.hpp"

#include "../src/source_selections.hpp"
#include "building.hpp"

#include <array>
#include <vector>

using namespace weir;
using namespace weir::dcm;
using assembly::FragmentProgress;

namespace {

std::vector<assembly::SourceInfo> four_sources() {
  return {{SourceId(1), 0}, {SourceId(2), 0}, {SourceId(3), 0}, {SourceId(4), 1}};
}

// A slice of which nothing has been requested, and a window with pieces of 1000 bytes.
struct Cutting {
  Cutting() {
    shaping::ShaperSettings window;
    window.readouts = 2;
    window.range_bytes = 1000;
    shaper = shaping::make_shaper("byte-credits", window).value();
    cutter.emplace(RequestCutter::Limits{0, UINT64_MAX}, dcm.builder.assembler, sizes, *shaper);
    dcm.builder.assembler.want_all(slice);
    slice.gathering.begin(2, dcm.collector().everything(), 1);
  }
  void learn(std::uint32_t bytes) {
    for (const assembly::SourceIndex source : {0U, 1U, 2U})
      sizes.learn(0, std::array{assembly::FragmentSize{source, bytes}});
  }
  // Cuts one request of readout 0 and sends it.
  RequestCutter::Piece next() {
    cutter->begin_round();
    const auto piece = cutter->cut(slice, 0);
    REQUIRE(piece.has_value());
    more = cutter->advance(slice, 0, *piece);
    return *piece;
  }
  [[nodiscard]] std::vector<SourceId> asked() const {
    return {cutter->sources().begin(), cutter->sources().end()};
  }

  Building dcm{four_sources()};
  SizeEstimates sizes{dcm.builder.assembler.sources(), 2};
  std::unique_ptr<shaping::Shaper> shaper;
  std::optional<RequestCutter> cutter;
  assembly::BuiltSlice& slice = dcm.open(1);
  bool more = false;
};

}  // namespace

TEST_CASE("a readout's fragments that fit into two pieces are one request without a list") {
  Cutting cutting;
  cutting.learn(500);
  const RequestCutter::Piece piece = cutting.next();
  CHECK(piece.all);
  CHECK(piece.fragments == 3);
  CHECK(piece.bytes == answer_bytes(3, cutting.sizes.bytes(0)));
  CHECK_FALSE(cutting.more);
}

TEST_CASE("fragments that do not fit are requested as many at a time as two pieces have") {
  Cutting cutting;
  cutting.learn(900);
  CHECK(cutting.next().fragments == 2);
  CHECK(cutting.asked() == std::vector{SourceId(1), SourceId(2)});
  CHECK(cutting.more);
  CHECK(cutting.next().fragments == 1);
  CHECK(cutting.asked() == std::vector{SourceId(3)});
  CHECK_FALSE(cutting.more);
}

TEST_CASE("a large fragment is cut into ranges that cover it") {
  Cutting cutting;
  cutting.learn(5000);
  std::uint32_t offset = 0;
  for (;;) {
    const RequestCutter::Piece piece = cutting.next();
    if (cutting.asked().front() != SourceId(1)) break;
    CHECK(piece.offset == offset);
    CHECK(piece.length <= 1500);
    offset += piece.length;
    cutting.slice.progress[0].state = FragmentProgress::State::receiving;
  }
  CHECK(offset == 5000);
}

TEST_CASE("the rest of a fragment comes before other fragments") {
  Cutting cutting;
  cutting.learn(100);
  cutting.slice.gathering.add_range(0, {1, 40, 60});
  const RequestCutter::Piece rest = cutting.next();
  CHECK(rest.range);
  CHECK(rest.offset == 40);
  CHECK(rest.length == 60);
  CHECK(cutting.asked() == std::vector{SourceId(2)});
  CHECK(cutting.next().all);
}

TEST_CASE("fragments that an earlier step brought are not requested again") {
  Cutting cutting;
  cutting.learn(100);
  cutting.slice.gathering.parts[0].again = true;
  cutting.slice.progress[1].state = FragmentProgress::State::done;
  CHECK(cutting.next().fragments == 2);
  CHECK(cutting.asked() == std::vector{SourceId(1), SourceId(3)});
  cutting.slice.gathering.parts[0].next = 1;
  cutting.slice.progress[2].state = FragmentProgress::State::done;
  CHECK_FALSE(cutting.cutter->cut(cutting.slice, 0).has_value());
}

TEST_CASE("the sources of the next step are the filter's hint and those of the farm file") {
  Cutting cutting;
  SourceSelections selections(cutting.dcm.builder.assembler, 2);
  CHECK_FALSE(selections.has_next(cutting.slice));
  selections.set_after_steps({{SourceId(4), SourceId(2)}});
  CHECK(selections.has_next(cutting.slice));
  CHECK(selections.take_next(cutting.slice)->sources == std::vector<assembly::SourceIndex>{3, 1});
  cutting.slice.gathering.hint = selections.select(std::array{SourceId(1), SourceId(2), SourceId(99)});
  CHECK(selections.take_next(cutting.slice)->sources == std::vector<assembly::SourceIndex>{0, 1, 3});
  CHECK(cutting.slice.gathering.hint == nullptr);
  cutting.slice.step = 1;
  CHECK_FALSE(selections.has_next(cutting.slice));
}
