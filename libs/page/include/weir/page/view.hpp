#pragma once

#include <weir/page/state.hpp>
#include <weir/v1/bus.pb.h>

#include <memory>
#include <string>

namespace weir::page {

// The page's farm, of run control's view. `last`: the account of the last run; null: there was none.
[[nodiscard]] Farm farm_of(const v1::FarmView& view, const v1::RunSummary* last);

// What the page's /api/state says, without a page: rates are from one view to the next. One thread.
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
