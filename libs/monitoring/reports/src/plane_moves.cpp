#include <weir/reports/plane_moves.hpp>

#include <sstream>

namespace weir::reports {
namespace {

constexpr const char* kMovesNote = "plane_moves";
constexpr const char* kPlaneNote = "other_plane";

std::string plane_note(const v1::Report& report, const char* name) {
  const auto note = report.notes().find(name);
  return note == report.notes().end() ? std::string() : note->second;
}

}  // namespace

// Five words for each: UTC in ns, the planes, the readouts, the gap in ns. A plane's name has no spaces.
void note_plane_moves(v1::Report& report, const std::vector<PlaneMove>& moves) {
  std::string text;
  for (const PlaneMove& move : moves)
    text += (text.empty() ? "" : " ") + std::to_string(move.utc_ns) + " " + move.from + " " + move.to + " " +
            std::to_string(move.lacking) + " " + std::to_string(move.gap_ns);
  if (!text.empty()) (*report.mutable_notes())[kMovesNote] = text;
}

std::vector<PlaneMove> plane_moves(const v1::Report& dcm) {
  std::vector<PlaneMove> moves;
  std::istringstream words(plane_note(dcm, kMovesNote));
  PlaneMove move;
  while (moves.size() < kPlaneMovesMax &&
         words >> move.utc_ns >> move.from >> move.to >> move.lacking >> move.gap_ns)
    moves.push_back(move);
  return moves;
}

void note_other_plane(v1::Report& report, const std::string& text) {
  (*report.mutable_notes())[kPlaneNote] = text;
}

std::string other_plane(const v1::Report& dcm) { return plane_note(dcm, kPlaneNote); }

}  // namespace weir::reports
