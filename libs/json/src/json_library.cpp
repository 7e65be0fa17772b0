// Boost.JSON is used without its library: this is all of its code.
#include <boost/json/src.hpp>
