#pragma once

#include <weir/base/buffer_pool.hpp>
#include <weir/base/fragment_status.hpp>
#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>
#include <weir/weir_filter.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace weir::assembly {

// A source's place in the run's table of sources, sorted by id. A slice's own tables have the same order.
using SourceIndex = std::uint32_t;

// Memory of one slice: blocks of the pool, filled from the front, given back together.
class SliceMemory {
 public:
  // `size` bytes, aligned to 8, or nothing when the pool has no block. The first block is made `hint` bytes
  // large when that is more.
  [[nodiscard]] std::byte* allocate(BufferPool& pool, std::size_t size, std::size_t hint);
  void release(BufferPool& pool);
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // charged to the pool

 private:
  std::vector<BufferBlock> blocks_;
  std::byte* next_ = nullptr;
  std::size_t room_ = 0;
  std::size_t bytes_ = 0;
};

struct Assignment {
  SliceId slice;
  Attempt attempt;
  UtcNs time = 0;
  DurationNs duration = 0;
  TriggerType type;
  bool unfiltered = false;  // poison: accept to the debug stream unseen
  bool suspect = false;     // of a DCM's death: goes through the filter alone
  std::vector<std::byte> payload;
};

// How far one source's part has come. The part itself is the entry of the same index in Slice::table.
struct FragmentProgress {
  enum class State : std::uint8_t { idle, requested, receiving, done };
  State state = State::idle;
  bool asked_again = false;  // after a checksum that did not match
  std::byte* target = nullptr;
  std::uint32_t have = 0;    // bytes from the front
  std::uint32_t asked = 0;   // bytes from the front that are asked for, or will be, by whoever keeps count
  std::uint32_t summed = 0;  // of these, bytes that `crc` is over
  std::uint32_t crc = 0;
  bool overlapped = false;  // some bytes came twice: `crc` is over nothing that helps

  void start_again() {
    have = asked = summed = crc = 0;
    overlapped = false;
  }
};

enum class Phase : std::uint8_t {
  collecting,  // fragments are outstanding
  waiting,     // as complete as it gets; for its turn in id order
  filtering,   // with a processing unit
  decided,     // decision reported, waiting for its confirmation
  storing,     // confirmed, on its way to a writer
  released,    // nobody needs it; a fragment is still being received into its memory
};

// One slice of one attempt in one collector. Owned by the Assembler; stays where it is until released.
struct Slice {
  Assignment assignment;
  Phase phase = Phase::collecting;
  std::uint32_t step = 0;
  std::uint32_t outstanding = 0;  // fragments requested and not done
  std::uint32_t receiving = 0;    // fragments that a connection is writing into
  std::uint32_t flawed = 0;       // fragments missing, truncated or corrupt
  TimeNs assigned_ns = 0;
  TimeNs first_request_ns = 0;
  TimeNs last_fragment_ns = 0;
  TimeNs deadline_ns = 0;
  SliceMemory memory;
  std::size_t refused_bytes = 0;  // of fragments that found no memory
  std::size_t payload_bytes = 0;  // of all fragments that are here
  std::vector<weir_filter_fragment> table;
  std::vector<FragmentProgress> progress;
  weir_filter_state state{};  // the filter's, between steps
  std::uint64_t tag = 0;      // the node's own mark
  void* gathering = nullptr;  // likewise, of whoever asks for the fragments
  bool starting = false;      // likewise: they are to be asked for
  Slice* older = nullptr;     // in the order of opening; the assembler's
  Slice* newer = nullptr;

  [[nodiscard]] SliceId id() const { return assignment.slice; }
  [[nodiscard]] Attempt attempt() const { return assignment.attempt; }
};

}  // namespace weir::assembly
