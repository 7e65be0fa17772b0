// Boost.JSON is a header-only library where one source includes this.
#include <boost/json/src.hpp>
