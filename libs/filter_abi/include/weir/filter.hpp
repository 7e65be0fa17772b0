// Filters in C++20 over the C ABI of weir_filter.h. Derive from weir::Filter, decide in process(), and name
// the class in WEIR_FILTER_PLUGIN. What a filter throws becomes that slice's `filter_error` (or stops the
// farm from starting, when thrown by a constructor or begin_run); nothing is thrown into the host. Header
// only: a plugin links nothing of Weir's.
#pragma once

#include <weir/filter_base.hpp>
#include <weir/filter_plugin.hpp>
#include <weir/filter_setup.hpp>
