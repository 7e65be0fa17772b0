// No test cases: this file is compiled for its precompiled header, which all tests include.
#include "weir_catch.hpp"
