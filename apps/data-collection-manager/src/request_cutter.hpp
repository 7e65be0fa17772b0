#pragma once

#include "size_estimates.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/shaping/shaper.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weir::dcm {

// Cuts the wanted data of a slice at one readout into requests that the shaper can grant: as many whole
// fragments as fit into a piece or two, or the next piece of a large one. Pure.
class RequestCutter {
 public:
  struct Limits {
    std::uint32_t range_bytes = 0;      // longest range of one request; 0: whole fragments
    std::uint64_t piece_bytes_max = 0;  // most that is requested at a time, whatever the shaper allows
  };
  // One request.
  struct Piece {
    std::uint32_t fragments = 0;
    std::uint64_t bytes = 0;  // expected bytes with headers; 0: unknown
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    bool all = false;    // every source of the readout, without a list
    bool range = false;  // the rest of a fragment
    // The progress of requests after this one: the next source of the selection, and the next byte of its
    // fragment.
    std::uint32_t end = 0;
    std::uint32_t end_offset = 0;
  };

  // All outlive this.
  RequestCutter(Limits limits, const assembly::Assembler& assembler, SizeEstimates& sizes,
                const shaping::Shaper& shaper)
      : limits_(limits), assembler_(assembler), sizes_(sizes), shaper_(shaper), strict_(shaper.strict()) {}

  // A round of requests begins: the shaper's pieces have one length in it.
  void begin_round();
  // Returns the next request to this readout; nullopt if no further one is needed.
  [[nodiscard]] std::optional<Piece> cut(assembly::BuiltSlice& slice, std::uint32_t readout);
  // Returns the sources of the last piece, unless it is for all of them.
  [[nodiscard]] std::span<const SourceId> sources() const { return sources_; }
  // The last piece of this slice is sent: the next one follows it. Returns false if nothing is left to be
  // requested.
  bool advance(assembly::BuiltSlice& slice, std::uint32_t readout, const Piece& piece);

 private:
  [[nodiscard]] Piece next_of_range(const assembly::Gathering::Range& range);
  [[nodiscard]] std::optional<Piece> next_sources(assembly::BuiltSlice& slice, std::uint32_t readout);
  [[nodiscard]] Piece rest_of(SourceId source, assembly::SourceIndex index,
                              const assembly::Gathering::Part& part);
  void note_asked(assembly::BuiltSlice& slice, const Piece& piece);

  Limits limits_;
  const assembly::Assembler& assembler_;
  SizeEstimates& sizes_;
  const shaping::Shaper& shaper_;
  const bool strict_;  // no request exceeds the shaper's window
  // In this round.
  std::uint64_t piece_bytes_ = 0;   // longest piece; 0: whole fragments
  std::uint64_t whole_bytes_ = 0;   // a request for whole fragments has at most so many, with headers
  std::uint32_t whole_length_ = 0;  // each of its fragments
  std::vector<SourceId> sources_;
};

// For each request.
inline bool RequestCutter::advance(assembly::BuiltSlice& slice, std::uint32_t readout, const Piece& piece) {
  assembly::Gathering& gathering = slice.gathering;
  assembly::Gathering::Part& part = gathering.parts[readout];
  if (piece.range) {
    gathering.take_from_first_range(readout, piece.length);
  } else {
    if (piece.offset != 0 || piece.end_offset != 0) note_asked(slice, piece);
    part.next = piece.end;
    part.offset = piece.end_offset;
  }
  return part.first_range != assembly::Gathering::kNone ||
         part.next < gathering.selection->by_readout[readout].size();
}

}  // namespace weir::dcm
