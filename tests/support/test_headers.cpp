// A test without cases, whose precompiled header all tests use.
#include "weir_catch.hpp"
