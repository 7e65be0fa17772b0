#pragma once

#include <weir/assembly/built_slice.hpp>

namespace weir::v1 {
class Control;
}  // namespace weir::v1
namespace weir::filter_host {
struct FilterResult;
}  // namespace weir::filter_host

namespace weir::dcm {

// Where a slice goes from one part of the DCM to another, and what the parts say to the supervisor. The node
// implements it; in tests a recorder does.
class SliceWay {
 public:
  virtual ~SliceWay() = default;
  // It is as complete as it gets, `queued`, and assigned: it has its turn with the filter.
  virtual void to_filter(assembly::BuiltSlice& slice) = 0;
  // Nothing of it is needed any more, and nothing refers to it.
  virtual void release(assembly::BuiltSlice& slice) = 0;
  // A filter's result that is not needed any more.
  virtual void give_back(filter_host::FilterResult& result) = 0;
  // False: there is no connection to the supervisor, which has all slices of this DCM built anew.
  virtual bool tell_supervisor(const v1::Control& message) = 0;
};

}  // namespace weir::dcm
