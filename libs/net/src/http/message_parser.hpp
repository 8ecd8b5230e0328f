#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http/http.hpp"

namespace net {

/// The kinds of parse errors, one per response status.
enum class ParseError { none, malformed, header_too_large, body_too_large };

/// Parses HTTP/1 requests one after the other, from bytes in pieces of any size, with Beast. The first calls
/// of feed() consume only the headers, so that the caller can check them before the body.
class RequestParser {
public:
    struct Limits {
        std::size_t header_bytes;
        std::size_t body_bytes;
    };

    RequestParser();
    ~RequestParser();

    /// Starts a new request. feed() fills `request` and appends to its body.
    void begin(HttpRequest& request, Limits limits);

    /// Returns how many bytes were consumed; 0 without an error means that more are needed. Pass the rest
    /// again, followed by new bytes.
    std::size_t feed(std::string_view bytes);
    ParseError error() const;

    bool header_done() const;
    bool done() const;

    // Valid after header_done().
    bool keep_alive() const;
    bool http11() const;
    bool chunked() const;
    /// Returns the Content-Length; nullopt without that header.
    std::optional<std::uint64_t> content_length() const;

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

/// Parses one HTTP/1 response. Skips interim responses (1xx).
class ResponseParser {
public:
    /// `without_body`: the response to a HEAD request.
    ResponseParser(HttpResponse& response, bool without_body);
    ~ResponseParser();

    /// As RequestParser::feed(). Appends the body to `response.body`. Fails if the rest gets longer than a
    /// header may be.
    std::size_t feed(std::string_view bytes);
    /// The connection ended properly. Returns false if the response is incomplete.
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
