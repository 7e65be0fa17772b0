#include "table_memory.hpp"

#include <weir/assembly/assembler.hpp>
#include <weir/base/buffer_pool.hpp>
#include <weir/config/push_timing.hpp>
#include <weir/source/source.hpp>

#include <algorithm>

namespace weir::run {
namespace {

constexpr std::size_t kRecordRow = 32;  // of a fragment in a slice's record (libs/storage/FORMAT.md)

// Returns how many slices of `bytes` fit into `room`, `most` at most.
std::uint64_t slices_in(std::uint64_t room, std::uint64_t bytes, std::uint64_t most) {
  return bytes == 0 ? most : std::min(most, room / bytes + 1);
}

}  // namespace

std::uint64_t readout_table_bytes(const v1::Farm& own, std::size_t sources,
                                  const config::ExpectedSizes& sizes) {
  const std::uint64_t most =
      std::min<std::uint64_t>(own.readout().buffer_slices(), own.supervisor().in_flight_max());
  const std::uint64_t slices = slices_in(own.readout().buffer_bytes(), sizes.fragment * sources, most);
  return slices * sources * sizeof(source::SourceFragment);
}

std::uint64_t dcm_table_bytes(const v1::Farm& own, std::size_t sources, const config::ExpectedSizes& sizes) {
  const v1::DcmSettings& dcm = own.dcm();
  const std::uint64_t block = sizes.placed == 0 ? 0 : BufferPool::block_bytes(sizes.placed);
  const std::uint64_t with_memory = slices_in(dcm.buffer_bytes(), block, dcm.slices_max());
  const bool one_waits = sources > assembly::Assembler::kManySources && !config::is_push(own);
  const std::uint64_t slices =
      std::min<std::uint64_t>(dcm.slices_max(), with_memory + (one_waits ? 1 : dcm.credits()));
  constexpr std::size_t kRow =
      sizeof(weir_filter_fragment) + sizeof(assembly::FragmentProgress) + kRecordRow + sizeof(ConstBytes);
  return slices * sources * kRow;
}

std::uint64_t slice_time_ms(std::size_t fragments) {
  // A fragment of 12 bytes takes a DCM 0.2 to 0.7 us of CPU; the rest is for a core that is shared.
  constexpr std::uint64_t kUsPerFragment = 5;
  return fragments * kUsPerFragment / 1000;
}

}  // namespace weir::run
