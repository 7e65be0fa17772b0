#include "core.hpp"

#include <memory>
#include <utility>

namespace weir::run_control {

RunControl::RunControl(RunControlSettings settings) : core_(std::make_unique<Core>(std::move(settings))) {}
RunControl::~RunControl() = default;

void RunControl::turn(DurationNs wait) { core_->turn(wait); }
v1::Reply RunControl::request(const v1::Request& request) {
  return core_->request(request, security::BusRole::operator_);
}
v1::FarmView RunControl::view() { return core_->view(); }
bool RunControl::finished() const { return core_->finished(); }
const bus::Hub& RunControl::hub() const { return core_->hub(); }
std::string RunControl::page() const { return core_->web() == nullptr ? std::string() : core_->web()->url(); }

}  // namespace weir::run_control
