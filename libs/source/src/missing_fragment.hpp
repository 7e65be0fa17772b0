#pragma once

#include <weir/source/source.hpp>

namespace weir::source {

inline Fragment missing_fragment(MissingReason reason) {
  Fragment fragment;
  fragment.status = FragmentStatus::missing;
  fragment.reason = reason;
  return fragment;
}

}  // namespace weir::source
