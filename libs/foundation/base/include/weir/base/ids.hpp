#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weir {

// A number that names something. Ids of two kinds cannot be mixed; arithmetic has to use `value` explicitly.
template <class Tag, class Rep>
struct StrongId {
  using rep = Rep;
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  constexpr auto operator<=>(const StrongId&) const = default;
  [[nodiscard]] constexpr StrongId next() const { return StrongId(static_cast<Rep>(value + 1)); }
};

using SliceId = StrongId<struct SliceIdTag, std::uint64_t>;  // one event or time slice, unique within a run
// A slice's place in the order of announcement, from 0. Needed where order matters, because ids may be sparse
// or descending.
using SliceOrder = StrongId<struct SliceOrderTag, std::uint64_t>;
using SourceId = StrongId<struct SourceIdTag, std::uint32_t>;    // one detector link
using RunNumber = StrongId<struct RunNumberTag, std::uint32_t>;  //
using Attempt = StrongId<struct AttemptTag, std::uint16_t>;  // counts the assignments of one slice, from 0
using StoreEpoch =
    StrongId<struct StoreEpochTag, std::uint16_t>;  // counts the confirmations of one slice, from 0
using TriggerType = StrongId<struct TriggerTypeTag, std::uint32_t>;  // what fired; 0 is the default type
using Incarnation = StrongId<struct IncarnationTag, std::uint64_t>;  // one start of one process
using NodeIndex = StrongId<struct NodeIndexTag, std::uint16_t>;      // a node's place in the farm, per role
using GroupIndex = StrongId<struct GroupIndexTag, std::uint8_t>;  // a group of DCMs, in the farm file's order

}  // namespace weir

template <class Tag, class Rep>
struct std::hash<weir::StrongId<Tag, Rep>> {
  std::size_t operator()(weir::StrongId<Tag, Rep> id) const noexcept {
    return static_cast<std::size_t>(static_cast<std::uint64_t>(id.value) * 0x9e3779b97f4a7c15ULL);
  }
};
