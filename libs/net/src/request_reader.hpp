#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "message_parser.hpp"

namespace net {

/// Frees what a text has allocated; assigning an empty one would not.
inline void free_text(std::string& text) { std::string().swap(text); }

/// The buffers of one request. Connections borrow them from the first byte of a request to the end of its
/// answer, so that idle ones hold nothing.
struct Exchange {
    explicit Exchange(std::size_t size) : in(size) {}

    bool has_unread() const { return begin < end; }
    /// Gives back what one large request or answer took: the next one need not be large.
    void trim();

    std::vector<char> in;  ///< bytes [begin, end) are received and not used yet
    std::size_t begin = 0;
    std::size_t end = 0;
    RequestParser parser = {};
    HttpRequest request = {};
    std::string out = {};
};

/// Makes requests of the bytes of a connection, one after the other: what a session does but for waiting. It
/// does no I/O; whoever has it puts what arrives into room().
class RequestReader {
public:
    enum class Next {
        complete,  ///< the request is there
        more,      ///< fill room(), and say received()
        body,      ///< said once, when a body will follow: the headers are there
        refuse     ///< see refusal(); the connection can go no further
    };
    struct Refusal {
        int status = 0;
        const char* text = "";
    };
    /// Whether a body may grow to so many bytes.
    using Hold = std::function<bool(std::size_t size)>;

    RequestReader(RequestParser::Limits limits, Hold hold) : limits_(limits), hold_(std::move(hold)) {}

    /// A new request; bytes that are left in `exchange` are its first. It must stay until the request is
    /// done.
    void begin(Exchange& exchange);
    Next advance();
    /// Never empty after `more`.
    std::span<char> room();
    void received(std::size_t count);

    // Valid once the headers are there.
    bool keep_alive() const { return exchange_->parser.keep_alive(); }
    /// The client waits for a 100 before it sends the body.
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
    std::size_t body_size_ = 0;  ///< what has arrived of it; the rest of the body's text is room
    Refusal refusal_ = {};
};

}  // namespace net
