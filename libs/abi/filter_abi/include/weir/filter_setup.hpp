// Parameters of a filter, read in its constructor. Part of weir/filter.hpp.
#pragma once

#include <weir/plugin_parameters.hpp>
#include <weir/weir_filter.h>

namespace weir {
inline namespace filter_v1 {

// The parameters, and the host's services.
class FilterSetup : public PluginParameters<weir_filter_parameters> {
 public:
  FilterSetup(const weir_filter_parameters* parameters, const weir_filter_host* host)
      : PluginParameters(parameters, "filter"), host_(host) {}

  [[nodiscard]] const weir_filter_host* host() const { return host_; }

 private:
  const weir_filter_host* host_;
};

}  // namespace filter_v1
}  // namespace weir
