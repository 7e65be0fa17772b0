#pragma once

#include <weir/source/source.hpp>

namespace weir::source {

inline SourceFragment missing_fragment(MissingReason reason) {
  SourceFragment fragment;
  fragment.status = FragmentStatus::missing;
  fragment.reason = reason;
  return fragment;
}

}  // namespace weir::source
