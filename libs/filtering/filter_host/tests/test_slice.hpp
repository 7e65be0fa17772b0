#pragma once

#include "weir_catch.hpp"
#include <weir/base/bytes.hpp>
#include <weir/filter_host/instance.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weir::filter_host::test {

// A slice with its table and state, as a collector would hold it.
class TestSlice {
 public:
  explicit TestSlice(std::uint64_t id = 1, std::uint32_t run = 1) {
    view_.run = run;
    view_.slice = id;
  }
  TestSlice(const TestSlice&) = delete;
  TestSlice& operator=(const TestSlice&) = delete;

  void add(std::uint32_t source, std::uint8_t status, ConstBytes bytes = {}) {
    weir_filter_fragment fragment{};
    fragment.source = source;
    fragment.status = status;
    fragment.data = bytes.data();
    fragment.length = fragment.total = static_cast<std::uint32_t>(bytes.size());
    table_.push_back(fragment);
  }
  void set_status(std::size_t index, std::uint8_t status) { table_[index].status = status; }
  weir_filter_slice& view() {
    view_.fragments = table_.data();
    view_.fragment_count = static_cast<std::uint32_t>(table_.size());
    view_.state = state_.raw();
    return view_;
  }
  KeptState& state() { return state_; }

 private:
  weir_filter_slice view_ = empty_slice();
  std::vector<weir_filter_fragment> table_;
  KeptState state_;
};

inline std::shared_ptr<const FilterPlugin> load(const std::string& name, const std::string& folder) {
  auto plugin = FilterPlugin::load(name, {folder});
  if (!plugin) FAIL(plugin.error().text);
  return *plugin;
}

using Parameters = std::vector<std::pair<std::string, std::string>>;

inline FilterConfig config_of(Parameters parameters, StreamTable streams = {}) {
  FilterConfig config;
  config.parameters = std::move(parameters);
  config.streams = std::move(streams);
  return config;
}

}  // namespace weir::filter_host::test
