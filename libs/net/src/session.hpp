#pragma once
#include <memory>

#include "server_core.hpp"
#include "stream.hpp"

namespace net {

/// One connection of a server: reads requests, has them answered, until somebody wants to stop.
class Session final : public Tracked {
public:
    using Socket = boost::asio::ip::tcp::socket;

    /// The whole life of a connection.
    static Task<> serve(std::shared_ptr<ServerCore> core, Socket socket);

    Session(std::shared_ptr<ServerCore> core, Socket socket);
    ~Session();

private:
    enum class State { header, sized, chunked };
    /// What receive() needs next.
    enum class Next { complete, more, want_read, want_write, yield, refuse, gone };

    void wake() override { stream_.cancel(); }
    bool stopped() const { return stop != Stop::none; }
    bool has_unread() const { return exchange_ && exchange_->begin < exchange_->end; }
    bool has_anything();

    Task<> run();
    Task<bool> shake_hands();
    void begin_request();
    void finish_request();
    void put_together(const HttpResponse& response);
    HttpResponse after_exception(const char* what);

    Next receive();
    std::size_t feed();
    Next parse_header();
    Next after_header();
    Next take_sized_body();
    Next parse_chunks();
    bool grow_body(std::size_t size);
    Next refuse(int status, const char* text);
    Next refuse_because(ParseError error);
    Next refuse_for_lack_of_memory();

    std::shared_ptr<ServerCore> core_;
    Stream stream_;
    std::unique_ptr<Exchange> exchange_ = {};
    State state_ = State::header;
    std::size_t expected_ = 0;   ///< Content-Length
    std::size_t body_size_ = 0;  ///< what has arrived of it; the rest of the body's text is room
    bool close_after_ = false;
    HttpResponse refusal_ = {};
};

}  // namespace net
