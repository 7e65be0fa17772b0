#pragma once

// Numbers under which a worker inherits its descriptors (docs/protocols.md, "Filter workers").
namespace weir::filter_host {

constexpr int kControlDescriptor = 3;
constexpr int kSliceMemoryDescriptor = 4;
constexpr int kLaneDescriptor = 5;
constexpr int kWorkDescriptor = 6;
constexpr int kResultsDescriptor = 7;
constexpr int kCrashDescriptor = 8;
constexpr int kPluginDescriptor = 9;  // of a plugin in C++

}  // namespace weir::filter_host
