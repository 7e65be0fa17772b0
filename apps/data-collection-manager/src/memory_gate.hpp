#pragma once

#include "size_estimates.hpp"
#include <weir/assembly/assembler.hpp>
#include <weir/assembly/slice_table.hpp>
#include <weir/base/buffer_pool.hpp>

#include <cstddef>

namespace weir::dcm {

// Decides which of the slices that wait for memory starts its step next, and reserves the memory. If all
// plannable memory belongs to newer slices that wait for readouts without room before the oldest slice is
// built, a slice older than all of them starts first; if no memory is left for it and no byte arrives, the
// newest gives way. Pure.
class MemoryGate {
 public:
  // `memory_bytes`: size of the pool. All of the others outlive this.
  MemoryGate(std::size_t memory_bytes, assembly::Assembler& assembler, assembly::SliceTable& slices,
             BufferPool& pool, const SizeEstimates& sizes)
      : memory_bytes_(memory_bytes), assembler_(assembler), slices_(slices), pool_(pool), sizes_(sizes) {}

  // Calls `start` with each slice that may start its step, in turn. `moved_ns`: when a request was sent or
  // bytes arrived last.
  template <class Start>
  void admit(TimeNs moved_ns, TimeNs now_ns, Start start) {
    while (assembly::BuiltSlice* slice = next_waiting()) {
      if (!reserve(*slice)) {
        if (assembly::BuiltSlice* oldest = find_oldest(moved_ns, now_ns)) start(*oldest);
        return;
      }
      oldest_first_ = false;
      start(*slice);
    }
  }
  // Reserves memory for a prefetch, which never takes memory that slices wait for: only of the planned part.
  [[nodiscard]] bool reserve_ahead(assembly::BuiltSlice& slice, const assembly::Selection& selection);
  // Returns the memory that the slice's next step is expected to take, as SliceMemory places it.
  [[nodiscard]] std::size_t bytes_expected(const assembly::BuiltSlice& slice,
                                           const assembly::Selection& selection) const;

 private:
  [[nodiscard]] assembly::BuiltSlice* next_waiting();
  [[nodiscard]] assembly::BuiltSlice* oldest_waiting();
  // False: the slice has to wait.
  [[nodiscard]] bool reserve(assembly::BuiltSlice& slice);
  // True: others hold memory that the slice needs, and give way; it has to wait.
  [[nodiscard]] bool make_room_for(const assembly::BuiltSlice& slice);
  [[nodiscard]] std::size_t bytes_to_reserve(const assembly::BuiltSlice& slice) const;
  [[nodiscard]] assembly::BuiltSlice* find_oldest(TimeNs moved_ns, TimeNs now_ns);

  std::size_t memory_bytes_;
  assembly::Assembler& assembler_;
  assembly::SliceTable& slices_;
  BufferPool& pool_;
  const SizeEstimates& sizes_;
  TimeNs oldest_looked_ns_ = 0;
  bool oldest_first_ = false;  // a slice has given way to the oldest that waits for memory
};

}  // namespace weir::dcm
