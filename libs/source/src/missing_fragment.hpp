#pragma once

#include <weir/source/source.hpp>

namespace weir::source {

inline Fragment missing_fragment(MissingReason reason) {
  Fragment fragment;
  fragment.status = FragmentStatus::missing;
  fragment.reason = reason;
  return fragment;
}

// A place in a row that nothing has arrived for yet: missing for no reason.
inline bool is_pending(const Fragment& fragment) {
  return fragment.status == FragmentStatus::missing && fragment.reason == MissingReason::none;
}

}  // namespace weir::source
