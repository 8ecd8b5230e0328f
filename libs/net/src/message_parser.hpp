#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.hpp"

namespace net {

/// What is wrong with the bytes of a message, by the decision to take.
enum class ParseError { none, malformed, header_too_large, body_too_large };

/// Reads one HTTP/1 request after the other from bytes that arrive in any pieces. Beast does the parsing. The
/// first feed() calls consume the headers only, so that the caller can look at them before the body.
class RequestParser {
public:
    struct Limits {
        std::size_t header_bytes;
        std::size_t body_bytes;
    };

    RequestParser();
    ~RequestParser();

    /// Starts over; fills `request` from here on (the body is appended by feed()).
    void begin(HttpRequest& request, Limits limits);

    /// How many bytes were used; 0 without an error means that more are needed. The unused ones must be given
    /// again, with new ones behind them.
    std::size_t feed(std::string_view bytes);
    ParseError error() const;

    bool header_done() const;
    bool done() const;

    // Valid once the header is done.
    bool keep_alive() const;
    bool http11() const;
    bool chunked() const;
    /// What the header says; nullopt when it says nothing.
    std::optional<std::uint64_t> content_length() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Reads one HTTP/1 response. Interim ones (1xx) are skipped.
class ResponseParser {
public:
    /// `without_body`: it answers a HEAD request.
    ResponseParser(HttpResponse& response, bool without_body);
    ~ResponseParser();

    /// As RequestParser::feed(); the body is appended to `response.body`.
    std::size_t feed(std::string_view bytes);
    /// The connection ended properly. False: in the middle of the response.
    bool feed_eof();
    bool failed() const;

    bool header_done() const;
    bool done() const;
    bool keep_alive() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace net
