#pragma once

#include <tl/expected.hpp>

namespace weir {

// A value, or an error. To be replaced with std::expected once the compilers of our platforms have it.
template <class T, class E>
using Expected = tl::expected<T, E>;

// A class instead of an alias, because clang 14 does not deduce an alias' argument.
template <class E>
struct Unexpected : tl::unexpected<E> {
  using tl::unexpected<E>::unexpected;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

}  // namespace weir
