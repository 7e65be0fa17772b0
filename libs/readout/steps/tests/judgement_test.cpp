#include "weir_catch.hpp"
#include <weir/steps/judgement.hpp>

#include <vector>

using namespace weir;
using namespace weir::steps;

namespace {

std::vector<SourceId> sources(std::uint32_t count) {
  std::vector<SourceId> all;
  for (std::uint32_t i = 0; i < count; ++i) all.emplace_back(i);
  return all;
}
Slipped one(std::uint32_t source, std::int64_t slip, std::uint64_t since = 10, bool by_time = false) {
  return {SourceId(source), slip, SliceId(since), by_time};
}

}  // namespace

TEST_CASE("few sources that slip are named") {
  const std::vector<Slipped> slipped{one(1, -1), one(3, -1)};
  CHECK(judge(sources(5), slipped) == Judgement{slipped, false});
  CHECK(judge(sources(5), {}) == Judgement{});
  CHECK(judge(sources(2), std::vector{one(1, -1)}) == Judgement{{one(1, -1)}, false});
}

TEST_CASE("where all but one slip alike, that one is named, the other way") {
  CHECK(judge(sources(4), std::vector{one(0, 1, 12), one(1, 1, 10), one(3, 1, 11)}) ==
        Judgement{{one(2, -1, 10)}, false});
  CHECK(judge(sources(3), std::vector{one(0, -2, 5, true), one(1, -2, 5, true)}) ==
        Judgement{{one(2, 2, 5, true)}, false});
  const std::vector<Slipped> unlike{one(0, 1), one(1, 1), one(3, 2)};
  CHECK(judge(sources(4), unlike) == Judgement{unlike, false});
  const std::vector<Slipped> drifts{one(0, 0, 5, true), one(1, 0, 5, true)};
  CHECK(judge(sources(3), drifts) == Judgement{drifts, false});
}

TEST_CASE("where all slip alike, the triggers do") {
  const std::vector<Slipped> all{one(0, 1), one(1, 1), one(2, 1)};
  CHECK(judge(sources(3), all) == Judgement{all, true});
  CHECK(judge(sources(1), std::vector{one(0, 1)}) == Judgement{{one(0, 1)}, false});
}

TEST_CASE("a slip has a sentence") {
  CHECK(sentence(one(3, -1, 4711)) == "source 3 out of step by -1 since slice 4711");
  CHECK(sentence(one(3, 0, 4711, true)) == "source 3 out of step in time since slice 4711");
  const std::vector<Slipped> all{one(1, 1), one(2, 1), one(3, 1)};
  CHECK(sentences(all, 2) ==
        "source 1 out of step by 1 since slice 10, source 2 out of step by 1 since slice 10 and 1 more");
  CHECK(sentences({}, 2).empty());
}
