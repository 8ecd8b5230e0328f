#include "complete/complete.hpp"

#include "api/meta.hpp"
#include "cluster/lists.hpp"
#include "cluster/session.hpp"
#include "text/terminal.hpp"

namespace cli {
namespace {

using namespace std::chrono_literals;

constexpr kube::Resource namespaces = {"", "v1", "namespaces", false};

// The shell waits for the answer.
constexpr RequestTimeout timeout{3s};

// Parses the options of the command line that select the cluster, and skips other options.
ClusterSettings cluster_of(std::span<const std::string> words) {
    ClusterSettings unnamed;
    unnamed.request_timeout = timeout;
    ClusterSettings settings = unnamed;
    net::Options options("", "", "");
    add_options(options, settings);
    const auto described = options.described();
    std::vector<const char*> known;
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
        for (const net::Options::Described& option : described) {
            const bool is_short = option.letter != 0 && words[i] == std::string{'-', option.letter};
            if (words[i].starts_with("--" + option.name + "=")) known.push_back(words[i].c_str());
            if (words[i] != "--" + option.name && !is_short) continue;
            known.push_back(words[i].c_str());
            known.push_back(words[i + 1].c_str());
        }
    if (!options.parse(known)) return unnamed;
    return settings;
}

// Only the first page, for speed.
kube::Async<> add_names(kube::ApiServer& server, kube::Resource resource, std::string ns, Choices& choices) {
    ListQuery query = {.resource = resource, .ns = resource.namespaced ? std::move(ns) : ""};
    auto page = co_await read_page(server, std::move(query), "");
    if (!page) co_return page.error();
    for (const api::Json& item : page->items) choices.words.emplace_back(api::parse_meta(item).name, "");
    co_return api::Result<>();
}

kube::Async<Output> ask(Session& session, Choices& choices) {
    using Ask = Choices::Ask;
    const kube::Resource resource = choices.ask == Ask::train_jobs ? kube::resources::train_jobs
                                    : choices.ask == Ask::namespaces
                                        ? namespaces
                                        : kube::resources::cluster_training_runtimes;
    auto named = co_await add_names(session.server, resource, session.ns, choices);
    if (choices.ask == Ask::runtimes)
        named = co_await add_names(session.server, kube::resources::training_runtimes, session.ns, choices);
    co_return Output{};
}

// The last word may be the beginning of a command's name.
std::vector<std::string> completed_line(std::vector<std::string> words, std::span<const Command> commands) {
    if (words.size() < 2) return words;
    std::string last = std::move(words.back());
    words.pop_back();
    words = command_first(std::move(words), commands);
    words.push_back(std::move(last));
    return words;
}

// The list of the kubeconfig with these names; empty: they are not in it.
std::string list_with(Choices::Ask ask) {
    using enum Choices::Ask;
    return ask == contexts ? "contexts" : ask == clusters ? "clusters" : ask == users ? "users" : "";
}

}  // namespace

int complete(std::vector<std::string> line, std::span<const Command> commands) {
    const std::vector<std::string> words = completed_line(std::move(line), commands);
    Choices choices = choices_for(words, commands);
    using Ask = Choices::Ask;
    if (const std::string list = list_with(choices.ask); !list.empty())
        for (std::string& name : kubeconfig_names(cluster_of(words), list))
            choices.words.emplace_back(std::move(name), "");
    if (choices.ask == Ask::train_jobs || choices.ask == Ask::namespaces || choices.ask == Ask::runtimes)
        (void)with_cluster(cluster_of(words), "complete",
                           [&](Session& session) { return ask(session, choices); });
    return print(completion_lines(choices, words.empty() ? "" : words.back())) ? 0 : 1;
}

}  // namespace cli
