#include "weir_catch.hpp"
#include <weir/assignment/part_table.hpp>

#include <map>
#include <string>

using namespace weir;
using namespace weir::assignment;

namespace {

constexpr NodeRef kReadout{Role::readout, NodeIndex(0)};
constexpr NodeRef kDcm{Role::dcm, NodeIndex(1)};
constexpr NodeRef kWriter{Role::writer, NodeIndex(0)};
constexpr SliceOrder kNext{10};
constexpr TimeNs kNow = 1000;

PartTable small_table() { return {1, 2, 1}; }

// A table in which this live node has come to `part`.
PartTable table_with(NodeRef node, Part part) {
  PartTable table = small_table();
  if (part == Part::in) return table;
  if (part == Part::out) {
    (void)table.remove(node, false, kNext, kNow);
    return table;
  }
  (void)table.remove(node, true, kNext, kNow);
  if (part == Part::draining) return table;
  table.let_go(node);
  if (part == Part::returning) (void)table.add(node, true, kNext);
  return table;
}

}  // namespace

TEST_CASE("each participation of a node changes as its table allows") {
  constexpr Part kAll[] = {Part::in, Part::draining, Part::leaving, Part::returning, Part::out};
  const NodeRef node = GENERATE(kReadout, kDcm, kWriter);
  struct Row {
    Part removed;
    Part added;
    Part left;
    bool in_peace;
  };
  const std::map<Part, Row> rows{{Part::in, {Part::draining, Part::in, Part::in, false}},
                                 {Part::draining, {Part::draining, Part::in, Part::out, false}},
                                 {Part::leaving, {Part::leaving, Part::returning, Part::out, true}},
                                 {Part::returning, {Part::leaving, Part::returning, Part::in, true}},
                                 {Part::out, {Part::draining, Part::in, Part::out, true}}};
  for (const Part part : kAll) {
    CAPTURE(static_cast<int>(part));
    PartTable removed = table_with(node, part);
    REQUIRE(removed.of(node) == part);
    CHECK(removed.remove(node, true, kNext, kNow) == (part == Part::in));
    CHECK(removed.of(node) == rows.at(part).removed);
    PartTable added = table_with(node, part);
    CHECK(added.add(node, true, kNext) == (part == Part::draining || part == Part::out));
    CHECK(added.of(node) == rows.at(part).added);
    PartTable left = table_with(node, part);
    CHECK(left.left(node) == rows.at(part).in_peace);
    CHECK(left.of(node) == rows.at(part).left);
  }
}

TEST_CASE(
    "a process that was told to end is told again when it reconnects, and its successor takes part if it was "
    "added") {
  const NodeRef node = GENERATE(kReadout, kDcm, kWriter);
  PartTable table = table_with(node, Part::leaving);
  (void)table.left(node);
  table.was_told_to_end(node);
  CHECK(table.of(node) == Part::leaving);
  (void)table.left(node);
  (void)table.add(node, false, kNext);
  table.was_told_to_end(node);
  CHECK(table.of(node) == Part::returning);
  CHECK(table.left(node));
  CHECK(table.of(node) == Part::in);
}

TEST_CASE("an absent node is out immediately, and takes part again when it is added") {
  PartTable table = small_table();
  CHECK(table.remove(kDcm, false, kNext, kNow));
  CHECK(table.of(kDcm) == Part::out);
  CHECK(table.next_look() == INT64_MAX);
  CHECK_FALSE(table.takes_part(Role::dcm, kDcm.node));
  CHECK(table.takes_part(Role::dcm, NodeIndex(0)));
  CHECK(table.add(kDcm, false, kNext));
  CHECK(table.takes_part(Role::dcm, kDcm.node));
}

TEST_CASE("a readout is absent from slices from its removal on, until it is present and added") {
  PartTable table = small_table();
  CHECK(table.remove(kReadout, true, SliceOrder(10), kNow));
  CHECK_FALSE(table.absences().covers(kReadout.node, SliceOrder(9)));
  CHECK(table.absences().covers(kReadout.node, SliceOrder(10)));
  table.let_go(kReadout);
  CHECK(table.left(kReadout));
  table.readout_joined(kReadout.node, SliceOrder(15));  // it idles
  CHECK(table.absences().covers(kReadout.node, SliceOrder(15)));
  CHECK(table.add(kReadout, true, SliceOrder(20)));
  CHECK(table.absences().covers(kReadout.node, SliceOrder(19)));
  CHECK_FALSE(table.absences().covers(kReadout.node, SliceOrder(20)));
}

TEST_CASE("a readout that is added without a process is present from when one joins") {
  PartTable table = small_table();
  CHECK(table.remove(kReadout, false, SliceOrder(10), kNow));
  CHECK(table.add(kReadout, false, SliceOrder(12)));
  CHECK(table.absences().covers(kReadout.node, SliceOrder(20)));
  table.readout_joined(kReadout.node, SliceOrder(21));
  CHECK_FALSE(table.absences().covers(kReadout.node, SliceOrder(21)));
}

TEST_CASE("a readout that is expected later is absent from the first slice on") {
  PartTable table = small_table();
  table.expect_later(kReadout.node);
  table.expect_later(kReadout.node);
  CHECK(table.takes_part(Role::readout, kReadout.node));
  CHECK(table.absences().ranges().size() == 1);
  CHECK(table.absences().covers(kReadout.node, SliceOrder(0)));
}

TEST_CASE("draining nodes are checked until none drains") {
  PartTable table = small_table();
  CHECK(table.remove(kDcm, true, kNext, kNow));
  CHECK(table.remove(kWriter, true, kNext, kNow + 5));
  CHECK(table.next_look() == kNow + 5);
  CHECK(table.look(kNow + 5, 100) == std::vector<NodeRef>{kDcm, kWriter});
  CHECK(table.next_look() == kNow + 105);
  table.let_go(kDcm);
  CHECK(table.look(kNow + 105, 100) == std::vector<NodeRef>{kWriter});
  table.let_go(kWriter);
  CHECK(table.look(kNow + 205, 100).empty());
  CHECK(table.next_look() == INT64_MAX);
}

TEST_CASE("a node's unfinished work is a readout's fragment, a DCM's slice, a writer's copy") {
  PartTable table = small_table();
  CHECK(table.remove(kReadout, true, SliceOrder(10), kNow));
  SliceEntry entry;
  entry.order = SliceOrder(9);
  entry.state = SliceState::assigned;
  entry.dcm = kDcm.node;
  CHECK(table.has_work(kReadout, entry));
  CHECK(table.has_work(kDcm, entry));
  CHECK_FALSE(table.has_work({Role::dcm, NodeIndex(0)}, entry));
  entry.writer = kWriter.node;
  CHECK_FALSE(table.has_work(kWriter, entry));  // the writer of an earlier attempt
  entry.state = SliceState::confirmed;
  CHECK(table.has_work(kWriter, entry));
  entry.order = SliceOrder(10);
  CHECK_FALSE(table.has_work(kReadout, entry));
}

TEST_CASE("the table's number changes with its contents only") {
  PartTable table = small_table();
  const auto changes = [&](auto change) {
    const std::uint32_t before = table.number();
    change();
    return table.number() != before;
  };
  CHECK(changes([&] { (void)table.remove(kDcm, true, kNext, kNow); }));
  CHECK_FALSE(changes([&] { (void)table.remove(kDcm, true, kNext, kNow); }));
  CHECK_FALSE(changes([&] { table.let_go(kDcm); }));  // removed before as after
  CHECK(changes([&] { (void)table.add(kDcm, true, kNext); }));
  CHECK(table.removed().empty());  // it returns
  CHECK_FALSE(changes([&] { (void)table.add(kDcm, true, kNext); }));
  CHECK(changes([&] { (void)table.remove(kReadout, true, kNext, kNow); }));
}

TEST_CASE("another supervisor process resumes with the table, without nodes that the farm lost") {
  FarmShape shape;
  shape.removed = {kDcm, {Role::dcm, NodeIndex(7)}};
  shape.absences = {{kReadout.node, SliceOrder(3)}};
  PartTable table = small_table();
  table.restore(shape);
  CHECK(table.removed() == std::vector<NodeRef>{kDcm});
  CHECK(table.absences().covers(kReadout.node, SliceOrder(3)));
  CHECK(table.takes_part(Role::writer, kWriter.node));
}

TEST_CASE("a part, an absence and the time until the next look are in the state for searches") {
  const auto state = [](const PartTable& table, TimeNs now) {
    std::vector<std::uint64_t> row;
    table.append_state(now, row);
    return row;
  };
  PartTable table = small_table();
  const auto first = state(table, kNow);
  CHECK(state(table, kNow + 5) == first);
  CHECK(table.remove(kDcm, true, kNext, kNow + 5));
  const auto drains = state(table, kNow);
  CHECK(drains != first);
  CHECK(state(table, kNow + 1) != drains);
  CHECK(state(table, kNow + 5) == state(table, kNow + 6));  // it is due
  table.let_go(kDcm);
  CHECK(state(table, kNow) != drains);
  const auto let_go = state(table, kNow);
  table.expect_later(kReadout.node);
  CHECK(state(table, kNow) != let_go);
}
