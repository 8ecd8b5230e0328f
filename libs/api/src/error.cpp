#include "api/error.hpp"

#include <ostream>
#include <stdexcept>

namespace api {

std::string_view to_string(Errc code) {
    switch (code) {
        case Errc::invalid: return "invalid";
        case Errc::not_found: return "not_found";
        case Errc::conflict: return "conflict";
        case Errc::gone: return "gone";
        case Errc::forbidden: return "forbidden";
        case Errc::unauthorized: return "unauthorized";
        case Errc::too_large: return "too large";
        case Errc::unavailable: return "unavailable";
        case Errc::internal: return "internal";
    }
    return "internal";
}

std::string describe(const Error& error) {
    return error.field.empty() ? error.message : error.field + ": " + error.message;
}

std::ostream& operator<<(std::ostream& out, const Error& error) {
    return out << to_string(error.code) << ": " << describe(error);
}

void throw_exception_from_error(const Error& error, const boost::source_location& location) {
    throw std::logic_error(std::string("unhandled error at ") + location.file_name() + ":" +
                           std::to_string(location.line()) + ": " + describe(error));
}

}  // namespace api
