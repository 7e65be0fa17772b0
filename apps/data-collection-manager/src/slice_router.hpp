#pragma once

#include <weir/assembly/built_slice.hpp>

namespace weir::v1 {
class Control;
}  // namespace weir::v1

namespace weir::dcm {

// Routes slices between the parts of the DCM, and messages to the supervisor. The node implements it; tests
// use a recorder.
class SliceRouter {
 public:
  virtual ~SliceRouter() = default;
  // It is as complete as it gets, `queued`, and assigned: it has its turn with the filter.
  virtual void to_filter(assembly::BuiltSlice& slice) = 0;
  // Releases a slice. Requires: it is settled, and no part refers to it.
  virtual void release(assembly::BuiltSlice& slice) = 0;
  // Returns a filter's result after use.
  virtual void give_back(filter_job::FilterResult& result) = 0;
  // Returns false without a connection to the supervisor, which then has all slices of this DCM rebuilt.
  virtual bool tell_supervisor(const v1::Control& message) = 0;
};

}  // namespace weir::dcm
