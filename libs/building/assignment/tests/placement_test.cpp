#include "weir_catch.hpp"
#include <weir/assignment/placement.hpp>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr NodeIndex kOne{0};
constexpr NodeIndex kOther{1};

// Two DCMs with a credit each; slices from 10 on are pushed to them, the even ones to the first.
struct Setup {
  DcmTable dcms{2};
  Placement placement;

  explicit Setup(bool push = true) : placement(make_policy("credits").value(), push) {
    dcms.join(kOne, Incarnation(1), 1);
    dcms.join(kOther, Incarnation(1), 1);
    placement.renew(SliceId(10), dcms);
  }
  std::optional<NodeIndex> choose(std::uint64_t slice, std::uint16_t attempt = 0) {
    SliceEntry entry;
    entry.slice = SliceId(slice);
    entry.attempt = Attempt(attempt);
    return placement.choose(entry, dcms, 0);
  }
};

}  // namespace

TEST_CASE("a slice's first attempt goes to its destination, or waits for it") {
  Setup setup;
  CHECK(setup.choose(10) == kOne);
  CHECK(setup.choose(11) == kOther);
  CHECK(setup.choose(13) == kOther);
  CHECK_FALSE(setup.placement.is_full(SliceId(11), setup.dcms));
  setup.dcms.take(kOther);
  CHECK(setup.choose(11) == std::nullopt);
  CHECK(setup.placement.is_full(SliceId(11), setup.dcms));
  CHECK(setup.choose(10) == kOne);
}

TEST_CASE("later attempts, and slices without a destination, go by the policy") {
  Setup setup;
  setup.dcms.take(kOther);
  CHECK(setup.choose(11, 1) == kOne);
  CHECK(setup.choose(9) == kOne);
  CHECK_FALSE(setup.placement.is_full(SliceId(9), setup.dcms));
}

TEST_CASE("a slice pushed to a lost or held-back DCM is placed by the policy, and never full") {
  Setup setup;
  if (GENERATE(true, false)) {
    setup.dcms.leave(kOther);
  } else {
    setup.dcms.hold_back(kOther);
  }
  CHECK(setup.choose(11) == kOne);
  CHECK_FALSE(setup.placement.is_full(SliceId(11), setup.dcms));
}

TEST_CASE("a DCM that is held back is not a destination from the next epoch on") {
  Setup setup;
  setup.dcms.hold_back(kOther);
  setup.placement.renew(SliceId(20), setup.dcms);
  CHECK(setup.placement.destinations().of(SliceId(21)) == kOne);
  CHECK(setup.placement.destinations().of(SliceId(11)) == kOther);  // readouts had received this destination
}

TEST_CASE("without push slices have no destination") {
  Setup setup(false);
  CHECK(setup.placement.destinations().epochs().empty());
  setup.dcms.take(kOther);
  CHECK(setup.choose(11) == kOne);
  CHECK_FALSE(setup.placement.is_full(SliceId(11), setup.dcms));
}

TEST_CASE("destinations of pushed slices are in the state for searches") {
  const auto state = [](const Setup& setup) {
    std::vector<std::uint64_t> row;
    setup.placement.append_state(row);
    return row;
  };
  Setup setup;
  const auto before = state(setup);
  CHECK(state(Setup()) == before);
  setup.dcms.leave(kOther);
  setup.placement.renew(SliceId(20), setup.dcms);
  CHECK(state(setup) != before);
  Setup other;
  other.dcms.leave(kOne);
  other.placement.renew(SliceId(20), other.dcms);
  CHECK(state(other) != state(setup));
}
