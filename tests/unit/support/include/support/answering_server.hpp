#pragma once
// An API server that answers at once, by a list or by targets, and has no watches. It records the requests.
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "kube/client/api_server.hpp"

class AnsweringServer : public kube::ApiServer {
public:
    /// The answers to the next requests, whatever they ask for.
    std::deque<api::Result<std::string>> answers = {};
    /// The answers to further requests, by their targets. An error comes before a body.
    std::map<std::string, api::Error> errors = {};
    std::map<std::string, std::string> bodies = {};
    /// Whether other targets with a query are empty lists. Everything else is not found.
    bool has_empty_lists = false;
    std::vector<kube::Request> requests = {};
    std::optional<api::Time> date = {};

    kube::Async<kube::Response> send(kube::Request request) override {
        requests.push_back(request);
        api::Result<std::string> body = answer(request.target);
        if (!body) co_return body.error();
        kube::Response response = {.body = std::move(*body), .date = date};
        co_return response;
    }

    kube::Async<std::unique_ptr<kube::Watch>> watch(kube::Request) override {
        co_return not_found("there are no watches here");
    }

    std::vector<std::string> targets() const {
        std::vector<std::string> found;
        for (const kube::Request& request : requests) found.push_back(request.target);
        return found;
    }

private:
    static api::Error not_found(std::string message) {
        return {.code = api::Errc::not_found, .message = std::move(message), .http_status = 404};
    }

    api::Result<std::string> answer(const std::string& target) {
        if (!answers.empty()) {
            api::Result<std::string> next = std::move(answers.front());
            answers.pop_front();
            return next;
        }
        if (const auto error = errors.find(target); error != errors.end()) return error->second;
        if (const auto body = bodies.find(target); body != bodies.end()) return body->second;
        const bool is_list = target.find('?') != std::string::npos;
        if (is_list && has_empty_lists) return std::string(R"({"items": []})");
        return not_found(target + " \"?\" not found");
    }
};
