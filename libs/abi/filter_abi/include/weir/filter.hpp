// Filters in C++20 over the C ABI of weir_filter.h. Derive from weir::Filter, decide in process(), and name
// the class in WEIR_FILTER_PLUGIN. An exception from a filter makes its slice a `filter_error` (or stops the
// farm from starting, if a constructor or begin_run throws); exceptions never reach the host. Header only: a
// plugin links no library of Weir.
#pragma once

#include <weir/filter_base.hpp>
#include <weir/filter_plugin.hpp>
#include <weir/filter_setup.hpp>
