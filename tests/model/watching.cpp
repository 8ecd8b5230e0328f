#include "watching.hpp"

#include "api/names.hpp"
#include "kube/client/api_server.hpp"

namespace model {

WatchStart start_watch(const ApiModel& api, const std::string& target) {
    const std::string resource = kube::resource_of(target);
    const auto& history = api.history(resource);
    WatchStart start;
    if (target.find("sendInitialEvents") != std::string::npos) {
        for (const auto& [key, stored] : api.all(resource))
            start.lines.push_back(
                {R"({"type":"ADDED","object":)" + *stored.text + "}", {key, stored.uid(), stored.version()}});
        start.lines.push_back({R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" +
                               std::to_string(api.version()) +
                               R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})"});
        start.next_change = history.size();
        return start;
    }
    constexpr std::string_view name = "resourceVersion=";
    const std::uint64_t after = std::stoull(target.substr(target.find(name) + name.size()));
    while (start.next_change < history.size() && history[start.next_change].version <= after)
        ++start.next_change;
    if (after < api.compacted(resource)) {
        start.lines.push_back({expired_line()});
        start.ended = true;
    }
    return start;
}

Seen seen_in(const Change& change) {
    return {change.key, change.type == Change::Type::deleted ? "" : change.uid,
            std::to_string(change.version)};
}

std::vector<Seen> seen_now(const ApiModel& api, const ApiModel::Name& name) {
    if (!name.key.name.empty()) {
        const Stored* there = api.find(name.resource, name.key);
        return {
            {name.key, there ? there->uid() : "", there ? there->version() : std::to_string(api.version())}};
    }
    std::vector<Seen> all;
    for (const auto& [key, stored] : api.all(name.resource))
        if (key.ns == name.key.ns) all.push_back({key, stored.uid(), stored.version()});
    return all;
}

api::ObjectKey train_job_of(const ApiModel& api, const ApiModel::Name& name) {
    const Stored* job = name.resource == "jobs.batch" ? api.find(name.resource, name.key) : nullptr;
    if (!job) return name.key;
    const api::Json& labels = job->object["metadata"]["labels"];
    return {name.key.ns, std::string(labels[api::job_set_name_label].as_string())};
}

std::string event_line(const Change& change) {
    constexpr const char* types[] = {"ADDED", "MODIFIED", "DELETED"};
    return std::string(R"({"type":")") + types[static_cast<int>(change.type)] + R"(","object":)" +
           *change.text + "}";
}

std::string expired_line() {
    return R"({"type":"ERROR","object":{"kind":"Status","status":"Failure","message":"too old resource version",)"
           R"("reason":"Expired","code":410}})";
}

}  // namespace model
