#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "http/message_parser.hpp"

namespace net {

/// Frees the memory of a text; assigning an empty text would keep it.
inline void free_text(std::string& text) { std::string().swap(text); }

/// The buffers of one request. A connection holds them from the first byte of a request to the end of its
/// response, so that idle connections hold none.
struct Exchange {
    explicit Exchange(std::size_t size) : in(size), in_size(size) {}

    bool has_unread() const { return begin < end; }
    /// Frees the memory of one large request or response.
    void trim();
    /// Frees `in` for as long as the response takes, unless it has the beginning of the next request.
    void free_input();
    /// Makes `in` usable again.
    void restore_input() { in.resize(in_size); }

    std::vector<char> in;  ///< bytes [begin, end) are received and not consumed yet
    std::size_t in_size;
    std::size_t begin = 0;
    std::size_t end = 0;
    RequestParser parser = {};
    HttpRequest request = {};
    std::string out = {};
};

/// Reads the requests of a connection one after the other, without I/O: the caller receives bytes into
/// room().
class RequestReader {
public:
    enum class Next {
        complete,  ///< the request is complete
        more,      ///< fill room(), then call received()
        body,      ///< returned once: the headers are complete, and a body follows
        refuse     ///< see refusal(); the connection cannot continue
    };
    struct Refusal {
        int status = 0;
        const char* text = "";
    };
    /// Returns whether a body may grow to `size` bytes.
    using Hold = std::function<bool(std::size_t size)>;

    RequestReader(RequestParser::Limits limits, Hold hold) : limits_(limits), hold_(std::move(hold)) {}

    /// Starts a new request with the bytes that are left in `exchange`, which must stay until the request is
    /// done.
    void begin(Exchange& exchange);
    Next advance();
    /// Returns where to receive bytes. Not empty after `more`.
    std::span<char> room();
    void received(std::size_t count);

    // Valid after the headers.
    bool keep_alive() const { return exchange_->parser.keep_alive(); }
    /// Returns whether the client waits for a 100 before it sends the body.
    bool wants_continue() const;
    const Refusal& refusal() const { return refusal_; }

private:
    enum class State { header, sized, chunked };

    std::size_t feed();
    Next parse_header();
    Next after_header();
    Next begin_body();
    Next take_sized_body();
    Next parse_chunks();
    bool grow_body(std::size_t size);
    Next refuse(int status, const char* text);
    Next refuse_because(ParseError error);
    Next refuse_for_lack_of_memory();

    const RequestParser::Limits limits_;
    const Hold hold_;
    Exchange* exchange_ = nullptr;
    State state_ = State::header;
    bool body_announced_ = false;
    std::size_t expected_ = 0;   ///< Content-Length
    std::size_t body_size_ = 0;  ///< received bytes of it; the rest of the body's string is room
    Refusal refusal_ = {};
};

}  // namespace net
