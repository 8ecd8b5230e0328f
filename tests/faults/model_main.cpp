// The modelled API server as a program: one request a line as JSON, one answer a line. For the comparison with a real one.
#include <iostream>

#include "surroundings.hpp"

int main() {
    using api::Json;
    faults::Agenda agenda;
    faults::ApiModel model([&] { return agenda.wall_seconds(); });
    faults::GarbageCollector garbage_collector(model, agenda, [] { return std::chrono::milliseconds(0); });
    for (std::string line; std::getline(std::cin, line);) {
        const Json command = api::parse_json(line).value();
        if (command["collect"].bool_or(false)) {
            // Each sweep may make room for the next.
            for (int sweeps = 0; sweeps < 20 && garbage_collector.sweep(); ++sweeps) agenda.run_for(std::chrono::seconds(1));
            std::cout << "{}" << std::endl;
            continue;
        }
        agenda.run_for(std::chrono::seconds(1));
        const Json& body = command["body"];
        const kube::Request request = {.method = std::string(command["method"].as_string()),
                                       .target = std::string(command["target"].as_string()),
                                       .content_type = std::string(command["type"].as_string()),
                                       .body = body.is_null() ? "" : to_json(body)};
        const faults::Reply reply = model.handle(request);
        std::cout << to_json(Json::object({{"status", reply.status}, {"body", api::parse_json(reply.body).value()}}))
                  << std::endl;
    }
}
