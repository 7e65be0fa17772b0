#include "table_memory.hpp"

#include <weir/assembly/assembler.hpp>
#include <weir/base/buffer_pool.hpp>
#include <weir/source/source.hpp>

#include <algorithm>

namespace weir::run {
namespace {

// Returns how many slices of `bytes` fit into `room`, `most` at most.
std::uint64_t slices_in(std::uint64_t room, std::uint64_t bytes, std::uint64_t most) {
  return bytes == 0 ? most : std::min(most, room / bytes + 1);
}

}  // namespace

std::uint64_t readout_table_bytes(const ReadoutTables& own, std::size_t sources,
                                  const config::ExpectedSizes& sizes) {
  const std::uint64_t slices = slices_in(own.buffer_bytes, sizes.fragment * sources, own.slices_max);
  return slices * sources * sizeof(source::SourceFragment);
}

std::uint64_t dcm_table_bytes(const DcmTables& own, std::size_t sources, const config::ExpectedSizes& sizes) {
  const std::uint64_t block = sizes.placed == 0 ? 0 : BufferPool::block_bytes(sizes.placed);
  const std::uint64_t most =
      own.slices_max +
      std::min<std::uint64_t>(own.in_flight_max, assembly::waiting_slices_max(own.buffer_bytes, sources));
  const std::uint64_t with_memory = slices_in(own.buffer_bytes, block, most);
  const bool one_waits = sources > assembly::Assembler::kManySources && !own.push;
  const std::uint64_t slices = std::min(most, with_memory + (one_waits ? 1 : own.credits));
  return slices * sources * assembly::kSourceRowBytes;
}

std::uint64_t slice_time_ms(std::size_t fragments) {
  // A fragment of 12 bytes takes a DCM 0.2 to 0.7 us of CPU; the rest is for a core that is shared.
  constexpr std::uint64_t kUsPerFragment = 5;
  return fragments * kUsPerFragment / 1000;
}

}  // namespace weir::run
