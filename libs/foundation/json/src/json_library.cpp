// Boost.JSON is compiled from its sources here, once, instead of being linked as a library.
#include <boost/json/src.hpp>
