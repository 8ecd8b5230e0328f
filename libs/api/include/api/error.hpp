#pragma once
#include <boost/system/result.hpp>
#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

namespace api {

/// One code for each decision of a caller. The other members are text for users.
enum class Errc {
    invalid,       ///< the input is wrong: show the error to the user, do not retry
    not_found,     ///< the object does not exist
    conflict,      ///< another writer changed the object first: read again
    gone,          ///< a resource version or list position is too old: list again
    forbidden,     ///< a permission is missing, or a policy denies the request
    unauthorized,  ///< the credentials are stale: read them again
    too_large,     ///< an answer has more bytes than the caller accepts: request less
    unavailable,   ///< the other side cannot answer now: retry, after `retry_after` if it is set
    internal       ///< a bug in the client or in the server: count it, retry with backoff
};

/// The reason why an operation failed. Callers branch on `code`; users read the rest.
struct Error {
    Errc code = Errc::internal;
    std::string message = {};
    std::string field = {};   ///< JSON path, e.g. "spec.trainer.numNodes"; empty if there is none
    std::string reason = {};  ///< the API server's Status reason, e.g. "AlreadyExists"; empty elsewhere
    int http_status = 0;      ///< of the API server's answer; 0 when there was none
    std::optional<std::chrono::seconds> retry_after = {};
};

template <class T = void>
using Result = boost::system::result<T, Error>;

std::string_view to_string(Errc code);

/// Returns "field: message", or the message alone.
std::string describe(const Error& error);

std::ostream& operator<<(std::ostream& out, const Error& error);

/// Throws the error. Boost finds it by argument-dependent lookup when `.value()` is called on a failed
/// Result, which is a bug of the caller.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& location);

inline Error invalid(std::string field, std::string message) {
    return {.code = Errc::invalid, .message = std::move(message), .field = std::move(field)};
}

}  // namespace api
