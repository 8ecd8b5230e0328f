#include "http/message_parser.hpp"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "api/text.hpp"
#include "http/http_text.hpp"

namespace net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

// No client sends more. A field of a few bytes costs ten times its size in memory.
constexpr std::size_t max_fields = 128;
constexpr std::size_t usual_fields = 16;
constexpr std::size_t max_response_header = 256 * 1024;
constexpr std::size_t first_reservation = 256 * 1024;

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

// Passes Beast's events to the message. Reuses the strings of the message before.
template <bool is_request, class Message>
class Parser final : public http::basic_parser<is_request> {
public:
    explicit Parser(Message& message) : message_(message) {}

    bool http11() const { return http11_; }
    bool bad_transfer_encoding() const { return has_transfer_encoding_ && !(this->chunked() && http11_); }
    int status() const { return status_; }

private:
    using string_view = boost::beast::string_view;

    void on_request_impl(http::verb, string_view method, string_view target, int version,
                         error_code&) override {
        if constexpr (is_request) {
            message_.method = view(method);
            message_.target = view(target);
        }
        http11_ = version == 11;
    }
    void on_response_impl(int status, string_view, int version, error_code&) override {
        if constexpr (!is_request) message_.status = status;
        status_ = status;
        http11_ = version == 11;
    }
    void on_field_impl(http::field field, string_view name, string_view value, error_code& error) override {
        if (header_done_) return;  // a trailer
        if (fields_ == max_fields) {
            error = http::error::header_limit;
            return;
        }
        if (field == http::field::transfer_encoding) {
            // A body in another coding could not be decoded. A list of codings is refused as well.
            if (!api::equal_ignoring_case(view(value), "chunked")) error = http::error::bad_transfer_encoding;
            has_transfer_encoding_ = true;
        }
        auto& headers = message_.headers;
        if (fields_ < headers.size()) {
            headers[fields_].first = view(name);
            headers[fields_].second = view(value);
        } else {
            if (headers.empty()) headers.reserve(usual_fields);
            headers.emplace_back(view(name), view(value));
        }
        ++fields_;
    }
    void on_header_impl(error_code& error) override {
        header_done_ = true;
        message_.headers.resize(fields_);
        if (bad_transfer_encoding()) error = http::error::bad_transfer_encoding;
    }
    void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
        if (length && !is_request) message_.body.reserve(std::min<std::uint64_t>(*length, first_reservation));
    }
    std::size_t on_body_impl(string_view body, error_code&) override {
        message_.body.append(body.data(), body.size());
        return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code&) override {
        message_.body.append(body.data(), body.size());
        return body.size();
    }
    void on_finish_impl(error_code&) override {}

    Message& message_;
    std::size_t fields_ = 0;
    int status_ = 0;
    bool http11_ = true;
    bool header_done_ = false;
    bool has_transfer_encoding_ = false;
};

}  // namespace

class RequestParser::Impl {
public:
    std::optional<Parser<true, HttpRequest>> parser;
    RequestParser::Limits limits = {};
    std::size_t header_bytes = 0;
    ParseError error = ParseError::none;
};

RequestParser::RequestParser() : impl_(std::make_unique<Impl>()) {}
RequestParser::~RequestParser() = default;

void RequestParser::begin(HttpRequest& request, Limits limits) {
    request.body.clear();
    impl_->parser.emplace(request);
    impl_->limits = limits;
    impl_->header_bytes = 0;
    impl_->error = ParseError::none;
    impl_->parser->header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    impl_->parser->body_limit(limits.body_bytes);
}

std::size_t RequestParser::feed(std::string_view bytes) {
    auto& parser = *impl_->parser;
    const bool in_header = !parser.is_header_done();
    if (!in_header) parser.eager(true);
    error_code error;
    const auto used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    if (in_header && (!error || error == http::error::need_more)) {
        // Beast counts the start line and consumed fields apart from the rest, so count all bytes here.
        impl_->header_bytes += used;
        const auto unfinished = parser.is_header_done() ? 0 : bytes.size() - used;
        if (impl_->header_bytes + unfinished > impl_->limits.header_bytes) error = http::error::header_limit;
    }
    if (!error || error == http::error::need_more) return used;
    if (error == http::error::header_limit)
        impl_->error = ParseError::header_too_large;
    else if (error == http::error::body_limit)
        impl_->error = ParseError::body_too_large;
    else
        impl_->error = ParseError::malformed;
    return used;
}

ParseError RequestParser::error() const { return impl_->error; }
bool RequestParser::header_done() const { return impl_->parser->is_header_done(); }
bool RequestParser::done() const { return impl_->parser->is_done(); }
bool RequestParser::keep_alive() const { return impl_->parser->keep_alive(); }
bool RequestParser::http11() const { return impl_->parser->http11(); }
bool RequestParser::chunked() const { return impl_->parser->chunked(); }
std::optional<std::uint64_t> RequestParser::content_length() const {
    const auto length = impl_->parser->content_length();
    return length ? std::optional(*length) : std::nullopt;
}

class ResponseParser::Impl {
public:
    Impl(HttpResponse& message, bool skip) : response(message), without_body(skip) { begin(); }

    void begin() {
        parser.emplace(response);
        parser->header_limit(max_response_header);
        parser->body_limit(boost::none);
        parser->skip(without_body);
        parser->eager(true);
    }

    HttpResponse& response;
    bool without_body;
    bool failed = false;
    std::optional<Parser<false, HttpResponse>> parser;
};

ResponseParser::ResponseParser(HttpResponse& response, bool without_body)
    : impl_(std::make_unique<Impl>(response, without_body)) {}
ResponseParser::~ResponseParser() = default;

std::size_t ResponseParser::feed(std::string_view bytes) {
    std::size_t used = 0;
    for (;;) {
        error_code error;
        used +=
            impl_->parser->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), error);
        if (error && error != http::error::need_more) {
            impl_->failed = true;
            return used;
        }
        const bool interim = impl_->parser->is_done() && impl_->parser->status() / 100 == 1;
        if (!interim) {
            // Beast limits a header only: neither the line before a chunk, nor the fields behind the last
            // one.
            impl_->failed = !impl_->parser->is_done() && bytes.size() - used > max_response_header;
            return used;
        }
        if (impl_->parser->status() == 101) impl_->failed = true;  // no request asks for another protocol
        impl_->begin();
        if (impl_->failed || used == bytes.size()) return used;
    }
}

bool ResponseParser::feed_eof() {
    if (!impl_->parser->got_some()) return false;
    error_code error;
    impl_->parser->put_eof(error);
    return !error;
}

bool ResponseParser::failed() const { return impl_->failed; }
bool ResponseParser::header_done() const { return impl_->parser->is_header_done(); }
bool ResponseParser::done() const { return impl_->parser->is_done(); }
bool ResponseParser::keep_alive() const { return impl_->parser->keep_alive(); }

}  // namespace net
