#include "weir_catch.hpp"
#include <weir/reports/plane_moves.hpp>

using namespace weir;

TEST_CASE("moves between planes are read from a report as they were noted") {
  v1::Report report;
  CHECK(reports::plane_moves(report).empty());
  const std::vector<reports::PlaneMove> moves{{1'700'000'000'000'000'000, "a", "b", 3, 500'000'000},
                                              {1, "b", "a", 0, 0}};
  reports::note_plane_moves(report, moves);
  CHECK(reports::plane_moves(report) == moves);
  (*report.mutable_notes())["plane_moves"] = "1 a b 3 7 2 b";
  CHECK(reports::plane_moves(report).size() == 1);
  (*report.mutable_notes())["plane_moves"] = "nonsense";
  CHECK(reports::plane_moves(report).empty());
}

TEST_CASE("a DCM in its own plane has no note") {
  v1::Report report;
  CHECK(reports::other_plane(report).empty());
  reports::note_other_plane(report, "b instead of a");
  CHECK(reports::other_plane(report) == "b instead of a");
}
