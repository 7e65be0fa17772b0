#pragma once

#include <weir/page/state.hpp>
#include <weir/v1/bus.pb.h>

#include <memory>
#include <string>

namespace weir::page {

// Builds the page's farm from run control's view. `last`: the account of the last run; may be null.
[[nodiscard]] Farm farm_of(const v1::FarmView& view, const v1::RunSummary* last);

// Builds the /api/state document without a page; rates are computed from one view to the next. Not
// thread-safe.
class ViewState {
 public:
  ViewState();
  ~ViewState();
  ViewState(const ViewState&) = delete;
  ViewState& operator=(const ViewState&) = delete;
  [[nodiscard]] std::string next(const v1::FarmView& view);

 private:
  std::unique_ptr<class Model> model_;
};

}  // namespace weir::page
