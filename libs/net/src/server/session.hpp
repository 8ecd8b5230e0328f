#pragma once
#include <memory>
#include <string>

#include "http/request_reader.hpp"
#include "server/connection_table.hpp"
#include "tls/stream.hpp"

namespace net {

/// One connection of a server: reads requests and writes responses until the client closes it or the server
/// stops it.
class Session final : public Connection {
public:
    using Socket = boost::asio::ip::tcp::socket;

    /// Runs a connection from its first byte to its end.
    static Task<> serve(std::shared_ptr<ConnectionTable> table, Socket socket);

    Session(std::shared_ptr<ConnectionTable> table, Socket socket);
    ~Session();

private:
    /// The result of receive().
    enum class Next { complete, wait, refuse, gone };

    void wake() override { stream_.cancel(); }
    bool stopped() const { return stop != Stop::none; }
    bool has_unread() const { return exchange_ && exchange_->has_unread(); }
    bool has_anything();

    Task<> run();
    Task<bool> shake_hands();
    void begin_request();
    void finish_request();
    void put_together(const HttpResponse& response);
    HttpResponse after_exception(const char* what);

    Next receive();
    bool welcome_body();
    void hold_answer(HttpResponse& response);
    HttpResponse refuse(int status, std::string_view text);
    HttpResponse own_response(int status, std::string_view text) const;

    std::shared_ptr<ConnectionTable> table_;
    const std::string peer_;
    Stream stream_;
    std::unique_ptr<Exchange> exchange_ = {};
    RequestReader reader_;
    IoStatus waiting_for_ = IoStatus::done;  ///< after Next::wait
    bool close_after_ = false;
};

}  // namespace net
