// The modelled API server as a program: one request per line as JSON, one answer per line. For the comparison
// with a real one.
#include <iostream>

#include "environment.hpp"
#include "watching.hpp"

namespace {

// Returns all events of a watch up to now.
model::Reply watch(const model::ApiModel& model, const std::string& target) {
    const model::WatchStart start = model::start_watch(model, target);
    model::Reply reply;
    for (const auto& line : start.lines) reply.body += line.text + "\n";
    const auto& history = model.history(kube::resource_of(target));
    for (std::size_t i = start.next_change; i < history.size() && !start.ended; ++i)
        reply.body += model::event_line(history[i]) + "\n";
    return reply;
}

}  // namespace

int main() {
    using api::Json;
    model::VirtualTime time;
    model::ApiModel model([&] { return time.wall_seconds(); });
    // A kind that is younger than its server: no watch can start from the first change.
    model.compact("jobsets.jobset.x-k8s.io");
    model::GarbageCollector garbage_collector(model, time, [] { return std::chrono::milliseconds(0); });
    for (std::string line; std::getline(std::cin, line);) {
        const Json command = api::parse_json(line).value();
        if (command["collect"].bool_or(false)) {
            // Each sweep may enable the next.
            for (int sweeps = 0; sweeps < 20 && garbage_collector.sweep(); ++sweeps)
                time.run_for(std::chrono::seconds(1));
            std::cout << "{}" << std::endl;
            continue;
        }
        time.run_for(std::chrono::seconds(1));
        const Json& body = command["body"];
        const kube::Request request = {.method = std::string(command["method"].as_string()),
                                       .target = std::string(command["target"].as_string()),
                                       .content_type = std::string(command["type"].as_string()),
                                       .body = body.is_null() ? "" : to_json(body)};
        const bool watches = request.target.find("watch=true") != std::string::npos;
        const model::Reply reply = watches ? watch(model, request.target) : model.handle(request);
        std::cout << to_json(Json::object({{"status", reply.status}, {"text", reply.body}})) << std::endl;
    }
}
