#pragma once

#include <cstddef>

// Numbers under which a worker inherits its descriptors (docs/protocols.md, "Filter workers").
namespace weir::filter_host {

constexpr int kControlDescriptor = 3;
constexpr int kSliceMemoryDescriptor = 4;
constexpr int kLaneDescriptor = 5;
constexpr int kWorkDescriptor = 6;
constexpr int kResultsDescriptor = 7;
constexpr int kCrashDescriptor = 8;
constexpr int kPluginDescriptor = 9;              // of a plugin in C++
constexpr std::size_t kCrashNoteMax = 64 * 1024;  // bytes

}  // namespace weir::filter_host
