#include "weir_catch.hpp"
#include <weir/base/transitions.hpp>

#include <cstdint>

namespace weir {
namespace {

enum class Door : std::uint8_t { open, shut, locked };

constexpr Transitions kDoor({
    Transition<Door>{Door::open, Door::shut},
    {Door::shut, Door::open},
    {Door::shut, Door::locked},
    {Door::locked, Door::shut},
});

}  // namespace

TEST_CASE("only the listed transitions are allowed") {
  for (const Door from : {Door::open, Door::shut, Door::locked}) {
    for (const Door to : {Door::open, Door::shut, Door::locked}) {
      bool listed = false;
      for (const auto& one : kDoor) listed = listed || (one.from == from && one.to == to);
      CHECK(kDoor.allow(from, to) == listed);
    }
  }
  CHECK(kDoor.allow(Door::shut, Door::locked));
  CHECK_FALSE(kDoor.allow(Door::open, Door::locked));
  CHECK_FALSE(kDoor.allow(Door::open, Door::open));
}

TEST_CASE("a list that has a transition twice, or more states than there is room for, is refused") {
  enum class Many : std::uint8_t { first = 0, last = 31, beyond = 32 };
  const Transition<Many> twice[] = {{Many::first, Many::last}, {Many::first, Many::last}};
  const Transition<Many> to_beyond[] = {{Many::first, Many::beyond}};
  const Transition<Many> from_beyond[] = {{Many::beyond, Many::first}};
  CHECK_THROWS(Transitions(twice));
  CHECK_THROWS(Transitions(to_beyond));
  CHECK_THROWS(Transitions(from_beyond));
}

}  // namespace weir
